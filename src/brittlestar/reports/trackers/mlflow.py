"""The tracker MLflow."""

import itertools
import logging
import os
import time
from dataclasses import dataclass
from typing import Any

from brittlestar.reports.trackers.base import Tracker, require_package
from brittlestar.reports.trackers.sweep_log import SweepLog

_DATABASE = "sqlite:///mlflow.db"
_LONGEST_VALUE, _LONGEST_KEY, _PARAMS, _BATCH = 6000, 250, 100, 1000
"""Limits of MLflow on the value of a parameter, on a key, and on parameters and numbers of one request."""


@dataclass
class MlflowTracker(Tracker):
    """Logs a run to an experiment of a server or a database.

    `uri` is null for MLFLOW_TRACKING_URI, and without it for mlflow.db in the current folder. `name` is null for the
    name of the sweep's folder.
    """

    uri: str | None = None
    experiment: str = "brittlestar"
    name: str | None = None

    def prepare(self) -> None:
        """Raises a `UserError` if MLflow, or what its databases need, is not installed."""
        for module in ("mlflow", "sqlalchemy") if self._uri.startswith("sqlite:") else ("mlflow",):
            require_package("mlflow", module)

    @property
    def _uri(self) -> str:
        return self.uri or os.environ.get("MLFLOW_TRACKING_URI") or _DATABASE

    def log(self, sweep: SweepLog) -> str:
        """Logs parameters, numbers, pictures and files."""
        # It logs each of the steps that make a new database.
        logging.getLogger("mlflow.store.db.utils").setLevel(logging.WARNING)
        from mlflow.entities import Metric, Param
        from mlflow.tracking import MlflowClient

        client: Any = MlflowClient(self._uri)
        experiment = client.get_experiment_by_name(self.experiment)
        number = client.create_experiment(self.experiment) if experiment is None else experiment.experiment_id
        run = client.create_run(number, run_name=self.name or sweep.name).info.run_id
        texts = {key[:_LONGEST_KEY]: str(value)[:_LONGEST_VALUE] for key, value in sweep.config.items()}
        now = int(time.time() * 1000)
        summary = ((0, {f"summary/{name}": value for name, value in sweep.summary.items()}),)
        steps = itertools.chain(sweep.steps(), summary)
        metrics = (Metric(name[:_LONGEST_KEY], v, now, step) for step, numbers in steps for name, v in numbers.items())
        try:
            params = itertools.starmap(Param, texts.items())
            while part := list(itertools.islice(params, _PARAMS)):
                client.log_batch(run, params=part)
            while batch := list(itertools.islice(metrics, _BATCH)):
                client.log_batch(run, metrics=batch)
            for path in (*sweep.pictures, *sweep.files):
                folder = path.relative_to(sweep.folder).parent.as_posix()
                client.log_artifact(run, str(path), None if folder == "." else folder)
        except BaseException:
            client.set_terminated(run, "FAILED")
            raise
        client.set_terminated(run)
        return f"run {run} of experiment {self.experiment}, {self._uri}"
