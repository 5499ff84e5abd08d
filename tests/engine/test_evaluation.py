"""The one evaluation call: who closes the lanes, and what the rows depend on."""

import numpy as np
import pytest

from brittlestar.engine import evaluation
from brittlestar.engine.evaluation import make_lanes, run_episodes
from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.perturbations import GaussianObservation
from brittlestar.perturbations.context import Calibration
from brittlestar.policies import RandomPolicy

SPEC = EnvSpec(id="CartPole-v1", max_steps=20, lanes=4, backend="gymnasium")


@pytest.fixture
def closed(monkeypatch):
    closed, close = [], Lanes.close
    monkeypatch.setattr(Lanes, "close", lambda lanes: closed.append(lanes) or close(lanes))
    return closed


class BrokenPolicy(RandomPolicy):
    def predict(self, *args, **kwargs):
        raise RuntimeError("broken")


def test_lanes_that_it_makes_are_closed(closed):
    run_episodes(SPEC, Parts(RandomPolicy()), Plan(3))
    assert len(closed) == 1


def test_lanes_that_it_makes_are_closed_on_an_error(closed):
    with pytest.raises(RuntimeError, match="broken"):
        run_episodes(SPEC, Parts(BrokenPolicy()), Plan(3))
    assert len(closed) == 1


def test_open_lanes_remain_open_and_give_the_same_rows(closed):
    lanes = make_lanes(SPEC, 1)
    rows = [run_episodes(lanes, Parts(RandomPolicy()), Plan(6), lanes=count).values for count in (None, 1, 6)]
    assert not closed and lanes.count == 6
    rows.append(run_episodes(SPEC, Parts(RandomPolicy()), Plan(6)).values)
    assert len({each.tobytes() for each in rows}) == 1


def test_lanes_end_their_episodes_together(monkeypatch):
    counts = []
    monkeypatch.setattr(evaluation, "rollout", lambda lanes, *_: counts.append(lanes.count))
    for episodes in (3, 6, 9):
        run_episodes(SPEC, Parts(RandomPolicy()), Plan(episodes))
    assert counts == [3, 3, 3]


def test_a_calibration_replaces_the_clean_pass():
    unit = Calibration({"": np.zeros(4)}, {"": np.ones(4)})
    absolute, scaled = (GaussianObservation(0.1, scale=scale) for scale in ("absolute", "std"))
    lanes = make_lanes(SPEC, 1)
    rows = run_episodes(lanes, Parts(RandomPolicy(), scaled), Plan(4), calibration=unit)
    assert not lanes.calibrations
    assert rows.values.tobytes() == run_episodes(lanes, Parts(RandomPolicy(), absolute), Plan(4)).values.tobytes()
