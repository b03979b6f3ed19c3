"""Run directories and sweeps, whoever wrote them: as data frames, plots and pages."""

from __future__ import annotations

import html
import json
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steffle import _steffle

if TYPE_CHECKING:
    import pandas as pd

    from steffle._classifier import FairClassifier

#: What is shown of a model, and its name in words.
_METRICS = {
    "error": "error",
    "demographic_parity": "demographic-parity gap",
    "equalized_odds": "equalized-odds gap",
    "equal_opportunity": "equal-opportunity gap",
    "chi_square": "chi-square",
    "auc": "AUC",
}


def load(directory: str | PathLike[str]) -> Run | Sweep:
    """A run directory of ``steffle train`` or ``FairClassifier.save``, or the results of a sweep."""
    place = Path(directory)
    if (place / "results.jsonl").is_file():
        return Sweep(place)
    return Run(place)


class Run:
    """A model on disk, and what is known about it."""

    def __init__(self, directory: str | PathLike[str]) -> None:
        self.directory = Path(directory)
        self.model = _steffle.Model.load(self.directory)
        self.metrics: dict[str, Any] = json.loads((self.directory / "metrics.json").read_text())

    @property
    def privacy(self) -> dict[str, Any]:
        """Epsilon, delta, kind, whether it holds, and a statement in words."""
        privacy: dict[str, Any] = self.metrics["privacy"]
        return privacy

    @cached_property
    def classifier(self) -> FairClassifier:
        """The model as an estimator that is ready to predict."""
        from steffle._classifier import FairClassifier

        return FairClassifier._of(self.model, self.metrics)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """Metrics on the test rows with 95 % intervals, beside those of the unconstrained model."""
        import pandas as pd

        test, other = self.metrics.get("test", {}), self.metrics.get("baseline", {})
        intervals = test.get("intervals") or {}
        rows = {}
        for key, name in _METRICS.items():
            if key in test:
                low, high = intervals.get(key) or (None, None)
                rows[name] = (test[key], low, high, other.get(key))
        names = ["this model", "from", "to", "unconstrained"]
        return pd.DataFrame.from_dict(rows, orient="index", columns=names, dtype=float)

    @cached_property
    def groups(self) -> pd.DataFrame:
        """Rates by group on the test rows, where these were measured."""
        import pandas as pd

        groups = self.metrics.get("test", {}).get("groups", [])
        return pd.json_normalize(groups).set_index("name") if groups else pd.DataFrame()

    @cached_property
    def trace(self) -> pd.DataFrame:
        """Every round, as the server saw it."""
        import pandas as pd

        path = self.directory / "trace.jsonl"
        lines = path.read_text().splitlines() if path.is_file() else []
        return pd.DataFrame([json.loads(line) for line in lines])

    def plot(self, ax: Any = None) -> Any:
        """Error and gap of this model and of the unconstrained one; needs matplotlib."""
        gap = _METRICS[_gap_of(str(self.metrics.get("notion")))]
        if gap not in self.frame.index or self.frame["this model"].isna()[gap]:
            raise ValueError("no gap was measured on test rows, so there is nothing to plot")
        ax = _axes(ax)
        ours = self.frame.loc[["error", gap]]
        for name, mark in [("unconstrained", "s"), ("this model", "o")]:
            x, y = 100 * ours[name]
            if name == "this model":
                low, high = 100 * (ours[name] - ours["from"]), 100 * (ours["to"] - ours[name])
                spread = {"xerr": [[low.iloc[0]], [high.iloc[0]]], "yerr": [[low.iloc[1]], [high.iloc[1]]]}
            else:
                spread = {}
            ax.errorbar(x, y, marker=mark, linestyle="none", capsize=3, label=name, **spread)
        ax.set_xlabel("test error (%)")
        ax.set_ylabel(f"{gap} (points)")
        ax.set_ylim(bottom=0)
        ax.legend()
        return ax

    def __repr__(self) -> str:
        return f"Run({str(self.directory)!r}): {_method(self.metrics)}"

    def _repr_html_(self) -> str:
        title = html.escape(f"{self.directory.name}: {_method(self.metrics)}")
        table = "" if self.frame.empty else self.frame.to_html(float_format="%.4f", na_rep="-")
        return f"<h4>{title}</h4>{table}{_statement(self.privacy)}"


