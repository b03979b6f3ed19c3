"""SteFFLe: fair classifiers across organisations that may not share their records.

>>> import steffle
>>> adult = steffle.load_dataset("adult")
>>> model = steffle.FairClassifier(epsilon=1.0, lam=2.0, random_state=0)
>>> model = model.fit(adult.X, adult.y, sensitive_features=adult.sensitive_features)
>>> round(model.privacy_["epsilon"], 1)
1.0
"""

import importlib
from typing import TYPE_CHECKING, Any

from steffle._steffle import SteffleError, __version__

if TYPE_CHECKING:
    from steffle import metrics, privacy, tracking
    from steffle._classifier import FairClassifier, UnfairWarning
    from steffle._datasets import LoadedDataset, load_dataset
    from steffle._runs import Run, Sweep, load
    from steffle._sweep import sweep

__all__ = [
    "FairClassifier",
    "LoadedDataset",
    "Run",
    "SteffleError",
    "Sweep",
    "UnfairWarning",
    "__version__",
    "load",
    "load_dataset",
    "metrics",
    "privacy",
    "sweep",
    "tracking",
]

#: Where everything else is: found when it is asked for, so that the command does not wait for
#: scikit-learn.
_PLACES = {
    "FairClassifier": "_classifier",
    "LoadedDataset": "_datasets",
    "Run": "_runs",
    "Sweep": "_runs",
    "UnfairWarning": "_classifier",
    "load": "_runs",
    "load_dataset": "_datasets",
    "metrics": "metrics",
    "privacy": "privacy",
    "sweep": "_sweep",
    "tracking": "tracking",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'steffle' has no attribute {name!r}")
    module = importlib.import_module(f"steffle.{_PLACES[name]}")
    return module if _PLACES[name] == name else getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
