"""What a fit through Python costs beside the library's own, and how much memory it takes.

    pip install . && cargo build --release -p steffle-bench
    python python/scripts/benchmark.py            # Adult, and a million rows
    python python/scripts/benchmark.py --rows 100000
    python python/scripts/benchmark.py --alone    # without the library's side

Both sides get the same rows. *fit* is what `FairClassifier.fit` takes, everything that turns a table into
columns included; *library* is `steffle-bench library`, a program in Rust that has the columns in its own
memory already. Both are processor seconds of a process, the least of several runs in turns, on one thread;
and both have to find the same model. *input* is what the user holds: the bytes of X, y and
sensitive_features, text included; of text that many cells share, once. *peak* is the largest memory of the process during `fit`, input
included, beyond what it had when Python and the packages were loaded and no table was there; *B a row* is
what of it is not input.

Ends with status 1 where Python costs more than a tenth more than the library, or where the peak is more
than twice the input and 32 MB, which are for what does not grow with the rows.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

#: Tables that are measured.
TABLES = {
    "adult": "Adult, as load_dataset gives it",
    "numbers": "20 columns of numbers, a data frame",
    "matrix": "the same as a matrix, row by row",
    "mixed": "10 columns of numbers, 10 of text",
    "coded": "the same, text as categories of one byte",
}
#: Bytes that a fit may take whatever the number of rows is.
FIXED = 32e6
LIBRARY = Path(__file__).parents[2] / "target/release/steffle-bench"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--table", choices=TABLES, action="append", help="by default all")
    parser.add_argument("--alone", action="store_true", help="without the library's side")
    parser.add_argument("--library", type=Path, default=LIBRARY, help="the program steffle-bench")
    parser.add_argument("--one", choices=["write", "fit"], help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        one = write if asked.one == "write" else fit
        print(json.dumps(one(asked.table[0], asked.rows, asked.file)))
        return 0
    head = f"{'table':8} {'rows':>8} {'fit s':>7} {'library s':>9} {'more':>7}"
    print(f"{head} {'input MB':>8} {'peak MB':>7} {'of input':>8} {'B a row':>7}")
    passed = [line(table, asked) for table in asked.table or TABLES]
    for table in asked.table or TABLES:
        print(f"{table}: {TABLES[table]}")
    return int(not all(passed))


def line(table: str, asked: argparse.Namespace) -> bool:
    """Measures a table, prints its line, and says whether it is within the bounds."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "table.parquet"
        program = [sys.executable, __file__, "--table", table, "--rows", str(asked.rows)]
        program += ["--file", str(file), "--one"]
        environment = os.environ | {"RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

        def run(command: list[str]) -> str:
            ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
            return ran.stdout

        rows = json.loads(run([*program, "write"]))["rows"]
        fits, library = [], []
        for _ in range(asked.repeat):
            fits.append(json.loads(run([*program, "fit"])))
            if asked.alone:
                continue
            own = run([str(asked.library), "library", str(file), "--repeat", "1"])
            library.append([float(number) for number in own.split()])
    seconds = min(told["seconds"] for told in fits)
    own = min((told[0] for told in library), default=float("nan"))
    for _, theta in library:
        if abs(fits[0]["theta"] - theta) > 1e-9 * abs(theta):
            raise SystemExit(f"{table}: Python found {fits[0]['theta']}, the library {theta}")
    size, peak = fits[0]["input"], max(told["peak"] for told in fits)
    print(
        f"{table:8} {rows:8} {seconds:7.2f} {own:9.2f} {seconds / own - 1:7.1%} "
        f"{size / 1e6:8.0f} {peak / 1e6:7.0f} {peak / size:8.2f} {(peak - size) / rows:7.0f}",
        flush=True,
    )
    return (asked.alone or seconds <= 1.1 * own) and peak <= 2 * size + FIXED


def fit(data: str, rows: int, file: Path) -> dict[str, float]:
    """Seconds, memory and model of a fit in this process."""
    import steffle

    # Whatever is loaded once is loaded before.
    X, y, group = table(data, 500)
    steffle.FairClassifier(rounds=1).fit(X, y, sensitive_features=group)
    del X, y, group
    gc.collect()
    before = resident("VmRSS")
    X, y, group = table(data, rows)
    gc.collect()
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    model = steffle.FairClassifier(random_state=0)
    begin = time.process_time()
    model.fit(X, y, sensitive_features=group)
    seconds = time.process_time() - begin
    told = {"seconds": seconds, "peak": resident("VmHWM") - before, "input": size(X, y, group)}
    return told | {"theta": float(model.model_.theta.sum())}


def write(data: str, rows: int, file: Path) -> dict[str, int]:
    """Writes the table as a file that the library's program reads."""
    from steffle import _columns, _steffle

    X, y, group = table(data, rows)
    features = _columns.array(X) if data == "matrix" else _columns.frame(X)
    more = [("label", _columns.text(y)), ("group", _columns.text(group))]
    _steffle.write_table(file, [*features, *more])
    return {"rows": len(X)}


def table(data: str, rows: int):
    import numpy as np
    import pandas as pd

    import steffle

    if data == "adult":
        adult = steffle.load_dataset("adult")
        return adult.X, adult.y, adult.sensitive_features
    random = np.random.default_rng(0)
    group = random.integers(0, 2, rows)
    values = random.normal(size=(10 if data in ("mixed", "coded") else 20, rows))
    values[0] += group
    y = (values[0] + values[1] + random.normal(size=rows) > 0.5).astype(int)
    if data == "matrix":
        return np.ascontiguousarray(values.T), y, group
    X = pd.DataFrame(values.T, columns=[f"x{at}" for at in range(len(values))], copy=False)
    if data != "numbers":
        towns = pd.Index([f"town {at}" for at in range(12)])
        for at in range(10):
            codes = random.integers(0, 12, rows, dtype=np.int8)
            coded = data == "coded"
            X[f"c{at}"] = pd.Categorical.from_codes(codes, towns) if coded else towns[codes]
    return X, y, group


def size(*tables: object) -> float:
    """Bytes of what a user holds."""
    import numpy as np
    import pandas as pd

    def column(values: pd.Series) -> float:
        shallow = float(values.memory_usage(index=False))
        if values.dtype != object and getattr(values.dtype, "storage", None) != "python":
            return shallow
        # Cells are references, many of them to the same text.
        return shallow + sum({id(cell): sys.getsizeof(cell) for cell in values}.values())

    def one(table: object) -> float:
        if isinstance(table, np.ndarray):
            return float(table.nbytes)
        if isinstance(table, pd.Series):
            return column(table)
        return sum(column(table[name]) for name in table)

    return sum(one(table) for table in tables)


def resident(key: str) -> float:
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith(key + ":"))
    return 1024.0 * float(line.split()[1])


if __name__ == "__main__":
    sys.exit(main())
