"""A scikit-learn classifier that is fair to groups and private about who is in them."""

from __future__ import annotations

import itertools
import json
import warnings
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
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
from steffle._progress import Progress

#: Keyword arguments that are settings of a method, with their defaults.
_SETTINGS: dict[str, Any] = {
    "epsilon": 1.0,
    "delta": None,
    "lam": 1.0,
    "notion": "demographic_parity",
    "model": None,
    "mode": None,
    "noise": None,
    "rounds": None,
    "epochs": None,
    "batch": None,
    "row_cap": None,
    "noise_shape": None,
    "accounting": None,
    "surrogate_sharpness": None,
    "l2": None,
    "target_gap": None,
    "max_excess": None,
    "pool": None,
    "secure_aggregation": None,
    "noise_shares": None,
    "colluders": None,
    "server": None,
    "lr_theta": None,
    "lr_dual": None,
    "output": None,
    "local_epochs": None,
    "clip": None,
    "diameter": None,
    "sign": None,
}

#: Notions as the library calls them.
_NOTIONS = {"demographic_parity", "equalized_odds", "equal_opportunity", "accuracy_parity"}


class UnfairWarning(UserWarning):
    """A model was trained without groups, or is probably not fairer than without."""


class FairClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose decisions depend little on a sensitive attribute.

    The attribute is read by the noisy sums of the method alone, never to predict. With ``noise=None``
    noise comes from ``random_state``: a simulation, which protects nobody from whoever knows it;
    ``noise="secure"`` is real.

    Parameters
    ----------
    epsilon, delta : privacy of one person's sensitive attribute; methods without noise ignore them.
    method : ``steffle``, ``one-shot``, ``randomised-response``, ``fermi``, ...; all of them:
        ``steffle._steffle.methods()``.
    notion : ``demographic_parity``, ``equalized_odds``, ``equal_opportunity``,
        ``accuracy_parity``, ``conditional:COLUMN`` or ``none``.
    lam : weight of fairness against accuracy, 0 or more.
    model : ``logistic``, ``softmax`` or ``mlp:WIDTH,...``; by default by the number of labels.
    silos : organisations that the rows are cut into, unless ``fit`` is told who has which.
    noise : ``simulated`` (from ``random_state``) or ``secure``.
    mode, rounds, epochs, batch, row_cap, noise_shape, accounting, surrogate_sharpness, l2,
    target_gap, max_excess, pool, secure_aggregation, noise_shares, colluders, server, lr_theta, lr_dual, output,
    local_epochs, clip, diameter, sign :
        as the flags of ``steffle train``; None is the method's own default.
    sensitive_classes : all values that the attribute can have. By default those that occur, which is
        then public.
    favourable : the label that people want to get; by default the last one in order.
    missing : what to do with missing cells: ``impute``, ``category`` or ``drop``.
    smallest_stratum : with ``conditional:COLUMN``, values that fewer rows than this have share a cell;
        0 makes every value one. By default 100, or one row in 100 where that is fewer.
    random_state : a number gives the same model again.
    verbose : 1 tells how far training is, in a notebook and on a terminal.

    Examples
    --------
    >>> import steffle
    >>> adult = steffle.load_dataset("adult")
    >>> model = FairClassifier(method="one-shot", epsilon=0.5, lam=4.0, random_state=0)
    >>> model = model.fit(adult.X, adult.y, sensitive_features=adult.sensitive_features)
    >>> model.classes_.tolist(), model.score(adult.X, adult.y) > 0.8
    (['<=50K', '>50K'], True)
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
        epochs: int | None = None,
        batch: int | str | None = None,
        row_cap: float | None = None,
        noise_shape: str | None = None,
        accounting: str | None = None,
        surrogate_sharpness: float | None = None,
        l2: float | None = None,
        target_gap: float | None = None,
        max_excess: float | None = None,
        pool: bool | None = None,
        secure_aggregation: bool | None = None,
        noise_shares: str | None = None,
        colluders: int | None = None,
        server: str | None = None,
        lr_theta: float | None = None,
        lr_dual: float | None = None,
        output: str | None = None,
        local_epochs: int | None = None,
        clip: float | None = None,
        diameter: float | None = None,
        sign: str | None = None,
        sensitive_classes: list[str] | None = None,
        favourable: Any = None,
        missing: str = "impute",
        smallest_stratum: int | None = None,
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
        self.epochs = epochs
        self.batch = batch
        self.row_cap = row_cap
        self.noise_shape = noise_shape
        self.accounting = accounting
        self.surrogate_sharpness = surrogate_sharpness
        self.l2 = l2
        self.target_gap = target_gap
        self.max_excess = max_excess
        self.pool = pool
        self.secure_aggregation = secure_aggregation
        self.noise_shares = noise_shares
        self.colluders = colluders
        self.server = server
        self.lr_theta = lr_theta
        self.lr_dual = lr_dual
        self.output = output
        self.local_epochs = local_epochs
        self.clip = clip
        self.diameter = diameter
        self.sign = sign
        self.sensitive_classes = sensitive_classes
        self.favourable = favourable
        self.missing = missing
        self.smallest_stratum = smallest_stratum
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
        sample_id: ArrayLike | None = None,
    ) -> FairClassifier:
        """Trains on all rows.

        ``sensitive_features`` has the sensitive attribute of every row, or several as a table, which
        form their product; without it the model is the unconstrained one, and a warning says so.
        ``silo`` says which organisation has which row, ``unit`` which person a row is about, and
        ``sample_id`` what a row is called everywhere, each row otherwise.
        """
        if self.missing not in ("impute", "category", "drop"):
            raise ValueError(f"missing={self.missing!r}; allowed are impute, category and drop")
        features = self._columns(X, reset=True)
        labels = self._labels(y)
        check_consistent_length(X, y)
        taken = set(_columns.names_of(X) or [f"x{at}" for at in range(self.n_features_in_)])
        label = _free("label", taken)
        meaning: dict[str, Any] = {
            "label": label,
            "labels": self._label_names,
            "favourable": self._favourable(),
            "unit": None,
            "record_id": None,
            "stratum": None,
            "missing": self.missing,
            "smallest_stratum": _rows("smallest_stratum", self.smallest_stratum),
        }
        if str(self.notion).startswith("conditional:"):
            meaning["stratum"] = self.notion.partition(":")[2]
        groups, meaning["classes"] = self._groups(sensitive_features, len(labels), taken)
        meaning["sensitive"] = [name for name, _ in groups]
        columns = [(label, (labels, self._label_names)), *groups]
        for role, given in [("unit", unit), ("record_id", sample_id)]:
            if given is not None:
                check_consistent_length(X, given)
                meaning[role] = _free(role, taken)
                columns.append((meaning[role], _columns.text(given)))
        silo_of = None
        if silo is not None:
            check_consistent_length(X, silo)
            silo_of = np.unique(np.asarray(silo), return_inverse=True)[1].astype(np.uint32)
        method = self.method if sensitive_features is not None else "erm"
        progress = Progress(bool(self.verbose))
        self.model_ = _steffle.fit(
            itertools.chain(features, columns),
            meaning,
            method,
            self._settings(method),
            self.silos,
            silo_of,
            self._seed(),
            progress if self.verbose else None,
        )
        progress.end()
        self._read_facts(json.loads(self.model_.facts))
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

    def to_onnx(self, path: str | PathLike[str] | None = None) -> bytes:
        """The whole way from raw columns to label and probabilities as an ONNX file.

        Inputs are the columns, outputs ``label`` (text) and ``probabilities``; ``onnx_inputs`` makes
        the first of a table. With a path the file is written too.
        """
        check_is_fitted(self, "model_")
        file: bytes = self.model_.onnx()
        if path is not None:
            Path(path).write_bytes(file)
        return file

    def onnx_inputs(self, X: Any) -> dict[str, NDArray[Any]]:
        """A table as the inputs of the ONNX file: ``session.run(None, model.onnx_inputs(X))``."""
        check_is_fitted(self, "model_")
        numbers, names = self.model_.columns
        columns = dict(self._columns(X, reset=False))
        found: dict[str, NDArray[Any]] = {}
        for name in numbers:
            found[name] = columns[name].astype(np.float64).reshape(-1, 1)
        for name in names:
            codes, levels = columns[name] if isinstance(columns[name], tuple) else _columns.text(
                columns[name]
            )
            known = np.array([*levels, ""], dtype=object)
            found[name] = known[np.minimum(codes, len(levels))].reshape(-1, 1)
        return found

    @classmethod
    def _of(cls, model: _steffle.Model, facts: dict[str, Any]) -> FairClassifier:
        """An estimator of a model that was loaded, ready to predict."""
        privacy = facts["privacy"]
        fitted = cls(
            epsilon=privacy.get("epsilon"),
            delta=privacy.get("delta"),
            method=facts["method"],
            lam=facts["lambda"],
            mode=facts["mode"],
            random_state=facts["seed"],
        )
        if "notion" in facts:
            fitted.notion = facts["notion"].replace("-", "_")
        fitted.model, fitted.model_ = facts.get("model"), model
        fitted._label_names = model.labels
        fitted.classes_ = np.array(model.labels)
        numbers, names = model.columns
        fitted.feature_names_in_ = np.array([*numbers, *names], dtype=object)
        fitted.n_features_in_ = len(fitted.feature_names_in_)
        fitted._loaded = True
        fitted._read_facts(facts)
        return fitted

    def _theta(self) -> NDArray[np.float64]:
        check_is_fitted(self, "model_")
        if not self.model_.linear:
            raise AttributeError("a network has no coefficients of features")
        theta: NDArray[np.float64] = self.model_.theta.reshape(len(self.model_.features) + 1, -1)
        return theta

    def _columns(self, X: Any, *, reset: bool) -> Iterator[tuple[str, Any]]:
        if _columns.names_of(X) is not None and not isinstance(X, np.ndarray):
            if getattr(self, "_loaded", False):
                # A run of the command line reads its columns by name, wherever they stand.
                X = _columns.chosen(X, list(self.feature_names_in_))
            _check_feature_names(self, X, reset=reset)
            _check_n_features(self, X, reset=reset)
            if not len(X):
                raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
            return _columns.frame(X)
        matrix = validate_data(self, X, reset=reset, ensure_all_finite="allow-nan")
        return _columns.array(matrix)

    def _labels(self, y: Any) -> NDArray[Any]:
        if y is None:
            raise ValueError(
                "requires y to be passed, but the target y is None: every row needs a label"
            )
        # A column of pandas knows its values faster than an array of them.
        codes, found = _columns.factorized(y if isinstance(y, pd.Series) else column_or_1d(y, warn=True))
        if (codes < 0).any():
            raise ValueError("Input y contains NaN: every row needs a label")
        unique = np.asarray(found)
        check_classification_targets(unique)
        self.classes_, places = np.unique(unique, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("the rows have only one class; a classifier needs at least two")
        self._label_names = [_columns.word(name) for name in self.classes_.tolist()]
        labels: NDArray[Any] = places.astype(np.min_scalar_type(len(places)))[codes]
        return labels

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
            nobody = np.full(rows, 2, dtype=np.uint8)
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
            value = getattr(self, name)
            key = "lambda" if name == "lam" else name.replace("_", "-")
            if isinstance(value, np.generic):
                value = value.item()
            searched = self.target_gap is not None or self.max_excess is not None
            if name == "lam" and searched and value == default:
                continue
            if value in _NOTIONS:
                value, default = value.replace("_", "-"), default.replace("_", "-")
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

    def _read_facts(self, facts: dict[str, Any]) -> None:
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


def _rows(name: str, given: Any) -> int | None:
    """A number of rows, as the library takes it."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)) or not 0 <= given < 2**32:
        raise ValueError(f"{name}={given!r}; allowed are whole numbers from 0 on, and None")
    return int(given)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name

