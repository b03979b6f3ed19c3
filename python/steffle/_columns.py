"""Tables of any make as columns: numbers, or codes with the text that they stand for.

Numbers and the codes of categories stay in the arrays that they are in: the library reads these. Other
text becomes codes of as few bytes as there are levels.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steffle import _steffle

#: Codes of one of these kinds, and the levels that they stand for; a code beyond these, or below zero, is a
#: missing value.
Text = tuple[NDArray[Any], list[str]]

#: A column as the library takes it: an array of numbers, or text.
Column = Any

#: Rows that are looked at together.
_PIECE = 1 << 14

#: Numbers that the library reads as they are.
_READ = {np.dtype(kind) for kind in ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1")}


def text(values: Any) -> Text:
    """Codes and levels of values of any kind; None, NaN, their like and empty text are missing."""
    if isinstance(getattr(values, "dtype", None), pd.CategoricalDtype):
        categories = pd.Series(values, copy=False).cat
        found, unique = categories.codes.to_numpy(), categories.categories
        used = np.zeros(len(unique) + 1, dtype=bool)
        used[found] = True
        words = [word(value) if on else "" for value, on in zip(unique, used, strict=False)]
    else:
        if (lies := _lies(values)) is not None:
            return _steffle.coded(*lies)
        if hasattr(values, "to_numpy") and not hasattr(values, "factorize"):
            values = values.to_numpy()
        elif getattr(getattr(values, "dtype", None), "storage", None) == "python":
            # The same cells without pandas' text around them: in half the time.
            values = values.to_numpy(dtype=object)
        elif not hasattr(values, "dtype"):
            values = np.asarray(values, dtype=object)
        values = values if values.ndim == 1 else np.ravel(values)
        if values.dtype == object and (known := _steffle.coded_cells(np.asarray(values))):
            return known
        found, unique = factorized(values)
        words = [word(value) for value in unique]
    levels = sorted({word for word in words if word})
    place = {word: at for at, word in enumerate(levels)}
    # Missing values are -1, the last of the new codes.
    codes = [place.get(word, len(levels)) for word in [*words, ""]]
    return np.array(codes, dtype=np.min_scalar_type(len(levels)))[found], levels


def factorized(values: Any) -> tuple[NDArray[Any], Any]:
    """What `pd.factorize` gives. Whole numbers are looked at piece by piece, where they are few different
    ones: all at once take 24 bytes a row, three times what is held, and not all of it is given back."""
    kind = values.dtype
    at_once: tuple[NDArray[Any], Any]
    if not isinstance(kind, np.dtype) or kind.kind not in "iub" or len(values) <= _PIECE:
        at_once = pd.factorize(values)
        return at_once
    values = np.asarray(values)
    codes = np.empty(len(values), dtype=np.int16)
    known = pd.Index(values[:0])
    for begin in range(0, len(values), _PIECE):
        own, found = pd.factorize(values[begin : begin + _PIECE])
        known = known.append(pd.Index(found[known.get_indexer(found) < 0]))
        if len(known) > np.iinfo(codes.dtype).max:
            at_once = pd.factorize(values)
            return at_once
        codes[begin : begin + _PIECE] = known.get_indexer(found)[own]
    return codes, known.to_numpy()


def _categories(values: Any) -> Text | None:
    """The codes that pandas has, where every category is a word of its own; one that nobody has is no
    level of what the library reads."""
    own = getattr(values, "array", values)
    words = [word(value) for value in own.categories]
    if len(set(words)) < len(words) or "" in words:
        return None
    return np.asarray(own.codes), words


def _lies(values: Any) -> tuple[NDArray[Any], NDArray[np.uint8]] | None:
    """Offsets and letters of text that pandas keeps as Arrow does, in one piece and without gaps."""
    if getattr(getattr(values, "dtype", None), "storage", None) != "pyarrow":
        return None
    chunked = pd.Series(values, copy=False).array.__arrow_array__()
    width = {"string": np.int32, "large_string": np.int64}.get(str(chunked.type))
    if width is None or chunked.num_chunks != 1 or chunked.null_count:
        return None
    text = chunked.chunk(0)
    _, offsets, letters = text.buffers()
    if offsets is None or letters is None:
        return None
    begins = np.frombuffer(offsets, dtype=width)[text.offset : text.offset + len(text) + 1]
    return begins, np.frombuffer(letters, dtype=np.uint8)


def word(value: Any) -> str:
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
    if isinstance(kind, pd.CategoricalDtype):
        return _categories(values) or text(values)
    if kind is not None and _is_numeric(kind):
        numbers = np.asarray(values)
    elif callable(numeric := getattr(kind, "is_numeric", None)) and numeric():
        # Of polars: a missing number is NaN then.
        numbers = values.to_numpy()
    elif isinstance(kind, pd.api.extensions.ExtensionDtype) and pd.api.types.is_numeric_dtype(kind):
        # Nullable numbers, and those of Arrow in pandas; neither booleans.
        if pd.api.types.is_bool_dtype(kind):
            return text(values)
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        return text(values)
    # A view of its own: what others do to the array's shape is nothing to the library.
    return numbers.view() if numbers.dtype in _READ else numbers.astype(np.float64)


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
    if values.dtype.kind == "b":
        values = values.view(np.uint8)
    return ((f"x{place}", column(values[:, place])) for place in range(values.shape[1]))
