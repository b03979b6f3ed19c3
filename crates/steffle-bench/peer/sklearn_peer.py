"""The peer that `steffle-bench networks` measures against: scikit-learn's network on Adult, in one place.

One `MLPClassifier(early_stopping=True)` on standardised numbers and one-hot levels. Prints the CPU seconds of the
fit (loading excluded), the test error and the test log-loss.

    OMP_NUM_THREADS=1 python3 sklearn_peer.py PATH_TO_ADULT.parquet SEED 64,32    (needs scikit-learn, pandas, pyarrow)
"""
import sys
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss
from sklearn.neural_network import MLPClassifier

NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")


def encode(path, seed):
    """Dense rows and labels of the complete records, three quarters to learn from."""
    frame = pd.read_parquet(path)
    frame = frame.loc[(frame != "?").all(axis=1)].reset_index(drop=True)
    label = frame.pop("income").eq(">50K").to_numpy().astype(int)
    frame = frame.drop(columns="sex")
    shuffled = np.random.default_rng(seed).permutation(len(frame))
    cut = 3 * len(frame) // 4
    learn, hold = shuffled[:cut], shuffled[cut:]
    numbers = frame[list(NUMBERS)].to_numpy(dtype=np.float64)
    numbers -= numbers[learn].mean(axis=0)
    numbers /= numbers[learn].std(axis=0)
    levels = pd.get_dummies(frame.drop(columns=list(NUMBERS))).to_numpy(dtype=np.float64)
    rows = np.hstack([numbers, levels])
    return rows[learn], label[learn], rows[hold], label[hold]


def main():
    path, seed, widths = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    rows, label, test, truth = encode(path, seed)
    hidden = tuple(int(width) for width in widths.split(","))
    warnings.simplefilter("ignore")
    begin = time.process_time()
    model = MLPClassifier(hidden_layer_sizes=hidden, early_stopping=True, random_state=seed).fit(rows, label)
    took = time.process_time() - begin
    probability = model.predict_proba(test)
    error = float(np.mean(model.predict(test) != truth))
    print(f"{took:.4f} {error:.6f} {log_loss(truth, probability):.6f}")


main()
