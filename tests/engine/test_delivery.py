from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from brittlestar.engine.delivery import measure
from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import HarnessError
from brittlestar.perturbations import (
    ComposedPerturbation,
    GaussianObservation,
    InvertedReward,
    MaskObservation,
    ObservationPerturbation,
    Perturbation,
    RewardNoise,
    Scheduled,
    ValenceInversion,
)
from brittlestar.policies import RandomPolicy, as_policy
from brittlestar.schedules import Phases, StepSchedule


@dataclass
class Broken(ObservationPerturbation):
    """Claims a strength and does nothing."""

    strength_field: ClassVar[str] = "amount"
    amount: float = 1.0

    def perturb(self, array, step):
        return array.copy()


@dataclass
class Boastful(Broken):
    """Does nothing, and reports an effect."""

    def perturb(self, array, step):
        step.report_effect("masked_fraction", np.full(len(array), 0.5))
        return array.copy()


@dataclass
class SwappedReward(Perturbation):
    """Changes what a learner sees, and reports it."""

    strength_field: ClassVar[str] = "amount"
    amount: float = 1.0

    def perturb_reward(self, reward, step):
        step.report_effect("swapped", np.full(len(reward), 0.5))
        return reward - 2 * reward * step.of(self, "amount", reward)


def roll(perturbation, episodes=3):
    lanes = Lanes(EnvSpec(id="Pendulum-v1", max_steps=10), 2)
    return rollout(lanes, Parts(as_policy(lambda o: np.zeros(1)), perturbation), Plan(episodes))


def test_noise_that_changes_nothing_is_an_error():
    with pytest.raises(HarnessError, match=r"Broken with amount = 1.0 changed nothing"):
        measure(Broken(), roll(Broken()))


def test_what_a_perturbation_reports_of_itself_proves_nothing():
    with pytest.raises(HarnessError, match=r"Boastful with amount = 1.0 changed nothing: no observation"):
        measure(Boastful(), roll(Boastful()))


def test_masking_numbers_that_are_zero_counts_as_no_change():
    mask = MaskObservation(p=1.0, kind="group", groups={"contacts": [27, 28]})
    lanes = Lanes(EnvSpec(id="Ant-v5", max_steps=3), 1)
    rows = rollout(lanes, Parts(RandomPolicy(), mask), Plan(1))
    assert rows.effects["masked_fraction"].all()
    with pytest.raises(HarnessError, match="MaskObservation with p = 1.0 changed nothing"):
        measure(mask, rows)


def test_a_schedule_that_never_starts_is_named_as_the_reason():
    noise, late = GaussianObservation(sigma=0.1), StepSchedule(onset_step=10)
    lanes = Lanes(EnvSpec(id="Pendulum-v1", max_steps=10), 2)
    rows = rollout(lanes, Parts(RandomPolicy(), noise, schedule=late), Plan(3))
    with pytest.raises(
        HarnessError, match="nothing: the schedule StepSchedule does not start within 3 episodes of these"
    ):
        measure(noise, rows, late)


def test_a_broken_part_of_a_composition_is_named():
    pair = ComposedPerturbation({"sensor": GaussianObservation(sigma=0.1), "second": Broken()})
    with pytest.raises(HarnessError, match="the part `second` of the composition changed nothing"):
        measure(pair, roll(pair))


def test_parts_report_the_share_of_the_steps_in_which_they_acted():
    late = Scheduled(GaussianObservation(sigma=0.1), StepSchedule(onset_step=5))
    both = ComposedPerturbation({"always": GaussianObservation(sigma=0.1), "late": late})
    measured = measure(both, roll(both))
    assert measured["delivered/always"] == 1.0
    assert measured["delivered/late"] == 0.5


def test_a_changed_reward_counts_and_reported_effects_are_recorded():
    rows = roll(SwappedReward())
    measured = measure(SwappedReward(), rows)
    assert measured["swapped"] == 0.5
    assert measured["reward_change"] > 0
    np.testing.assert_allclose(rows.column("return_observed"), -rows.column("return"))


def test_a_reward_that_changes_late_counts():
    lanes = Lanes(EnvSpec(id="Pendulum-v1", max_steps=10), 2)
    late = Phases(pre=4, shock=2)
    for change in (InvertedReward(1.0), RewardNoise(scale=0.5), ValenceInversion(1.0)):
        rows = rollout(lanes, Parts(RandomPolicy(), change, schedule=late), Plan(8))
        assert measure(change, rows, late)["reward_change"] > 0


def test_the_identity_needs_no_effect():
    measured = measure(Perturbation(), roll(Perturbation()))
    assert not any(measured.values())
