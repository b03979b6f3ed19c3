"""A scikit-learn classifier that is fair to groups and private about who is in them."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from steffle import _columns, _steffle

#: Keyword arguments whose settings have another name in the library.
_NAMES = {"lam": "lambda", "surrogate_sharpness": "surrogate-sharpness", "row_cap": "row-cap"}

#: Keyword arguments that are settings of a method, with their defaults.
_SETTINGS: dict[str, Any] = {
    "epsilon": 1.0,
    "delta": None,
    "lam": 1.0,
    "notion": "demographic-parity",
    "model": None,
    "mode": None,
    "noise": None,
    "rounds": None,
    "row_cap": None,
    "surrogate_sharpness": None,
}


class UnfairWarning(UserWarning):
    """A model was trained without groups, or is probably not fairer than without."""


class FairClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose decisions depend little on a sensitive attribute.

    The attribute is read by the noisy sums of the method alone, never to predict. With ``noise=None``
    noise comes from ``random_state``: a simulation, which protects nobody from whoever knows it;
    ``noise="secure"`` is real.

    Parameters
    ----------
    epsilon : privacy of one person's sensitive attribute; methods without noise ignore it.
    method : one of ``steffle._steffle.methods()``.
    notion : ``demographic_parity``, ``equalized_odds``, ``equal_opportunity``, ``accuracy_parity`` or
        ``none``.
    lam : weight of fairness against accuracy, 0 or more.
    model : ``logistic``, ``softmax`` or ``mlp:WIDTH,...``; by default by the number of labels.
    silos : organisations that the rows are cut into, unless ``fit`` is told who has which.
    sensitive_classes : all values that the attribute can have. By default those that occur, which is
        then public.
    favourable : the label that people want to get; by default the last one in order.
    missing : what to do with missing cells: ``impute``, ``category`` or ``drop``.
    random_state : a number gives the same model again.
    verbose : 1 tells on standard error how far training is.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        method: str = "steffle",
        notion: str = "demographic_parity",
        lam: float = 1.0,
        model: str | None = None,
        silos: int = 1,
        *,
        delta: float | None = None,
        mode: str | None = None,
        noise: str | None = None,
        rounds: int | None = None,
        row_cap: float | None = None,
        surrogate_sharpness: float | None = None,
        sensitive_classes: list[str] | None = None,
        favourable: Any = None,
        missing: str = "impute",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.epsilon = epsilon
        self.method = method
        self.notion = notion
        self.lam = lam
        self.model = model
        self.silos = silos
        self.delta = delta
        self.mode = mode
        self.noise = noise
        self.rounds = rounds
        self.row_cap = row_cap
        self.surrogate_sharpness = surrogate_sharpness
        self.sensitive_classes = sensitive_classes
        self.favourable = favourable
        self.missing = missing
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        silo: ArrayLike | None = None,
        unit: ArrayLike | None = None,
    ) -> FairClassifier:
        """Trains on all rows.

        ``sensitive_features`` has the sensitive attribute of every row, or several as a table, which
        form their product; without it the model is the unconstrained one, and a warning says so.
        ``silo`` says which organisation has which row, ``unit`` which person a row is about.
        """
        if self.missing not in ("impute", "category", "drop"):
            raise ValueError(f"missing={self.missing!r}; allowed are impute, category and drop")
        columns = self._columns(X, reset=True)
        labels = self._labels(y)
        check_consistent_length(X, y)
        taken = {name for name, _ in columns}
        label = _free("label", taken)
        meaning: dict[str, Any] = {
            "label": label,
            "labels": self._label_names,
            "favourable": self._favourable(),
            "unit": None,
            "stratum": None,
            "missing": self.missing,
        }
        columns.append((label, (labels, self._label_names)))
        groups, meaning["classes"] = self._groups(sensitive_features, len(labels), taken | {label})
        meaning["sensitive"] = [name for name, _ in groups]
        columns += groups
        if unit is not None:
            check_consistent_length(X, unit)
            meaning["unit"] = _free("unit", {name for name, _ in columns})
            columns.append((meaning["unit"], _columns.text(unit)))
        silo_of = None
        if silo is not None:
            check_consistent_length(X, silo)
            silo_of = np.unique(np.asarray(silo), return_inverse=True)[1].astype(np.uint32)
        method = self.method if sensitive_features is not None else "erm"
        seed = self._seed()
        self.model_ = _steffle.fit(
            columns,
            meaning,
            method,
            self._settings(method),
            self.silos,
            silo_of,
            seed,
            _teller() if self.verbose else None,
        )
        self._read_facts()
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of every class, in the order of ``classes_``."""
        check_is_fitted(self, "model_")
        chances: NDArray[np.float64] = self.model_.predict(self._columns(X, reset=False))
        return chances

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of every row."""
        places = np.argmax(self.predict_proba(X), axis=1)
        decided: NDArray[Any] = self.classes_[places]
        return decided

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of the odds; for two classes of the second one."""
        chances = np.clip(self.predict_proba(X), 1e-300, 1.0)
        if len(self.classes_) == 2:
            odds: NDArray[np.float64] = np.log(chances[:, 1]) - np.log(chances[:, 0])
            return odds
        logarithms: NDArray[np.float64] = np.log(chances)
        return logarithms

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Coefficients of the encoded features, ``[class or 1][feature]``, of a model of one layer."""
        coefficients: NDArray[np.float64] = self._theta()[:-1].T.copy()
        return coefficients

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """Intercepts of a model of one layer."""
        intercepts: NDArray[np.float64] = self._theta()[-1].copy()
        return intercepts

    def save(self, directory: str | PathLike[str]) -> None:
        """Writes the model into a directory that must not exist; the command line reads it."""
        check_is_fitted(self, "model_")
        self.model_.save(directory)

    def _theta(self) -> NDArray[np.float64]:
        check_is_fitted(self, "model_")
        if not self.model_.linear:
            raise AttributeError("a network has no coefficients of features")
        theta: NDArray[np.float64] = self.model_.theta.reshape(len(self.model_.features) + 1, -1)
        return theta

    def _columns(self, X: Any, *, reset: bool) -> list[tuple[str, Any]]:
        if _columns.names_of(X) is not None and not isinstance(X, np.ndarray):
            _check_feature_names(self, X, reset=reset)
            _check_n_features(self, X, reset=reset)
            columns = _columns.frame(X)
            if columns and not len(X):
                raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
            return columns
        matrix = validate_data(
            self, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan"
        )
        return _columns.array(matrix)

    def _labels(self, y: Any) -> NDArray[np.uint32]:
        if y is None:
            raise ValueError(
                "requires y to be passed, but the target y is None: every row needs a label"
            )
        check_classification_targets(y)
        y = column_or_1d(y, warn=True)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("the rows have only one class; a classifier needs at least two")
        self._label_names = [_columns._word(name) for name in self.classes_.tolist()]
        return codes.astype(np.uint32)

    def _favourable(self) -> str:
        if self.favourable is None:
            return self._label_names[-1]
        found = np.flatnonzero(self.classes_ == self.favourable)
        if len(found) != 1:
            known = ", ".join(self._label_names)
            raise ValueError(f"favourable={self.favourable!r} is no class; classes are {known}")
        return self._label_names[int(found[0])]

    def _groups(
        self, given: Any, rows: int, taken: set[str]
    ) -> tuple[list[tuple[str, Any]], list[str]]:
        """The sensitive columns, and all values that they can have."""
        if given is None:
            warnings.warn(
                "no sensitive_features: the model is trained without fairness",
                UnfairWarning,
                stacklevel=3,
            )
            nobody = np.full(rows, _columns.MISSING, dtype=np.uint32)
            return [(_free("group", taken), (nobody, ["a", "b"]))], ["a", "b"]
        check_consistent_length(given, np.empty(rows))
        if getattr(given, "ndim", 1) == 1 or not hasattr(given, "shape"):
            tables = [(str(getattr(given, "name", None) or "group"), given)]
        elif _columns.names_of(given) is not None:
            tables = [(str(name), given[name]) for name in given.columns]
        else:
            tables = [(f"group{place}", given[:, place]) for place in range(given.shape[1])]
        columns = [(_free(name, taken), _columns.text(values)) for name, values in tables]
        if self.sensitive_classes is not None:
            return columns, [str(name) for name in self.sensitive_classes]
        classes = [""]
        for _, (_, levels) in columns:
            classes = [f"{old} x {new}" if old else new for old in classes for new in levels]
        return columns, classes

    def _settings(self, method: str) -> dict[str, Any]:
        known = set(_steffle.settings_of(method))
        settings = {}
        for name, default in _SETTINGS.items():
            value, key = getattr(self, name), _NAMES.get(name, name)
            if isinstance(value, np.generic):
                value = value.item()
            if name == "notion":
                value = str(value).replace("_", "-")
            if value is not None and (key in known or value != default):
                settings[key] = value
        if method == "erm":
            # Without groups nothing but the model is asked for.
            settings = {key: value for key, value in settings.items() if key == "model"}
        return settings

    def _seed(self) -> int:
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _read_facts(self) -> None:
        facts = json.loads(self.model_.facts)
        self.privacy_: dict[str, Any] = facts["privacy"]
        self.leaves_in_clear_: list[dict[str, Any]] = facts["leaves_in_clear"]
        self.warnings_: list[str] = facts["warnings"]

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        if "model_" in state:
            state["model_"] = self.model_.files()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "model_" in state:
            self.model_ = _steffle.Model.of_files(state["model_"])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _teller() -> Callable[[str, int, int | None], None]:
    def tell(stage: str, done: int, steps: int | None) -> None:
        of = f" of {steps}" if steps else ""
        print(f"\r{stage}: step {done}{of}", end="", file=sys.stderr, flush=True)

    return tell
