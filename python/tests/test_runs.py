"""Runs of Python and of the command line: each other's directories, the same bits, frames, plots."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from commands import steffle_json

import steffle
from steffle import FairClassifier

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def people():
    """4000 people whose label leans on their group, as a table."""
    random = np.random.default_rng(11)
    group = random.choice(["a", "b"], 4000)
    score = random.normal(size=4000) + (group == "a")
    return pd.DataFrame(
        {
            "score": score,
            "town": random.choice(["north", "south", None], 4000),
            "label": np.where(score + random.normal(size=4000) > 0.5, "yes", "no"),
            "group": group,
        }
    )


@pytest.mark.parametrize("method", ["steffle", "one-shot", "randomised-response", "fermi"])
def test_the_same_settings_and_seed_are_the_same_bits(people, method, tmp_path):
    people.to_csv(tmp_path / "people.csv", index=False)
    people[:200].to_csv(tmp_path / "test.csv", index=False)
    flags = ["--label", "label", "--sensitive", "group", "--classes", "a,b", "--favourable", "yes"]
    flags += ["--missing", "impute", "--rare", "0", "--method", method, "--lambda", "2", "--seed", "5"]
    flags += [] if method == "fermi" else ["--epsilon", "1"]
    files = ["--data", "people.csv", "--test", "test.csv", "--out", "run"]
    steffle_json("train", *files, *flags, cwd=tmp_path)
    model = FairClassifier(epsilon=1.0, method=method, lam=2.0, random_state=5)
    X = people[["score", "town"]]
    model.fit(X, people["label"], sensitive_features=people["group"])
    loaded = steffle.load(tmp_path / "run")
    assert (loaded.model.theta == model.model_.theta).all()
    assert (loaded.classifier.predict_proba(X) == model.predict_proba(X)).all()
    assert loaded.privacy["epsilon"] == model.privacy_["epsilon"]


def test_what_python_saves_the_command_line_reads(people, tmp_path):
    X = people[["score", "town"]]
    model = FairClassifier(random_state=0).fit(X, people["label"], sensitive_features=people["group"])
    model.save(tmp_path / "saved")
    people.to_csv(tmp_path / "people.csv", index=False)
    steffle_json("predict", "saved", "people.csv", "--output", "labels.csv", cwd=tmp_path)
    said = pd.read_csv(tmp_path / "labels.csv")
    assert (said["label"] == model.predict(X)).all()
    assert np.abs(said["probability_yes"] - model.predict_proba(X)[:, 1]).max() < 1e-15
    judged = steffle_json("evaluate", "saved", "people.csv", cwd=tmp_path)
    assert judged["accuracy"] == pytest.approx(model.score(X, people["label"]))
    again = steffle.load(tmp_path / "saved")
    assert again.frame.empty and "saved" in again._repr_html_()
    assert (again.classifier.predict(X) == model.predict(X)).all()
    with pytest.raises(ValueError, match="nothing to plot"):
        again.plot()


def test_a_run_is_a_frame_a_plot_and_a_page(tmp_path):
    steffle_json("train", "--out", "run", cwd=tmp_path)
    run = steffle.load(tmp_path / "run")
    error = run.frame.loc["error"]
    assert error["from"] < error["this model"] < error["to"]
    assert run.frame.loc["demographic-parity gap", "unconstrained"] > 0.15
    assert list(run.groups.index) == ["Female", "Male"] and len(run.trace) == 25
    page = run._repr_html_()
    assert "demographic-parity gap" in page and "nothing is protected" in page
    axes = run.plot()
    assert axes.get_ylabel() == "demographic-parity gap (points)"
    told = steffle.privacy.explain(tmp_path / "run")
    assert told["epsilon"] == 1.0
    together = steffle.privacy.add(tmp_path / "run", tmp_path / "run")
    assert 1.0 < together["epsilon"] < 2.0
    with pytest.raises(steffle.SteffleError) as refused:
        steffle.load(tmp_path / "nowhere")
    assert refused.value.code == "steffle::run::not_found"


def test_sweeps_are_those_of_the_command_line(people, tmp_path, capfd):
    settings = {"method": ["fermi", "one-shot"], "lam": [0.5, 2.0], "epsilon": 1.0, "seeds": 2}
    meaning = {"label": "label", "sensitive": "group", "classes": ["a", "b"], "favourable": "yes"}
    found = steffle.sweep(people, out=tmp_path / "ours", verbose=1, **settings, **meaning)
    assert "done" in capfd.readouterr().err
    table = next((tmp_path / "ours").glob("*.parquet"))
    flags = ["--method", "fermi,one-shot", "--lambda", "0.5,2", "--epsilon", "1", "--seeds", "2"]
    flags += ["--label", "label", "--sensitive", "group", "--classes", "a,b", "--favourable", "yes"]
    command = ["sweep", "--data", table, *flags, "--out", tmp_path / "theirs", "--dry-run"]
    assert len(steffle_json(*command)["runs"]) == 8
    from commands import steffle as program

    assert program(*command[:-1], "--json").returncode == 0
    theirs = steffle.load(tmp_path / "theirs")
    columns = [name for name in found.frame.columns if name != "seconds"]
    pd.testing.assert_frame_equal(found.frame[columns], theirs.frame[columns])
    assert len(found.frame) == 8 and not found.frame["error"].isna().any()
    labels = found.plot().get_legend_handles_labels()[1]
    assert labels == ["fermi", "one-shot"]
    assert "Privacy (none)" in found._repr_html_() and "Privacy (simulation)" in found._repr_html_()


def test_sweeps_that_cannot_be_are_exceptions(tmp_path):
    with pytest.raises(steffle.SteffleError) as refused:
        steffle.sweep("adult", method="dance", out=tmp_path / "s")
    assert refused.value.code == "steffle::config::method"
