"""SteFFLe beside Fairlearn: the same rows, the same split, logistic regression everywhere.

    python python/scripts/compare.py --seeds 3       # Adult and Credit Card, the table of docs/RESULTS.md
    python python/scripts/compare.py --rows 2000     # a quick look

Error and demographic-parity gap are those of decisions on a quarter of the rows, means over splits;
seconds are processor seconds of `fit`, encoding included. Fairlearn's methods and `fermi` see everybody's
attribute in the clear.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from fairlearn.postprocessing import ThresholdOptimizer
from fairlearn.reductions import DemographicParity, ExponentiatedGradient, GridSearch
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import steffle


def encoder(X):
    text = [name for name in X.columns if not pd.api.types.is_numeric_dtype(X[name])]
    numbers = [name for name in X.columns if name not in text]
    return make_column_transformer(
        (StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore"), text), sparse_threshold=0
    )


def logistic():
    return LogisticRegression(max_iter=1000)


class Encoded:
    """A method of Fairlearn on encoded columns."""

    def __init__(self, inner, needs_group=False, **more):
        self.inner, self.needs_group, self.more = inner, needs_group, more

    def fit(self, X, y, *, sensitive_features):
        self.encoder = encoder(X).fit(X)
        self.inner.fit(self.encoder.transform(X), y, sensitive_features=sensitive_features, **self.more)
        return self

    def predict(self, X, group):
        more = {"sensitive_features": group} if self.needs_group else {}
        if not isinstance(self.inner, GridSearch):
            more["random_state"] = 0
        return self.inner.predict(self.encoder.transform(X), **more)


class Plain:
    """The model without fairness."""

    def fit(self, X, y, *, sensitive_features):
        self.inner = make_pipeline(encoder(X), logistic()).fit(X, y)
        return self

    def predict(self, X, group):
        return self.inner.predict(X)


class Ours:
    def __init__(self, **settings):
        self.inner = steffle.FairClassifier(**settings)

    def fit(self, X, y, *, sensitive_features):
        self.inner.fit(X, y, sensitive_features=sensitive_features)
        return self

    def predict(self, X, group):
        return self.inner.predict(X)


def methods(seed: int, bound: float, ours: dict[str, float]):
    parity = DemographicParity(difference_bound=bound)
    yield "scikit-learn LogisticRegression", "-", Plain()
    yield "Fairlearn ExponentiatedGradient", "-", Encoded(ExponentiatedGradient(logistic(), parity))
    yield "Fairlearn GridSearch (20 models)", "-", Encoded(
        GridSearch(logistic(), DemographicParity(), grid_size=20)
    )
    yield "Fairlearn ThresholdOptimizer, reads s to predict", "-", Encoded(
        ThresholdOptimizer(estimator=logistic(), predict_method="predict_proba"), needs_group=True
    )
    ours = ours | {"random_state": seed}
    yield "SteFFLe fermi", "-", Ours(method="fermi", **ours)
    for epsilon in [1.0, 0.25]:
        yield "SteFFLe one-shot", f"{epsilon:g}", Ours(method="one-shot", epsilon=epsilon, **ours)
    yield "SteFFLe steffle", "1", Ours(epsilon=1.0, **ours)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, help="of each data set; by default all")
    parser.add_argument("--seeds", type=int, default=1, help="splits; numbers are means over them")
    asked = parser.parse_args()
    warnings.filterwarnings("ignore")
    print("| data | method | epsilon | error (%) | gap (points) | seconds |")
    print("|---|---|---|---|---|---|")
    # What Fairlearn is told may remain of the gap, and our weight of fairness; where gaps are tiny the
    # surrogate is sharper, as docs/CLI.md advises.
    adult, card = {"lam": 16.0}, {"lam": 16.0, "surrogate_sharpness": 3.0}
    for name, bound, ours in [("adult", 0.02, adult), ("credit-card", 0.005, card)]:
        found: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
        for seed in range(asked.seeds):
            data = steffle.load_dataset(name)
            rows = slice(0, asked.rows)
            y = (data.y == np.unique(data.y)[-1]).astype(int)
            parts = train_test_split(
                data.X[rows], y[rows], data.sensitive_features[rows], random_state=seed, test_size=0.25
            )
            X, X_test, y, y_test, group, group_test = parts
            for title, epsilon, method in methods(seed, bound, ours):
                begin = time.process_time()
                method.fit(X, y, sensitive_features=group)
                seconds = time.process_time() - begin
                decided = method.predict(X_test, group_test)
                gap = steffle.metrics.demographic_parity_difference(
                    y_test, decided, sensitive_features=group_test
                )
                error = float(np.mean(decided != y_test))
                found.setdefault((title, epsilon), []).append((100 * error, 100 * gap, seconds))
        for (title, epsilon), measured in found.items():
            error, gap, seconds = np.mean(measured, axis=0)
            print(f"| {name} | {title} | {epsilon} | {error:.2f} | {gap:.2f} | {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
