"""The data sets that the package contains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from steffle import _steffle


@dataclass(frozen=True)
class LoadedDataset:
    """A data set: features, labels and the sensitive attribute, row by row."""

    X: Any
    y: Any
    sensitive_features: Any


def load_dataset(name: str) -> LoadedDataset:
    """A data set that has a name (``adult``, ``credit-card``) as pandas objects.

    >>> load_dataset("adult").X.shape
    (45222, 13)
    """
    import pandas as pd

    columns, label, sensitive = _steffle.dataset(name)
    table = pd.DataFrame(dict(columns))
    return LoadedDataset(
        X=table.drop(columns=[label, *sensitive]),
        y=table[label],
        sensitive_features=table[sensitive[0]] if len(sensitive) == 1 else table[sensitive],
    )
