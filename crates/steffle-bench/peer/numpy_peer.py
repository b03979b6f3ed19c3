"""The peer that `steffle-bench speed` measures against: Algorithm 1 in vectorised NumPy.

Logistic regression on Adult, three equal silos dealt at random, minibatches of 256, 40 epochs, a 2 x 2 dual
variable in a ball, per-sample clipping and the theorem's Gaussian noise: the work of `--mode paper`, written the
way a practitioner would. Prints the CPU seconds of one training run (loading excluded) and two test metrics.

    OMP_NUM_THREADS=1 python3 numpy_peer.py PATH_TO_ADULT.parquet      (needs numpy, pandas and pyarrow)
"""
import sys
import time

import numpy as np
import pandas as pd

EPOCHS, BATCH, SILOS = 40, 256, 3
EPSILON, FAIRNESS, CLIP, RADIUS = 3.0, 1.0, 1.0, 2.0
RATE, DUAL_RATE, DECAY = 0.25, 0.1, 0.8
NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")


def encode(path):
    """Dense float32 rows with a bias column, labels and sensitive classes of the complete records."""
    frame = pd.read_parquet(path)
    frame = frame.loc[(frame != "?").all(axis=1)].reset_index(drop=True)
    label = frame.pop("income").eq(">50K").to_numpy().astype(np.float32)
    group = frame.pop("sex").eq("Male").to_numpy().astype(np.intp)
    shuffled = np.random.default_rng(0).permutation(len(frame))
    cut = 3 * len(frame) // 4
    learn, hold = shuffled[:cut], shuffled[cut:]
    numbers = frame[list(NUMBERS)].to_numpy(dtype=np.float64)
    numbers -= numbers[learn].mean(axis=0)
    numbers /= numbers[learn].std(axis=0)
    levels = pd.get_dummies(frame.drop(columns=list(NUMBERS))).to_numpy(dtype=np.float32)
    bias = np.ones((len(frame), 1), dtype=np.float32)
    rows = np.hstack([numbers.astype(np.float32), levels, bias])
    return rows, label, group, learn, hold


def fit(rows, label, group, learn, random):
    """One run; every silo's message is clipped and noised before it is averaged."""
    silos = []
    for start in range(SILOS):
        own = learn[start::SILOS]
        x = np.ascontiguousarray(rows[own])
        silos.append((x, label[own], group[own], np.linalg.norm(x, axis=1)))
    total, width = len(learn), rows.shape[1]
    smallest = min(len(y) for _, y, _, _ in silos)
    per_epoch = -(-smallest // BATCH)
    share = np.bincount(group[learn], minlength=2) / total
    sigma = np.sqrt(16 * EPOCHS * per_epoch * np.log(float(total) ** 2) / share.min()) / (EPSILON * smallest)
    root = (1 / np.sqrt(share)).astype(np.float32)[:, None]
    theta, dual = np.zeros(width, np.float32), np.zeros((2, 2), np.float32)
    rate = RATE
    for epoch in range(EPOCHS):
        orders = [random.permutation(len(y)) for _, y, _, _ in silos]
        for step in range(per_epoch):
            descent, ascent = np.zeros(width, np.float32), np.zeros((2, 2), np.float32)
            combination = 2 * dual * root - (dual * dual).sum(axis=0)
            slope_of_class = combination[:, 1] - combination[:, 0]
            for (x, y, s, norm), order in zip(silos, orders):
                batch = order[step * BATCH:(step + 1) * BATCH]
                size = len(batch)
                x, s = x[batch], s[batch]
                p = 1 / (1 + np.exp(-(x @ theta)))
                pull = slope_of_class[s] * p * (1 - p)
                pull /= np.maximum(1, np.abs(pull) * norm[batch] / CLIP)
                descent += x.T @ ((p - y[batch] + FAIRNESS * pull) / size).astype(np.float32)
                outputs = np.column_stack([1 - p, p])
                table = np.vstack([outputs[s == r].sum(axis=0) for r in (0, 1)]) / size
                ascent += 2 * table * root - 2 * dual * outputs.mean(axis=0)
                descent += FAIRNESS * RADIUS * CLIP * sigma * random.standard_normal(width, dtype=np.float32)
                ascent += sigma * random.standard_normal((2, 2), dtype=np.float32)
            theta -= np.float32(rate / SILOS) * descent
            dual += np.float32(FAIRNESS * DUAL_RATE / SILOS) * ascent
            length = np.sqrt((dual * dual).sum())
            if length > RADIUS:
                dual *= RADIUS / length
        if epoch % 10 == 9:
            rate *= DECAY
    return theta


def main():
    rows, label, group, learn, hold = encode(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    begun = time.process_time()
    theta = fit(rows, label, group, learn, np.random.default_rng(seed))
    spent = time.process_time() - begun
    decided = rows[hold] @ theta > 0
    gap = abs(decided[group[hold] == 1].mean() - decided[group[hold] == 0].mean())
    print(f"{spent:.6f} {np.mean(decided != label[hold]):.6f} {gap:.6f}")


if __name__ == "__main__":
    main()
