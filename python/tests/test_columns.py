"""Tables become columns: what is a number, what is text, and what is copied."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from steffle import FairClassifier, SteffleError, _columns, _steffle

KINDS = ["f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1"]


@pytest.fixture(scope="module")
def whole():
    """400 people with small whole numbers, which every kind of number can hold."""
    random = np.random.default_rng(3)
    matrix = random.integers(0, 100, (400, 3))
    group = random.choice(["a", "b"], 400)
    return matrix, np.where(matrix[:, 0] + 20 * (group == "a") > 60, "yes", "no"), group


def test_numbers_of_all_kinds_and_layouts_give_one_model(whole):
    matrix, label, group = whole

    def fitted(table):
        return FairClassifier(random_state=0).fit(table, label, sensitive_features=group).coef_

    expected = fitted(matrix.astype(float))
    tables = [matrix.astype(kind) for kind in [*KINDS, "f2", ">f8"]]
    wide = np.zeros((800, 6))
    wide[::2, ::-2] = matrix
    tables += [np.asfortranarray(matrix), wide[::2, ::-2]]
    frames = [pd.DataFrame(table) for table in tables]
    frames += [frames[0].astype("Int32"), frames[0].astype("int16[pyarrow]")]
    for table in [*tables, *(frame.rename(columns=str) for frame in frames)]:
        assert (fitted(table) == expected).all(), getattr(table, "dtype", "a frame")


def test_numbers_stay_where_they_are(whole):
    matrix = whole[0]
    for kind in KINDS:
        for order in "CF":
            given = np.asarray(matrix, dtype=kind, order=order)
            for _, column in _columns.array(given):
                assert column.dtype == given.dtype and np.shares_memory(column, given)
        frame = pd.DataFrame(matrix.astype(kind))
        for name, column in _columns.frame(frame):
            assert np.shares_memory(column, frame[int(name)].to_numpy())
    table = pl.DataFrame(matrix.astype(float))
    assert all(np.shares_memory(column, table[name].to_numpy()) for name, column in _columns.frame(table))
    table = pa.table({"x": matrix[:, 0].copy()})
    ((_, column),) = _columns.frame(table)
    assert np.shares_memory(column, table["x"].chunk(0).to_numpy())


def test_text_is_codes_of_few_bytes():
    def told(values):
        codes, levels = _columns.text(values)
        return [levels[code] if code < len(levels) else None for code in codes], levels

    words = ["b", "a", None, "", "b"]
    kept = ["b", "a", None, None, "b"]
    tables = [words, np.array(words, dtype=object), pd.Series(words), pd.Series(words, dtype="category")]
    tables += [pl.Series(words), pl.Series(words, dtype=pl.Categorical)]
    for values in tables:
        assert told(values) == (kept, ["a", "b"]), type(values)
    # A category that nobody has is no level.
    unused = pd.Categorical(["x", None, "x"], categories=["w", "x", "y"])
    assert told(pd.Series(unused)) == told(unused) == (["x", None, "x"], ["x"])
    assert told(np.array([2.0, np.nan, 10.5])) == (["2", None, "10.5"], ["10.5", "2"])
    assert told(np.array([True, False])) == (["True", "False"], ["False", "True"])
    assert [_columns.text(np.arange(n))[0].dtype for n in (255, 256, 65536)] == ["u1", "u2", "u4"]


def test_what_is_no_column_is_refused():
    label = ("label", (np.array([0, 1], dtype=np.uint8), ["n", "y"]))
    for wrong in [np.array([1j, 2j]), np.zeros((2, 2)), ["a", "b"], (np.array([0.5, 1.0]), ["a"])]:
        with pytest.raises(TypeError):
            _steffle.write_table("never.csv", [("x", wrong), label])
    with pytest.raises(SteffleError):
        _steffle.write_table("never.csv", [("x", np.zeros(3)), label])
