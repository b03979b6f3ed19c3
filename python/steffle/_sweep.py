"""A grid of runs, and the trade-off that they reach."""

from __future__ import annotations

import hashlib
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from steffle import _columns, _steffle
from steffle._command import run, words
from steffle._progress import Progress
from steffle._runs import Sweep


def sweep(
    data: Any = "adult",
    *,
    method: str | list[str] = "steffle",
    epsilon: float | list[float] | None = None,
    lam: float | list[float] | None = None,
    seeds: int | list[int] = 1,
    sensitive: str | list[str] | None = None,
    out: str | PathLike[str] | None = None,
    verbose: int = 0,
    **settings: Any,
) -> Sweep:
    """Trains over a grid of settings: ``steffle sweep`` of the command line, bit for bit.

    ``data`` is a data set's name, a file, or a data frame with its label and sensitive columns
    (``label="hired", sensitive="sex", classes=["female", "male"]``). Every setting may be a list, and
    every combination is run, on all cores. Results are kept in the directory ``out``: the same call
    goes on where it was interrupted, and ``steffle.load`` reads them again.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     found = sweep("adult", method="fermi", lam=[1, 4], out=os.path.join(place, "s"))
    >>> found.frame["lambda"].tolist()
    [1.0, 4.0]
    """
    if hasattr(data, "columns"):
        data, out = _kept(data, out)
    columns = [sensitive] if isinstance(sensitive, str) else list(sensitive or [])
    said = {"data": fspath(data), "method": method, "epsilon": epsilon, "lam": lam, **settings}
    said["seeds"] = seeds if isinstance(seeds, int) else [*seeds, ""][: len(seeds) + (len(seeds) == 1)]
    if out is not None:
        said["out"] = fspath(out)
    command = ["sweep", *words(said), *(f"--sensitive={column}" for column in columns)]
    plan = run([*command, "--dry-run"])[0]
    directory = Path(out) if out is not None else Path(plan["directory"])
    progress, ended = Progress(bool(verbose)), []

    def each(line: dict[str, Any]) -> None:
        ended.append(line)
        progress("sweep", len(ended), len(plan["runs"]))

    run(command, each)
    progress.end()
    return Sweep(directory)


def _kept(table: Any, out: str | PathLike[str] | None) -> tuple[str, Path]:
    """The file of a data frame, beside the results that come from it."""
    columns = list(_columns.frame(table))
    digest = hashlib.blake2b(digest_size=4)
    for name, column in columns:
        digest.update(name.encode())
        for part in column if isinstance(column, tuple) else (column,):
            digest.update(part.tobytes() if hasattr(part, "tobytes") else repr(part).encode())
    place = Path("sweeps") / f"table-{digest.hexdigest()}" if out is None else Path(out)
    place.mkdir(parents=True, exist_ok=True)
    file = place / f"table-{digest.hexdigest()}.parquet"
    if not file.exists():
        _steffle.write_table(file, columns)
    return fspath(file), place