class Sweep:
    """The results of a sweep: a line per run, and the trade-off of every configuration."""

    def __init__(self, directory: str | PathLike[str]) -> None:
        self.directory = Path(directory)
        lines = (self.directory / "results.jsonl").read_text().splitlines()
        # A run that failed and was tried again has two lines: the later one counts.
        found = {json.dumps(line["config"], sort_keys=True): line for line in map(json.loads, lines)}
        # Lines come as runs end, which is different every time.
        self.lines: list[dict[str, Any]] = sorted(found.values(), key=_place)
        path = self.directory / "trade-off.json"
        curves = json.loads(path.read_text())["curves"] if path.is_file() else []
        #: Means over seeds by configuration and lambda, in percentage points.
        self.curves: list[dict[str, Any]] = curves

    @cached_property
    def frame(self) -> pd.DataFrame:
        """A row per run: its settings, what was measured on the test rows, what privacy was given."""
        import pandas as pd

        return pd.DataFrame([_row(line) for line in self.lines])

    def plot(self, ax: Any = None) -> Any:
        """The violation against the error above the unconstrained model's; needs matplotlib."""
        ax = _axes(ax)
        for curve in self.curves:
            points = [point for point in curve["points"] if point["violation"] is not None]
            x = [point["excess"] for point in points]
            y = [point["violation"] for point in points]
            ax.plot(x, y, marker="o", label=_name(curve["settings"]))
        gaps = sorted({curve["violation"] for curve in self.curves})
        ax.set_xlabel("test error above the unconstrained model's (points)")
        ax.set_ylabel(f"{', '.join(gaps)} gap (points)")
        ax.set_ylim(bottom=0)
        if self.curves:
            ax.legend()
        return ax

    def __repr__(self) -> str:
        return f"Sweep({str(self.directory)!r}): {len(self.lines)} runs"

    def _repr_html_(self) -> str:
        title = html.escape(f"{self.directory.name}: {len(self.lines)} runs")
        table = self.frame.dropna(axis="columns", how="all").to_html(
            float_format="%.4f", na_rep="-", max_rows=30, index=False
        )
        statements: dict[str, dict[str, Any]] = {}
        for line in self.lines:
            if "privacy" in line:
                statements.setdefault(line["privacy"]["statement"], line["privacy"])
        said = "".join(_statement(privacy) for privacy in list(statements.values())[:8])
        return f"<h4>{title}</h4>{table}{said}"


def _row(line: dict[str, Any]) -> dict[str, Any]:
    config, privacy = line["config"], line.get("privacy", {})
    row = {key: config.get(key) for key in ("data", "method", "epsilon", "lambda", "seed")}
    row |= {key: value for key, value in line["settings"].items() if key not in row}
    for model, prefix in [("test", ""), ("baseline", "unconstrained_")]:
        row |= {prefix + key: line.get(model, {}).get(key) for key in _METRICS}
    row |= {"privacy": privacy.get("kind"), "holds": privacy.get("holds")}
    row |= {"seconds": line.get("wall_seconds"), "failed": line.get("error", {}).get("code")}
    return row


def _place(line: dict[str, Any]) -> tuple[str, float, float, int, str]:
    config = line["config"]
    epsilon, lam = (float(config.get(key) or 0.0) for key in ("epsilon", "lambda"))
    return str(config["method"]), epsilon, lam, int(config["seed"]), json.dumps(line["settings"])


def _gap_of(notion: str) -> str:
    known = notion.replace("-", "_")
    return known if known in ("equalized_odds", "equal_opportunity") else "demographic_parity"


def _method(facts: dict[str, Any]) -> str:
    parts = [str(facts["method"]), f"lambda {facts['lambda']}"]
    if facts["privacy"].get("epsilon") is not None:
        parts.append(f"epsilon {facts['privacy']['epsilon']}")
    return ", ".join(parts)


def _name(settings: dict[str, Any]) -> str:
    others = [f"{key} {value}" for key, value in settings.items() if key != "method"]
    return ", ".join([str(settings["method"])] * ("method" in settings) + others) or "all runs"


def _statement(privacy: dict[str, Any]) -> str:
    kind, statement = html.escape(privacy["kind"]), html.escape(privacy["statement"])
    return f"<p><b>Privacy ({kind})</b>: {statement}</p>"


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("plot() needs matplotlib: pip install 'steffle[plot]'") from error
    return pyplot.subplots(figsize=(6.4, 4.2), layout="constrained")[1]
