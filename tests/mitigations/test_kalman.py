import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.engine.calibration import ObservationRecorder
from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.mitigations import KalmanObservation, Mitigation
from brittlestar.mitigations.kalman import ConstantVelocity
from brittlestar.perturbations import GaussianObservation, Perturbation, Step
from brittlestar.perturbations.context import Calibration, Context
from brittlestar.policies import RandomPolicy, as_policy
from brittlestar.randomness import LaneDraws
from brittlestar.schedules import Linear

BOX = spaces.Box(-9.0, 9.0, (2,))


def textbook(seen, measurement, process, speed):
    """The same filter in matrices, for one number of one lane."""
    move, look = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 0.0]])
    push = np.array([[0.5], [1.0]])
    state, spread = np.array([[seen[0]], [0.0]]), np.diag([measurement**2, speed**2])
    estimates = [seen[0]]
    for value in seen[1:]:
        state, spread = move @ state, move @ spread @ move.T + process**2 * push @ push.T
        gain = spread @ look.T / (look @ spread @ look.T + measurement**2)
        state, spread = state + gain * (value - look @ state), (np.eye(2) - gain @ look) @ spread
        estimates.append(state[0, 0])
    return estimates


def steady_share(process, measurement):
    """Variance of the estimate over that of the measurement in the long run, by the tracking index."""
    index = process / measurement
    return ((index + 4) * np.sqrt(index**2 + 8 * index) - index**2 - 8 * index) / 8


def journeys(steps, count, process, speed=0.0, seed=0):
    """Positions that move at a nearly constant speed, `(steps, 1, count)`."""
    rng = np.random.default_rng(seed)
    pushes = process * rng.standard_normal((steps, 1, count))
    speeds = speed * rng.standard_normal(count) + np.cumsum(pushes, axis=0)
    return np.cumsum(speeds - pushes / 2, axis=0)


@pytest.mark.parametrize("sizes", [(0.5, 0.1, 0.3), (1.0, 0.0, 2.0), (0.1, 3.0, 0.0), (2.0, 0.0, 0.0)])
def test_it_is_the_textbook_filter(sizes, play_one):
    seen = np.cumsum(np.random.default_rng(0).standard_normal(40))
    mitigation = KalmanObservation(
        **dict(zip(("measurement_sigma", "process_sigma", "speed_sigma"), sizes, strict=True))
    )
    estimates = play_one(mitigation, seen, "observation", dtype=np.float64)
    np.testing.assert_allclose(estimates, textbook(seen, *sizes), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("process", "measurement"), [(0.02, 1.0), (0.2, 1.0), (0.1, 0.1), (0.01, 5.0)])
def test_its_error_is_the_theoretical_minimum(process, measurement, play):
    true = journeys(700, 200, process, speed=0.5)
    seen = true + measurement * np.random.default_rng(1).standard_normal(true.shape)
    mitigation = KalmanObservation(measurement_sigma=measurement, process_sigma=process, speed_sigma=0.5)
    estimates = np.array(play(mitigation, seen, "observation"))
    errors = (estimates - true)[300:]
    share = steady_share(process, measurement)
    assert share < 0.8
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(np.sqrt(share) * measurement, rel=0.03)
    assert abs(errors.mean()) < 0.05 * measurement
    assert np.sqrt(np.mean((seen - true)[300:] ** 2)) == pytest.approx(measurement, rel=0.02)


def test_a_constant_speed_is_followed_without_lag(play_one):
    line = 0.3 * np.arange(200.0)
    estimates = play_one(
        KalmanObservation(measurement_sigma=1.0, process_sigma=0.05, speed_sigma=1.0), line, "observation"
    )
    np.testing.assert_allclose(estimates[60:], line[60:], atol=1e-3)


def test_calibration_finds_the_sizes_of_a_journey():
    true, episode = journeys(4000, 8, process=0.2)[:, 0], np.zeros(1, dtype=np.int64)
    first, second = np.diff(true, axis=0), np.diff(true, n=2, axis=0)
    assert np.sqrt(2 * np.mean(second**2)) == pytest.approx(0.2, rel=0.02)
    motion = recorded([true[:, [0]], true[:50, [0]]], episode)
    both = [np.concatenate([part[:, 0], part[:limit, 0]]) for part, limit in ((first, 49), (second, 48))]
    for values, name in zip(both, ("speed", "acceleration"), strict=True):
        np.testing.assert_allclose(getattr(motion, name)[""], np.sqrt(np.mean(values**2)), rtol=1e-9)


def recorded(episodes, lane):
    """Returns the calibration of some episodes, one after the other in one lane."""
    recorder, draws = ObservationRecorder(), LaneDraws(0, "clean", 1)
    for number, places in enumerate(episodes):
        for t, place in enumerate(places):
            draws.at(lane + number, lane + t)
            recorder.perturb_observation(place[None], Step(np.ones(1), np.array([t == 0]), draws))
    return recorder.result()


class Ask(Mitigation):
    def prepare(self, context):
        self.found = context.calibrate()


def test_the_clean_pass_measures_the_same_motion_in_any_number_of_lanes():
    results = []
    for count in (1, 4, 9):
        ask = Ask()
        policy = as_policy(lambda seen: seen[1:2])
        rollout(Lanes(EnvSpec(id="Pendulum-v1", max_steps=20), count), Parts(policy, mitigation=ask), Plan(2))
        results.append(np.concatenate([ask.found.speed[""], ask.found.acceleration[""]]))
    assert (results[0] > 0).all()
    assert results[0].tobytes() == results[1].tobytes() == results[2].tobytes()


