"""Runs in the real MLflow and the real TensorBoard."""

import mlflow
import pytest
import yaml
from commands import steffle_json
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import steffle


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    place = tmp_path_factory.mktemp("tracked")
    steffle_json("train", "--out", "run", "--rounds", "3", cwd=place)
    return steffle.load(place / "run")


def test_mlflow_has_parameters_metrics_rounds_and_files(run, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri(f"file://{tmp_path / 'mlruns'}")
    mlflow.set_experiment("steffle")
    with mlflow.start_run() as active:
        steffle.tracking.log_mlflow(run.directory)
    found = mlflow.get_run(active.info.run_id)
    assert found.data.params["method"] == "steffle" and found.data.params["epsilon"] == "1.0"
    assert found.data.metrics["test/error"] == pytest.approx(run.metrics["test"]["error"])
    client = mlflow.MlflowClient()
    name = next(name for name in found.data.metrics if name.startswith("round/"))
    assert len(client.get_metric_history(active.info.run_id, name)) == 3
    assert {file.path for file in client.list_artifacts(active.info.run_id, "run")} >= {
        "run/model.safetensors",
        "run/MODEL_CARD.md",
    }


def test_tensorboard_has_metrics_and_rounds(run, tmp_path):
    steffle.tracking.log_tensorboard(run, tmp_path)
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    names = events.Tags()["tensors"]
    assert "test/error" in names and any(name.startswith("round/") for name in names)


def test_the_model_card_has_front_matter_as_hubs_read_it(run):
    _, header, _ = (run.directory / "MODEL_CARD.md").read_text().split("---\n", 2)
    told = yaml.safe_load(header)
    assert told["library_name"] == "steffle" and told["pipeline_tag"] == "tabular-classification"
    assert {"fairness", "federated-learning"} <= set(told["tags"])
    result = told["model-index"][0]["results"][0]
    assert result["task"]["type"] == "tabular-classification"
    accuracy = next(metric for metric in result["metrics"] if metric["type"] == "accuracy")
    assert accuracy["value"] == run.metrics["test"]["accuracy"]
