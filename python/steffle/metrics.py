"""Group metrics under Fairlearn's names, with intervals; and the paper's under its own.

>>> demographic_parity_difference([1, 0, 1, 1], [1, 0, 1, 1], sensitive_features=["a", "a", "b", "b"])
0.5
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from steffle import _steffle
from steffle._columns import text

__all__ = [
    "accuracy_parity_difference",
    "demographic_parity_difference",
    "demographic_parity_marginal",
    "equal_opportunity_difference",
    "equalized_odds_difference",
    "report",
]


def report(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: ArrayLike,
    favourable: Any = None,
    resamples: int = 0,
    random_state: int = 0,
) -> dict[str, Any]:
    """All metrics of decisions, overall and by group; with resamples, 95 % intervals too.

    ``favourable`` is the label that people want to get; by default the last one in order.
    """
    truth, decided = np.asarray(y_true).ravel(), np.asarray(y_pred).ravel()
    labels = np.unique(np.concatenate([truth, decided]))
    names = [str(label) for label in labels]
    wanted = len(labels) - 1
    if favourable is not None:
        found = np.flatnonzero(labels == favourable)
        if len(found) != 1:
            raise ValueError(f"favourable={favourable!r} is not among the labels {names}")
        wanted = int(found[0])
    groups, group_names = text(sensitive_features)
    if not len(truth) == len(decided) == len(groups):
        raise ValueError(
            f"{len(truth)} labels, {len(decided)} decisions and {len(groups)} groups; "
            "every row needs one of each"
        )
    told = _steffle.report(
        np.searchsorted(labels, truth).astype(np.uint16),
        np.searchsorted(labels, decided).astype(np.uint16),
        np.where(groups < len(group_names), groups, np.uint32(0xFFFF)).astype(np.uint16),
        names,
        group_names,
        wanted,
        resamples,
        random_state,
    )
    found_all: dict[str, Any] = json.loads(told)
    return found_all


def _one(name: str, y_true: ArrayLike, y_pred: ArrayLike, groups: ArrayLike) -> float:
    value = report(y_true, y_pred, sensitive_features=groups)[name]
    return float("nan") if value is None else float(value)


def demographic_parity_difference(
    y_true: ArrayLike, y_pred: ArrayLike, *, sensitive_features: ArrayLike
) -> float:
    """The largest difference of selection rates between two groups, as Fairlearn's."""
    return _one("demographic_parity", y_true, y_pred, sensitive_features)


def equalized_odds_difference(
    y_true: ArrayLike, y_pred: ArrayLike, *, sensitive_features: ArrayLike
) -> float:
    """The largest difference of true or false positive rates, as Fairlearn's."""
    return _one("equalized_odds", y_true, y_pred, sensitive_features)


def equal_opportunity_difference(
    y_true: ArrayLike, y_pred: ArrayLike, *, sensitive_features: ArrayLike
) -> float:
    """The largest difference of true positive rates, as Fairlearn's."""
    return _one("equal_opportunity", y_true, y_pred, sensitive_features)


def accuracy_parity_difference(
    y_true: ArrayLike, y_pred: ArrayLike, *, sensitive_features: ArrayLike
) -> float:
    """The largest difference of the share of right decisions between two groups."""
    return _one("accuracy_parity", y_true, y_pred, sensitive_features)


def demographic_parity_marginal(
    y_true: ArrayLike, y_pred: ArrayLike, *, sensitive_features: ArrayLike
) -> float:
    """The paper's violation: the largest distance of a group's rate from the overall rate."""
    return _one("demographic_parity_marginal", y_true, y_pred, sensitive_features)
