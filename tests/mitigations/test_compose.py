import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.mitigations import (
    ClipAction,
    ComposedMitigation,
    Ensemble,
    ExponentialObservation,
    KalmanObservation,
    LowPass,
    MedianObservation,
    Mitigation,
    RateLimitAction,
)
from brittlestar.perturbations import GaussianObservation
from brittlestar.policies import as_policy
from brittlestar.policies.base import DelegatingPolicy, StatelessPolicy
from brittlestar.policies.mlp import MlpPolicy
from brittlestar.randomness import LaneDraws

BOX = spaces.Box(-9.0, 9.0, (1,), np.float64)


def test_action_filters_apply_in_order(play_one):
    clip, limit = ClipAction(fraction=0.5), RateLimitAction(max_change=0.75)
    actions = [0.0, 1.0, 1.0, -1.0]
    assert play_one(ComposedMitigation([clip, limit]), actions, "action") == [0.0, 0.5, 0.5, -0.25]
    assert play_one(ComposedMitigation([limit, clip]), actions, "action") == [0.0, 0.5, 0.5, 0.25]


def test_observation_filters_apply_in_order(play_one):
    smooth, median = ExponentialObservation(alpha=0.5), MedianObservation(window=3)
    seen = [0.0, 0.0, 8.0, 0.0, 0.0]
    assert play_one(ComposedMitigation([median, smooth]), seen, "observation") == [0, 0, 0, 0, 0]
    assert play_one(ComposedMitigation([smooth, median]), seen, "observation") == [0, 0, 0, 2, 2]


def test_each_part_works_on_its_channel_only(play_one):
    pair = ComposedMitigation({"sensor": ExponentialObservation(alpha=0.5), "motor": LowPass(alpha=0.25)})
    assert play_one(pair, [0.0, 1.0], "observation") == [0.0, 0.5]
    assert play_one(pair, [0.0, 1.0], "action") == [0.0, 0.25]


def test_lanes_are_independent_and_episodes_forget(check_lanes):
    check_lanes(ComposedMitigation([MedianObservation(window=3), ExponentialObservation(alpha=0.4)]), "observation")
    check_lanes(ComposedMitigation([LowPass(alpha=0.5), RateLimitAction(max_change=0.2)]), "action")


def test_nothing_and_identities_are_the_identity(play):
    values = np.random.default_rng(0).uniform(-1, 1, (5, 2, 3))
    for compose in (
        ComposedMitigation([]),
        ComposedMitigation([Mitigation(), LowPass(alpha=1.0), ExponentialObservation(alpha=1.0)]),
    ):
        for channel in ("action", "observation"):
            assert np.array_equal(play(compose, values, channel), values)
    policy = as_policy(lambda seen: seen)
    assert ComposedMitigation([LowPass(alpha=0.5)]).around(policy, LaneDraws(0, "mitigation", 1)) is policy


class Named(Mitigation):
    """Wraps the policy and logs its name at each call."""

    def __init__(self, name, log):
        self.name, self.log = name, log

    def around(self, policy, draws):
        return Logged(policy, self.name, self.log)


class Logged(DelegatingPolicy):
    def __init__(self, policy, name, log):
        self._policy, self.name, self.log = policy, name, log

    def predict(self, *arguments, **masks):
        self.log.append(self.name)
        return super().predict(*arguments, **masks)


class Still(StatelessPolicy):
    def act(self, observation):
        return np.zeros_like(observation)


def test_the_first_part_is_the_outermost_around_the_policy():
    log = []
    ComposedMitigation([Named("a", log), LowPass(alpha=0.5), Named("b", log)]).around(
        Still(), LaneDraws(0, "mitigation", 1)
    ).predict(np.zeros((1, 1)))
    assert log == ["a", "b"]


class Keep(StatelessPolicy):
    def __init__(self):
        self.seen = []

    def act(self, observation):
        self.seen.append(observation.copy())
        return observation


def asked(mitigation, steps):
    """Returns the observations of the policy over some steps, `(steps, copies)`."""
    policy, draws = Keep(), LaneDraws(0, "mitigation", 1)
    mitigation.bind(BOX, BOX, lanes=1)
    around = mitigation.around(policy, draws)
    around.bind(BOX, BOX, LaneDraws(0, "policy", 1))
    for step in steps:
        draws.at(np.zeros(1, dtype=np.int64), np.array([step]))
        around.predict(np.zeros((1, 1)))
    return np.array(policy.seen).reshape(len(steps), -1)


def test_a_vote_over_votes_asks_about_different_copies_at_every_step():
    nested = ComposedMitigation({"outer": Ensemble(sigma=1.0, copies=3), "inner": Ensemble(sigma=0.1, copies=4)})
    seen = asked(nested, [0, 1, 2, 0])
    assert seen.shape == (4, 12)
    assert len(np.unique(seen[:3])) == 36
    assert np.array_equal(seen[0], seen[3])
    inner = (seen[:3].reshape(3, 3, 4) - seen[:3].reshape(3, 3, 4).mean(axis=2, keepdims=True)).reshape(9, 4)
    assert np.abs(inner).max() < 0.5
    assert len(np.unique(inner.round(9), axis=0)) == 9


def test_equal_parts_draw_different_noise():
    first, second = (asked(ComposedMitigation({name: Ensemble(sigma=1.0, copies=2)}), [0]) for name in ("a", "b"))
    assert not np.allclose(first, second)


def test_compositions_nest():
    part = Ensemble(sigma=1.0, copies=2)
    seen = asked(ComposedMitigation({"x": ComposedMitigation({"y": part})}), [0, 1, 0])
    assert np.array_equal(seen[0], seen[2])
    assert not np.allclose(seen[0], seen[1])


def test_rows_are_the_same_in_any_number_of_lanes():
    mitigation = ComposedMitigation(
        {
            "kalman": KalmanObservation(measurement_sigma=0.3, scale="std"),
            "vote": Ensemble(sigma=0.2, copies=9),
            "motor": LowPass(alpha=0.5),
        }
    )
    parts = Parts(MlpPolicy.random([3, 16, 1]), GaussianObservation(sigma=0.2), mitigation)
    rows = [rollout(Lanes(EnvSpec(id="Pendulum-v1", max_steps=30), n), parts, Plan(9)).values for n in (1, 4, 9)]
    assert rows[0].tobytes() == rows[1].tobytes() == rows[2].tobytes()
    # Each part has an effect.
    for name in mitigation.parts:
        reduced = ComposedMitigation({key: part for key, part in mitigation.parts.items() if key != name})
        fewer = rollout(
            Lanes(EnvSpec(id="Pendulum-v1", max_steps=30), 4), Parts(parts.policy, parts.perturbation, reduced), Plan(9)
        )
        assert fewer.values.tobytes() != rows[0].tobytes(), name


def test_what_is_no_mitigation_is_refused():
    with pytest.raises(UserError, match=r"`parts.b` must be a mitigation, with a `_target_`, got GaussianObservation"):
        ComposedMitigation({"a": LowPass(alpha=0.5), "b": GaussianObservation(sigma=0.1)})
    with pytest.raises(UserError, match=r"`parts.0` must be a mitigation, with a `_target_`, got 'low_pass'"):
        ComposedMitigation(["low_pass"])


def test_a_part_that_does_not_fit_is_named():
    with pytest.raises(UserError, match=r"LowPass needs a Box action space, got Discrete\(2\)"):
        ComposedMitigation([MedianObservation(window=3), LowPass(alpha=0.5)]).bind(BOX, spaces.Discrete(2), lanes=1)
