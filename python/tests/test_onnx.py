"""What onnxruntime makes of the file is what ``predict`` says."""

import numpy as np
import onnxruntime as rt
import pandas as pd
import pytest
from commands import steffle_json

import steffle
from steffle import FairClassifier


def run(file, inputs):
    session = rt.InferenceSession(file, providers=["CPUExecutionProvider"])
    return session.run(["label", "probabilities"], inputs)


def agree(model, X):
    labels, chances = run(model.to_onnx(), model.onnx_inputs(X))
    assert (labels == model.predict(X).astype(str)).all()
    assert np.abs(chances - model.predict_proba(X)).max() < 1e-6


def spoiled(X, random):
    """The same rows with cells that are missing and levels that training never saw."""
    X = X.astype({name: object for name in X.columns if X[name].dtype != float}).copy()
    for name in X.columns:
        odd = random.random(len(X)) < 0.2
        X.loc[odd, name] = np.nan if X[name].dtype == float else None
        if X[name].dtype != float:
            X.loc[random.random(len(X)) < 0.1, name] = "never seen"
            X.loc[random.random(len(X)) < 0.05, name] = ""
    return X


@pytest.fixture(scope="module")
def adult():
    return steffle.load_dataset("adult")


@pytest.mark.parametrize("model", ["logistic", "softmax", "mlp:8,4"])
@pytest.mark.parametrize("missing", ["impute", "category"])
def test_adult_is_served_as_predicted(adult, model, missing):
    random = np.random.default_rng(1)
    trained = adult.X if missing == "category" else spoiled(adult.X, random)
    fair = FairClassifier(model=model, missing=missing, rounds=3, random_state=0)
    fair.fit(trained, adult.y, sensitive_features=adult.sensitive_features)
    agree(fair, adult.X)
    agree(fair, spoiled(adult.X, random))


def test_numbers_alone_and_names_alone_and_more_labels(adult):
    random = np.random.default_rng(2)
    y = random.integers(0, 3, 12000)
    X = pd.DataFrame({"number": random.normal(size=12000) + y, "label": random.normal(size=12000)})
    group = random.choice(["a", "b"], 12000)
    numbers = FairClassifier(method="fermi", random_state=0).fit(X, y, sensitive_features=group)
    # A column may be called as an output is.
    session = rt.InferenceSession(numbers.to_onnx(), providers=["CPUExecutionProvider"])
    assert [out.name for out in session.get_outputs()] == ["label_", "probabilities"]
    labels, chances = session.run(None, numbers.onnx_inputs(X))
    assert (labels == numbers.predict(X).astype(str)).all()
    assert np.abs(chances - numbers.predict_proba(X)).max() < 1e-6
    names = FairClassifier(method="fermi", random_state=0)
    X = pd.DataFrame({"town": np.where(y > 1, "north", "south"), "?": random.choice(["?", "x"], 12000)})
    agree(names.fit(X, y, sensitive_features=group), X)


def test_runs_of_the_command_line_are_exported(tmp_path):
    """Credit Card has levels that its recipe renames."""
    steffle_json("train", "--data", "credit-card", "--out", "run", "--rounds", "2", cwd=tmp_path)
    steffle_json("export", "run", "--format", "onnx", cwd=tmp_path)
    data = steffle.load_dataset("credit-card")
    model = steffle.load(tmp_path / "run").classifier
    assert (tmp_path / "run/model.onnx").read_bytes() == model.to_onnx()
    # Raw cells, as in the file that was published: renaming is part of the model.
    X = data.X.copy()
    X.loc[:500, "EDUCATION"] = "0"
    X.loc[500:900, "MARRIAGE"] = "0"
    agree(model, X)
