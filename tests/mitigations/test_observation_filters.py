import math

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
    ExponentialObservation,
    HoldLastObservation,
    KalmanObservation,
    MedianObservation,
    MovingAverageObservation,
)
from brittlestar.perturbations import ObservationPerturbation
from brittlestar.policies import as_policy

NAN = math.nan
BOX = spaces.Box(-9.0, 9.0, (2,), np.float32)
GOALS = spaces.Dict({"observation": BOX, "achieved_goal": BOX, "mode": spaces.Discrete(3)})


def kalman(**options):
    return KalmanObservation(**{"measurement_sigma": 0.5, "process_sigma": 0.1, "speed_sigma": 0.2} | options)


def filters(**options):
    return [
        MovingAverageObservation(window=9, **options),
        MedianObservation(window=4, **options),
        ExponentialObservation(alpha=0.3, **options),
        HoldLastObservation(missing=0.0, **options),
        kalman(**options),
    ]


@pytest.mark.parametrize(
    ("mitigation", "seen", "expected"),
    [
        (MovingAverageObservation(window=2), [1, 4, 0, 2], [1, 2.5, 2, 1]),
        (MedianObservation(window=3), [1, 9, 2, 2, -9], [1, 5, 2, 2, 2]),
        (MedianObservation(window=4), [4, 1, 3, 2, 9], [4, 2.5, 3, 2.5, 2.5]),
        (ExponentialObservation(alpha=0.5), [4, 0, 0], [4, 2, 1]),
        (HoldLastObservation(missing="zero"), [3, 0, 0, 2, 0], [3, 3, 3, 2, 2]),
        (HoldLastObservation(missing="zero"), [0, NAN], [0, NAN]),
        (HoldLastObservation(missing="nan"), [NAN, 3, NAN, 0], [0, 3, 3, 0]),
        (HoldLastObservation(missing=-0.1), [-0.1, 3, -0.1, 0], [0, 3, 3, 0]),
        (HoldLastObservation(missing=NAN), [1, NAN], [1, 1]),
    ],
)
def test_table(mitigation, seen, expected, play_one):
    np.testing.assert_allclose(play_one(mitigation, seen, "observation"), expected)


@pytest.mark.parametrize(
    "mitigation",
    [
        MovingAverageObservation(window=1),
        MedianObservation(window=1),
        ExponentialObservation(alpha=1.0),
        HoldLastObservation(missing=77.0),
        kalman(measurement_sigma=0.0),
        kalman(measurement_sigma=0.0, process_sigma=0.0, speed_sigma=0.0),
    ],
)
def test_identity(mitigation, play):
    seen = np.random.default_rng(0).standard_normal((30, 3, 4)).astype(np.float32)
    assert np.array(play(mitigation, seen, "observation")).tobytes() == seen.tobytes()


@pytest.mark.parametrize("mitigation", filters())
@pytest.mark.parametrize("shape", [(1,), (3,), (2, 4)])
def test_lanes_are_independent_and_episodes_forget(mitigation, shape, check_lanes):
    check_lanes(mitigation, "observation", shape)


def test_no_whole_number_is_a_fraction(play_one):
    assert play_one(HoldLastObservation(missing=0.5), [7, 0, 1], "observation", dtype=np.int64) == [7, 0, 1]


@pytest.mark.parametrize("mitigation", filters(keys=["observation", "achieved_goal"]))
def test_each_key_has_a_past_of_its_own(mitigation, play):
    rng = np.random.default_rng(0)
    plain = {key: rng.standard_normal((20, 3, 2)).astype(np.float32) for key in ("observation", "achieved_goal")}
    mode = np.array([1, 0, 2])
    seen = [{key: array[t] for key, array in plain.items()} | {"mode": mode} for t in range(20)]
    outputs = play(mitigation, seen, "observation", space=GOALS)
    for key, array in plain.items():
        assert np.array_equal([row[key] for row in outputs], play(mitigation, array, "observation", space=BOX)), key
    assert list(outputs[0]) == list(seen[0])
    assert all(row["mode"] is mode for row in outputs)


@pytest.mark.parametrize("mitigation", filters())
def test_other_keys_pass_and_what_came_in_is_not_changed(mitigation, play):
    seen = [{"observation": np.full((1, 2), float(t)), "achieved_goal": np.full((1, 2), 3.0)} for t in range(5)]
    outputs = play(mitigation, seen, "observation", space=GOALS)
    assert all(after["achieved_goal"] is before["achieved_goal"] for before, after in zip(seen, outputs, strict=True))
    assert [row["observation"][0, 0] for row in seen] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("mitigation", "last"),
    # The speed of the first steps would carry the estimate to about 280.
    [(MovingAverageObservation(window=3), 234), (kalman(measurement_sigma=5.0, speed_sigma=50.0), 255)],
)
def test_whole_numbers_are_rounded_and_stay_in_range(mitigation, last, play_one):
    seen = [100, 150, 201, 245, 255]
    outputs = play_one(mitigation, seen, "observation", dtype=np.uint8, space=spaces.Box(0, 255, (1,), np.uint8))
    assert outputs[-1] == last
    assert outputs[0] == 100


