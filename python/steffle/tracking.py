"""Runs in the trackers that people have: MLflow and TensorBoard, through their own packages.

Each function takes a run directory, a ``Run`` that was loaded, or a fitted ``FairClassifier``.
"""

from __future__ import annotations

import math
import tempfile
from os import PathLike
from pathlib import Path
from typing import Any

from steffle._runs import Run

__all__ = ["log_mlflow", "log_tensorboard"]

#: What is a setting in ``metrics.json``.
_SETTINGS = [
    *("data", "method", "mode", "model", "notion", "centralisation", "silos"),
    *("lambda", "surrogate_sharpness", "rounds", "seed"),
]


def log_mlflow(run: Any) -> None:
    """Parameters, metrics, rounds and files to the active MLflow run, or to a new one."""
    import mlflow

    with tempfile.TemporaryDirectory() as place:
        found = _run(run, Path(place))
        mlflow.log_params(_parameters(found))
        mlflow.set_tags({f"privacy.{key}": str(found.privacy[key]) for key in ("kind", "statement")})
        mlflow.log_metrics(_metrics(found))
        for step, line in _rounds(found):
            mlflow.log_metrics(line, step=step)
        mlflow.log_artifacts(str(found.directory), artifact_path="run")


def log_tensorboard(run: Any, directory: str | PathLike[str]) -> None:
    """Metrics and rounds to a directory that TensorBoard reads."""
    from tensorboard.summary import Writer

    with tempfile.TemporaryDirectory() as place:
        found = _run(run, Path(place))
        writer = Writer(str(directory))
        for name, value in _metrics(found).items():
            writer.add_scalar(name, value, step=0)
        for step, line in _rounds(found):
            for name, value in line.items():
                writer.add_scalar(name, value, step=step)
        writer.close()


def _run(run: Any, place: Path) -> Run:
    if isinstance(run, Run):
        return run
    if hasattr(run, "save"):
        run.save(place / "run")
        return Run(place / "run")
    return Run(run)


def _parameters(run: Run) -> dict[str, Any]:
    said = {key: run.metrics[key] for key in _SETTINGS if run.metrics.get(key) is not None}
    privacy = {key: run.privacy.get(key) for key in ("epsilon", "delta", "holds")}
    return said | {key: value for key, value in privacy.items() if value is not None}


def _metrics(run: Run) -> dict[str, float]:
    found = {}
    for model in ("test", "validation", "baseline"):
        for name, value in run.metrics.get(model, {}).items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                found[f"{model}/{name}"] = float(value)
    return found


def _rounds(run: Run) -> list[tuple[int, dict[str, float]]]:
    lines = []
    for place, line in enumerate(run.trace.to_dict("records")):
        step = int(line.get("round", place))
        numbers = {
            f"round/{name}": float(value)
            for name, value in line.items()
            if name != "round" and isinstance(value, (int, float)) and math.isfinite(value)
        }
        lines.append((step, numbers))
    return lines