def test_episodes_of_one_step_have_no_motion():
    motion = recorded([np.array([[3.0]]), np.array([[9.0]])], np.zeros(1, dtype=np.int64))
    assert motion.speed[""].tolist() == motion.acceleration[""].tolist() == [0.0]


MEASURED = Calibration(
    mean={"": np.zeros(2)},
    std={"": np.array([2.0, 0.5])},
    speed={"": np.array([0.3, 0.6])},
    acceleration={"": np.array([0.1, 0.4])},
)


@pytest.mark.parametrize(
    ("options", "sizes"),
    [
        ({}, (0.5, np.sqrt(2) * np.array([0.1, 0.4]), np.array([0.3, 0.6]))),
        ({"scale": "std"}, (np.array([1.0, 0.25]), np.sqrt(2) * np.array([0.1, 0.4]), np.array([0.3, 0.6]))),
        ({"scale": "std", "process_sigma": 0.1, "speed_sigma": 1.0}, tuple(np.outer([0.5, 0.1, 1.0], [2.0, 0.5]))),
        ({"process_sigma": 0.1}, (0.5, 0.1, np.array([0.3, 0.6]))),
    ],
)
def test_sizes_come_from_the_config_or_from_the_clean_pass(options, sizes, make_step):
    mitigation, reference = KalmanObservation(measurement_sigma=0.5, **options), ConstantVelocity(*sizes)
    mitigation.bind(BOX, BOX, lanes=3)
    mitigation.prepare(Context(calibrate=lambda: MEASURED))
    for t, seen in enumerate(np.random.default_rng(0).standard_normal((10, 3, 2))):
        estimates = mitigation.mitigate_observation(seen, make_step(step=t))
        np.testing.assert_allclose(estimates, reference(seen, np.full((3, 1), t == 0)), rtol=1e-12)
    assert not np.allclose(estimates, seen)


def test_numbers_alone_need_no_clean_pass():
    mitigation = KalmanObservation(measurement_sigma=0.5, process_sigma=0.1, speed_sigma=0.1)
    mitigation.prepare(Context())
    with pytest.raises(UserError, match="calibration"):
        KalmanObservation(measurement_sigma=0.5, process_sigma=0.1).prepare(Context())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measurement_sigma": -0.1}, "`measurement_sigma` must be at least 0, got -0.1"),
        ({"process_sigma": -1.0}, "`process_sigma` must be at least 0, got -1.0"),
        ({"speed_sigma": float("nan")}, "`speed_sigma` must be at least 0, got nan"),
        ({"measurement_sigma": "auto"}, "`measurement_sigma` must be a number or calibrated, got 'auto'"),
        ({"process_sigma": "calibrate"}, "`process_sigma` must be a number or calibrated, got 'calibrate'"),
        ({"scale": "sdt"}, "`scale` cannot be 'sdt'; did you mean `std`"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises((UserError, ValueError), match=message):
        KalmanObservation(**{"measurement_sigma": 0.5} | options)


class Listen(Mitigation):
    def prepare(self, context):
        self.found = context.measure_noise()


@pytest.mark.parametrize(
    ("noise", "expected"),
    [
        (GaussianObservation(sigma=0.3), [0.3, 0.3, 0.3]),
        (GaussianObservation(sigma=0.3, scale="std"), None),
        (Perturbation(), [0.0, 0.0, 0.0]),
    ],
)
def test_the_noise_is_measured_under_full_stress_in_any_number_of_lanes(noise, expected):
    results = []
    for count in (1, 3, 9):
        listen, lanes = Listen(), Lanes(EnvSpec(id="Pendulum-v1", max_steps=100), count)
        rollout(lanes, Parts(RandomPolicy(), noise, listen, Linear(warmup_steps=1000)), Plan(2))
        results.append(listen.found[""])
    assert results[0].tobytes() == results[1].tobytes() == results[2].tobytes()
    if expected is not None:
        np.testing.assert_allclose(results[0], expected, rtol=0.06)
    else:
        assert (results[0] > 0).all() and results[0][2] > 2 * results[0][0], "the spread of a speed is another one"


def test_calibrated_noise_is_removed_and_nothing_else_changes():
    noise, spec = GaussianObservation(sigma=0.3), EnvSpec(id="Pendulum-v1", max_steps=60)
    rows = {
        sigma: rollout(
            Lanes(spec, 3), Parts(RandomPolicy(), noise, KalmanObservation(measurement_sigma=sigma)), Plan(3)
        )
        for sigma in ("calibrated", 0.3)
    }
    for name in ("return", "observation_change"):
        assert np.array_equal(rows["calibrated"].column(name), rows[0.3].column(name)), "the very same noise"
    kalman = KalmanObservation(measurement_sigma="calibrated")
    clean, filtered = (rollout(Lanes(spec, 2), Parts(turner(), mitigation=m), Plan(3)) for m in (Mitigation(), kalman))
    assert np.array_equal(clean.values, filtered.values, equal_nan=True)


def turner():
    return as_policy(lambda seen: seen[1:2])


def test_noise_cannot_be_measured_outside_of_an_evaluation():
    with pytest.raises(UserError, match="`measurement_sigma: calibrated` is measured in evaluations only: give a numb"):
        KalmanObservation(measurement_sigma="calibrated", process_sigma=0.1, speed_sigma=0.1).prepare(Context())
