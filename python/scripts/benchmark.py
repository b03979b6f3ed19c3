"""What a fit through Python costs beside the library's own time, and how much memory it takes.

    python python/scripts/benchmark.py            # Adult, and a million rows
    python python/scripts/benchmark.py --rows 100000

Each line is a process of its own, so that its peak memory is its own. Ends with status 1 where Python
costs more than a tenth of the library's time, or where the peak is above twice the input beside it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--one", choices=["adult", "numbers", "mixed"], help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measure(asked.one, asked.rows, asked.repeat)))
        return 0
    print(f"{'data':8} {'rows':>8} {'fit s':>7} {'library s':>9} {'more':>6} {'input MB':>8} {'peak MB':>7}")
    failed = False
    for one in ["adult", "numbers", "mixed"]:
        command = [sys.executable, __file__, "--one", one]
        command += ["--rows", str(asked.rows), "--repeat", str(asked.repeat)]
        told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        more = told["fit"] / told["library"] - 1
        print(
            f"{one:8} {told['rows']:8} {told['fit']:7.2f} {told['library']:9.2f} {more:6.1%} "
            f"{told['input'] / 1e6:8.0f} {told['peak'] / 1e6:7.0f}"
        )
        # The fixed parts of a process do not count as input.
        failed |= more > 0.1 or told["peak"] > 2 * max(told["input"], 2e7)
    return int(failed)


def measure(data: str, rows: int, repeat: int) -> dict[str, float]:
    import steffle

    X, y, group = table(data, rows)
    size = float(X.memory_usage(index=False, deep=True).sum())
    # Whatever is loaded once is loaded before.
    steffle.FairClassifier(rounds=1).fit(X[:200], y[:200], sensitive_features=group[:200])
    before = resident("VmRSS")
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    fits, library = [], []
    for seed in range(repeat):
        model = steffle.FairClassifier(random_state=seed)
        begin = time.perf_counter()
        model.fit(X, y, sensitive_features=group)
        fits.append(time.perf_counter() - begin)
        library.append(model.model_.seconds)
    best = min(range(repeat), key=lambda place: fits[place])
    told = {"rows": len(X), "fit": fits[best], "library": library[best], "input": size}
    return told | {"peak": resident("VmHWM") - before}


def table(data: str, rows: int):
    import numpy as np
    import pandas as pd

    import steffle

    if data == "adult":
        adult = steffle.load_dataset("adult")
        text = [name for name in adult.X if not pd.api.types.is_numeric_dtype(adult.X[name])]
        X = adult.X.astype({name: "category" for name in text})
        return X, adult.y.astype("category"), adult.sensitive_features.astype("category")
    random = np.random.default_rng(0)
    group = random.integers(0, 2, rows)
    numbers = 20 if data == "numbers" else 10
    X = pd.DataFrame({f"x{at}": random.normal(size=rows) for at in range(numbers)})
    X["x0"] += group
    y = (X["x0"] + X["x1"] + random.normal(size=rows) > 0.5).to_numpy().astype(int)
    if data == "mixed":
        towns = np.array([f"town {at}" for at in range(12)])
        for at in range(10):
            X[f"c{at}"] = pd.Categorical(towns[random.integers(0, 12, rows)])
    return X, y, group


def resident(key: str) -> float:
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith(key + ":"))
    return 1024.0 * float(line.split()[1])


if __name__ == "__main__":
    sys.exit(main())
