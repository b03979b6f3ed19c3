"""SteFFLe: fair classifiers across organisations that may not share their records.

>>> import steffle
>>> adult = steffle.load_dataset("adult")
>>> model = steffle.FairClassifier(epsilon=1.0, lam=2.0, random_state=0)
>>> model = model.fit(adult.X, adult.y, sensitive_features=adult.sensitive_features)
>>> round(model.privacy_["epsilon"], 1)
1.0
"""

from steffle import metrics
from steffle._classifier import FairClassifier, UnfairWarning
from steffle._datasets import LoadedDataset, load_dataset
from steffle._steffle import SteffleError, __version__

__all__ = [
    "FairClassifier",
    "LoadedDataset",
    "SteffleError",
    "UnfairWarning",
    "__version__",
    "load_dataset",
    "metrics",
]
