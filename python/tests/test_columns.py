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


def test_cells_that_are_references_are_looked_up_once():
    random = np.random.default_rng(4)
    for kinds in (1, 300, 70_000):
        known = [f"word {at} \u00e4\u03b4\U0001f600"[at % 3 :] for at in range(kinds)]
        words = [known[at] for at in random.integers(0, kinds, 6000)]
        # References to one text, to texts of their own, and missing in all ways.
        cells = [word if at % 2 else word[:1] + word[1:] for at, word in enumerate(words)]
        cells[5], cells[6], cells[7], cells[8] = None, float("nan"), np.nan, ""
        codes, levels = _steffle.coded_cells(np.array(cells, dtype=object))
        expected = [None if at in (5, 6, 7, 8) else word for at, word in enumerate(words)]
        assert [levels[code] if code < len(levels) else None for code in codes] == expected
        assert levels == sorted({word for word in expected if word})
        for kind in (object, pd.StringDtype("python", na_value=np.nan), "string[python]"):
            own, found = _columns.text(pd.Series(cells, dtype=kind))
            assert found == levels and (own == codes).all()
    # What is no text is read by pandas, and so is text of another type or without a code in UTF-8.
    for other in (1, True, 2.5, pd.NA, np.str_("a"), b"a", "\udc80"):
        assert _steffle.coded_cells(np.array(["a", other], dtype=object)) is None
    assert _columns.text(np.array(["a", 1, pd.NA, 1.0], dtype=object))[1] == ["1", "a"]


def test_codes_of_categories_stay_where_they_are():
    kept = pd.Categorical(["x", None, "v", "x"], categories=["x", "w", "v"])
    for values in (kept, pd.Series(kept)):
        codes, levels = _columns.column(values)
        assert (codes.tolist(), levels) == ([0, -1, 2, 0], ["x", "w", "v"])
        assert np.shares_memory(codes, getattr(values, "array", values).codes)
    # Categories that are one word, or none, are not.
    for same in (pd.Categorical([1, "1"]), pd.Categorical(["", "a"])):
        assert min(_columns.column(same)[0]) >= 0
    random = np.random.default_rng(5)
    towns = np.array(["Ulm", "Bonn", "Hof"])[random.integers(0, 3, 300)]
    X = pd.DataFrame({"town": towns, "x": random.normal(size=300)})
    y, group = random.integers(0, 2, 300), random.integers(0, 2, 300)
    coded = X.assign(town=pd.Categorical(towns, categories=["Ulm", "Kiel", "Hof", "Bonn"]))
    models = [FairClassifier(random_state=0).fit(own, y, sensitive_features=group) for own in (X, coded)]
    assert (models[0].coef_ == models[1].coef_).all()
    assert models[0].model_.features == models[1].model_.features
    assert (models[0].predict_proba(coded) == models[1].predict_proba(X)).all()
    inputs = [model.onnx_inputs(own)["town"] for model, own in zip(models, (X, coded), strict=True)]
    assert (inputs[0] == inputs[1]).all()


def test_text_of_arrow_is_read_where_it_lies():
    random = np.random.default_rng(5)
    letters = np.array(list("abcdefghijkl\u00e4\u03b4\U0001f600"))
    # Words of all lengths, many of which share their first or last eight letters, and empty ones.
    words = ["".join(random.choice(letters, size)) for size in range(40) for _ in range(8)]
    words += [first + "x" * 8 for first in words[:100]] + ["x" * 8 + last for last in words[:100]]
    for kinds in (1, 200, len(words)):
        cells = random.choice(words[:kinds] + [""], 3000).astype(object)
        codes, levels = _columns.text(cells)
        for kind in ("str", "string[pyarrow]"):
            series = pd.Series(cells, dtype=kind)
            for part in (slice(None), slice(7, 2000)):
                assert _columns._lies(series[part]) is not None
                own, found = _columns.text(series[part])
                assert [*found, ""] == [*levels, ""] or part != slice(None)
                named = np.array([*found, ""], dtype=object)[own]
                assert (named == np.array([*levels, ""], dtype=object)[codes][part]).all()
                assert own.dtype == np.min_scalar_type(len(found))
    # Gaps and several pieces are read by pandas.
    gappy = pd.Series(["a", None, "b"], dtype="str")
    for series in (gappy, pd.concat([gappy, gappy]), pd.Series([], dtype="str")):
        if len(series):
            assert _columns._lies(series) is None
        assert _columns.text(series)[1] == sorted({"a", "b"} if len(series) else set())


def test_offsets_beyond_the_letters_are_refused():
    letters = np.frombuffer(b"ab\xff", dtype=np.uint8)
    for wrong in ([0, 4], [0, -1], [2, 1], [2, 3]):
        for width in (np.int32, np.int64):
            with pytest.raises(ValueError):
                _steffle.coded(np.array(wrong, dtype=width), letters)
    codes, levels = _steffle.coded(np.array([0, 1, 1, 2]), letters)
    assert (codes.tolist(), levels) == ([0, 2, 1], ["a", "b"])


def test_what_is_no_column_is_refused():
    label = ("label", (np.array([0, 1], dtype=np.uint8), ["n", "y"]))
    for wrong in [np.array([1j, 2j]), np.zeros((2, 2)), ["a", "b"], (np.array([0.5, 1.0]), ["a"])]:
        with pytest.raises(TypeError):
            _steffle.write_table("never.csv", [("x", wrong), label])
    with pytest.raises(SteffleError):
        _steffle.write_table("never.csv", [("x", np.zeros(3)), label])


@pytest.mark.parametrize("kind", [bool, np.int8, np.uint8, np.int32, np.int64, np.uint64])
@pytest.mark.parametrize("levels", [2, 100, 40_000])
def test_whole_numbers_are_told_apart_piece_by_piece(kind, levels):
    numbers = np.random.default_rng(0).integers(0, levels, 100_000).astype(kind)
    codes, unique = _columns.factorized(numbers)
    at_once, all_unique = pd.factorize(numbers)
    assert (codes == at_once).all() and (unique == all_unique).all() and unique.dtype == numbers.dtype
    assert (_columns.factorized(pd.Series(numbers))[0] == at_once).all()
