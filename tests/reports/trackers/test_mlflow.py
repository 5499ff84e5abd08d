import pytest

from brittlestar.reports.trackers.mlflow import MlflowTracker

pytest.importorskip("mlflow", reason="MLflow is not installed")
pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_run_in_sqlite_holds_config_numbers_pictures_and_files(sweep, tmp_path, monkeypatch):
    from mlflow.tracking import MlflowClient

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    tracker = MlflowTracker()
    tracker.prepare()
    place = tracker.log(sweep)
    client = MlflowClient("sqlite:///mlflow.db")
    experiment = client.get_experiment_by_name("brittlestar")
    (run,) = client.search_runs([experiment.experiment_id])
    assert place == f"run {run.info.run_id} of experiment brittlestar, sqlite:///mlflow.db"
    assert (run.info.run_name, run.info.status) == ("my_sweep", "FINISHED")
    assert run.data.params["perturbation.sigma"] == "[0.0, 0.1, 0.2]"
    history = client.get_metric_history(run.info.run_id, "cell/success_any")
    assert [(m.step, m.value) for m in history] == [(i, cell["success_any"]) for i, cell in enumerate(sweep.cells)]
    history = client.get_metric_history(run.info.run_id, "curve/_b_/success_final")
    assert [(m.step, m.value) for m in history] == [(0, 1.0), (1, 0.5), (2, 0.0)]
    assert run.data.metrics["summary/_b_/success_final/auc"] == sweep.summary["_b_/success_final/auc"]
    artifacts = {item.path for item in client.list_artifacts(run.info.run_id)}
    assert artifacts == {"curve.png", "report.md", "report.html", "summary.csv", "gate.json", "films"}
    second = tracker.log(sweep)
    assert second != place and len(client.search_runs([experiment.experiment_id])) == 2
