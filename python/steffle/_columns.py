"""Tables of any make as columns: numbers, or codes with the text that they stand for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: A code beyond all levels: a missing value.
MISSING = np.uint32(0xFFFFFFFF)

#: A column as the library takes it.
Column = Any


def text(values: Any) -> tuple[NDArray[np.uint32], list[str]]:
    """Codes and levels of values of any kind; None, NaN, their like and empty text are missing."""
    if hasattr(values, "factorize"):
        # A column of pandas knows its values faster than a loop finds them.
        found, unique = values.factorize()
        levels, places = np.unique([_word(value) for value in unique], return_inverse=True)
        codes = np.full(len(found), MISSING, dtype=np.uint32)
        known = found >= 0
        codes[known] = places[found[known]] if len(places) else MISSING
        return _without_empty(codes, [str(level) for level in levels])
    array = np.asarray(values, dtype=object).ravel()
    missing = np.fromiter((_is_missing(value) for value in array), dtype=bool, count=len(array))
    words = np.array([_word(value) for value in array[~missing]], dtype=str)
    levels, places = np.unique(words, return_inverse=True)
    codes = np.full(len(array), MISSING, dtype=np.uint32)
    codes[~missing] = places.astype(np.uint32)
    return _without_empty(codes, [str(level) for level in levels])


def _without_empty(
    codes: NDArray[np.uint32], levels: list[str]
) -> tuple[NDArray[np.uint32], list[str]]:
    """Text that is empty is missing, as it is in a file and to ONNX; it sorts before all other."""
    if levels[:1] != [""]:
        return codes, levels
    return np.where((codes == 0) | (codes == MISSING), MISSING, codes - 1).astype(np.uint32), levels[1:]


def _is_missing(value: Any) -> bool:
    if isinstance(value, (float, np.floating)):
        return bool(np.isnan(value))
    return value is None or type(value).__name__ in {"NAType", "NaTType"}


def _word(value: Any) -> str:
    """The text of a value; whole numbers have no point, as in a file."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    return str(value)


def _is_numeric(kind: Any) -> bool:
    try:
        return np.dtype(kind).kind in "iuf"
    except TypeError:
        return False


def column(values: Any) -> Column:
    """One column: numbers where its type is one of numbers, text otherwise."""
    kind = getattr(values, "dtype", None)
    if kind is not None and _is_numeric(kind):
        return np.ascontiguousarray(values, dtype=np.float64)
    # Nullable numbers of pandas, and columns of polars and Arrow.
    numeric = getattr(kind, "is_numeric", None)
    if callable(numeric) and numeric():
        return np.ascontiguousarray(values.to_numpy(), dtype=np.float64)
    if str(kind) in {"Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64",
                     "Float32", "Float64"}:
        return np.ascontiguousarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
    return text(values)


def names_of(table: Any) -> list[str] | None:
    """The names of a table's columns, where it has names."""
    names = getattr(table, "column_names", None)
    if names is None:
        names = getattr(table, "columns", None)
    return None if names is None else [str(name) for name in names]


def chosen(table: Any, names: list[str]) -> Any:
    """The table with these columns only."""
    return table.select(names) if hasattr(table, "column_names") else table[names]


def frame(table: Any) -> Iterator[tuple[str, Column]]:
    """The columns of a data frame or an Arrow table, one by one."""
    if hasattr(table, "column_names"):
        return ((str(name), column(_of_arrow(table[name]))) for name in table.column_names)
    return ((str(name), column(table[name])) for name in table.columns)


def _of_arrow(chunked: Any) -> Any:
    return chunked.to_pandas() if hasattr(chunked, "to_pandas") else np.asarray(chunked)


def array(values: NDArray[Any]) -> Iterator[tuple[str, Column]]:
    """The columns of a matrix, named x0, x1, ..., one by one."""
    return ((f"x{place}", column(values[:, place])) for place in range(values.shape[1]))