def test_an_average_of_white_noise_keeps_one_part_of_its_variance(play):
    noise = np.random.default_rng(0).standard_normal((2000, 4, 25))
    for window in (2, 5, 10):
        outputs = np.array(play(MovingAverageObservation(window=window), noise, "observation"))[window:]
        assert np.var(outputs) == pytest.approx(1 / window, rel=0.04)


def test_an_exponential_average_of_white_noise_keeps_its_share_of_the_variance(play):
    noise = np.random.default_rng(0).standard_normal((2000, 4, 25))
    for alpha in (0.2, 0.5):
        outputs = np.array(play(ExponentialObservation(alpha=alpha), noise, "observation"))[40:]
        assert np.var(outputs) == pytest.approx(alpha / (2 - alpha), rel=0.04)


def test_a_median_removes_isolated_spikes(play):
    rng, line = np.random.default_rng(0), np.linspace(0, 1, 200)[:, None, None].repeat(3, axis=2)
    spiky = line.copy()
    places = 3 * rng.choice(66, 30, replace=False) + 1
    spiky[places] += 50 * rng.choice([-1, 1], (30, 1, 3))
    for seen in (line, spiky):
        outputs = np.array(play(MedianObservation(window=3), seen, "observation"))
        assert np.abs(outputs - line)[2:].max() < 3 * (line[1, 0, 0] - line[0, 0, 0])
    assert np.abs(np.array(play(MovingAverageObservation(window=3), spiky, "observation")) - line).max() > 10


class Gap(ObservationPerturbation):
    """Removes every number at odd steps."""

    strength = 1.0

    def perturb(self, array, step):
        return np.where((step.draws.steps % 2 == 1)[:, None], np.nan, array)


def test_a_rollout_refuses_missing_numbers_unless_they_are_filled():
    lanes, policy = Lanes(EnvSpec(id="Pendulum-v1", max_steps=6), 2), as_policy(lambda seen: seen[:1])
    rows = rollout(lanes, Parts(policy, Gap(), HoldLastObservation(missing="nan")), Plan(3))
    assert np.isfinite(rows.column("return")).all()
    with pytest.raises(UserError, match=r"the perturbed observation is not a number \(nan\) at episode 0, step 1"):
        rollout(lanes, Parts(policy, Gap(), ExponentialObservation(alpha=0.5)), Plan(3))


@pytest.mark.parametrize("mitigation", filters())
def test_what_holds_no_numbers_is_refused(mitigation):
    name = type(mitigation).__name__
    with pytest.raises(UserError, match=rf"{name} needs a Box observation, the observation is Discrete\(4\)"):
        mitigation.bind(spaces.Discrete(4), BOX, lanes=1)


@pytest.mark.parametrize("mitigation", filters(keys=["mode"]))
def test_an_entry_without_numbers_is_refused(mitigation):
    with pytest.raises(UserError, match=r"needs a Box observation, `mode` is Discrete\(3\)"):
        mitigation.bind(GOALS, BOX, lanes=1)


@pytest.mark.parametrize("mitigation", filters(keys=["achived_goal"]))
def test_an_unknown_key_gets_the_nearest_name(mitigation):
    with pytest.raises(UserError, match="no entry of the observation: achived_goal; did you mean `achieved_goal`"):
        mitigation.bind(GOALS, BOX, lanes=1)


@pytest.mark.parametrize(
    ("kind", "field", "value", "bound"),
    [
        (MovingAverageObservation, "window", 0, "at least 1"),
        (MedianObservation, "window", -1, "at least 1"),
        (ExponentialObservation, "alpha", 0.0, r"in \(0, 1\]"),
        (ExponentialObservation, "alpha", 1.1, r"in \(0, 1\]"),
    ],
)
def test_bad_parameters(kind, field, value, bound):
    with pytest.raises(ValueError, match=f"`{field}` must be {bound}, got {value}"):
        kind(**{field: value})


@pytest.mark.parametrize(("missing", "meant"), [("zreo", "did you mean `zero`"), (True, "valid: nan, zero")])
def test_an_unknown_kind_of_missing_gets_the_nearest_name(missing, meant):
    with pytest.raises(UserError, match=rf"`missing` must be zero, nan or a number, got {missing!r}; {meant}"):
        HoldLastObservation(missing=missing)
