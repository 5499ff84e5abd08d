import importlib.util

import pytest

from brittlestar.errors import UserError
from brittlestar.reports.trackers.base import Tracker
from brittlestar.reports.trackers.mlflow import MlflowTracker
from brittlestar.reports.trackers.tensorboard import TensorBoardTracker
from brittlestar.reports.trackers.wandb import WandbTracker


@pytest.mark.parametrize(
    ("tracker", "module"),
    [
        (TensorBoardTracker(), "tensorboard"),
        (WandbTracker(mode="offline"), "wandb"),
        (MlflowTracker(uri="http://localhost"), "mlflow"),
        (MlflowTracker(), "sqlalchemy"),
    ],
)
def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch, tracker, module):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == module else object())
    extra = "mlflow" if module == "sqlalchemy" else module
    with pytest.raises(UserError) as error:
        tracker.prepare()
    assert str(error.value) == f"`tracker={extra}` needs the package {module}: pip install 'brittlestar[{extra}]'"


def test_no_tracker_logs_nothing(sweep):
    assert Tracker().log(sweep) == ""
