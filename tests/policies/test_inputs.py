import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.errors import UserError
from brittlestar.policies.inputs import Inputs
from brittlestar.policies.scaling import Fit, Scaling


def box(*shape):
    return spaces.Box(-np.inf, np.inf, shape, np.float64)


def scaling(*mean):
    return Scaling(np.array(mean, dtype=float), np.full(len(mean), 4.0), epsilon=0.0, clip=5.0)


def read(inputs, observation, state=None, first=None):
    parts, state = inputs.read(observation, state, first)
    return np.concatenate(parts, axis=1), state


def test_entries_come_in_order_and_are_normalised_each_with_its_own_statistics():
    space = spaces.Dict({"achieved_goal": box(1), "desired_goal": box(1), "observation": box(2)})
    inputs = Inputs(["observation", "desired_goal"], {"observation": scaling(1, 1), "achieved_goal": scaling(0)})
    assert inputs.bind(space) == 3
    seen = {"observation": np.array([[3.0, 99.0]]), "desired_goal": np.array([[7.0]]), "achieved_goal": np.ones((1, 1))}
    assert read(inputs, seen)[0].tolist() == [[1.0, 5.0, 7.0]]


def test_without_keys_a_dict_is_sorted():
    inputs = Inputs()
    assert inputs.bind(spaces.Dict({"b": box(1), "a": box(1, 2)})) == 3
    assert read(inputs, {"b": np.ones((1, 1)), "a": np.array([[[2.0, 3.0]]])})[0].tolist() == [[2.0, 3.0, 1.0]]


def test_time_is_appended_before_normalising_and_restarts_with_each_episode():
    inputs = Inputs(scalings={"": scaling(0, 1)}, time_limit=4)
    assert inputs.bind(box(1)) == 2
    left, state = [], None
    for first in ([True, True], [False, False], [False, True], [False, False]):
        row, state = read(inputs, np.full((2, 1), 2.0), state, np.array(first))
        assert row[:, 0].tolist() == [1.0, 1.0]
        left.append((row[:, 1] * 2 + 1).tolist())
    assert left == [[1.0, 1.0], [0.75, 0.75], [0.5, 1.0], [0.25, 0.75]]


def test_frames_are_stacked_oldest_first_and_dropped_at_a_start():
    inputs = Inputs(stack=3)
    assert inputs.bind(box(1)) == 3
    rows, state = [], None
    for step, first in enumerate(([True], [False], [False], [True]), start=1):
        row, state = read(inputs, np.array([[float(step)]]), state, np.array(first))
        rows.append(row[0].tolist())
    assert rows == [[0, 0, 1], [0, 1, 2], [1, 2, 3], [0, 0, 4]]


def test_another_version_of_an_observation_is_made_to_fit_before_time_and_statistics():
    inputs = Inputs(scalings={"": scaling(0, 0, 0, 0)}, time_limit=2, fit=Fit(keep=1, width=3))
    assert inputs.bind(box(2)) == 4
    assert read(inputs, np.array([[4.0, 6.0]]), None, np.array([True]))[0].tolist() == [[2.0, 0.0, 0.0, 0.5]]


def test_choices_are_shown_one_hot():
    inputs = Inputs()
    assert inputs.bind(spaces.Discrete(3, start=1)) == 3
    assert read(inputs, np.array([1, 3]))[0].tolist() == [[1, 0, 0], [0, 0, 1]]
    assert inputs.bind(spaces.MultiDiscrete([2, 3])) == 5
    assert read(inputs, np.array([[1, 2]]))[0].tolist() == [[0, 1, 0, 0, 1]]


@pytest.mark.parametrize(
    ("inputs", "space", "message"),
    [
        (Inputs(scalings={"": scaling(0, 0)}), box(3), r"statistics have shape \(2,\), but the network has 3"),
        (Inputs(scalings={"a": scaling(0, 0)}), spaces.Dict({"a": box(3)}), r"statistics of `a` have shape \(2,\)"),
        (Inputs(["goal"]), spaces.Dict({"a": box(3)}), "takes `goal`, got observations Dict"),
        (Inputs(), spaces.Text(3), "takes rows of numbers"),
    ],
)
def test_spaces_that_do_not_fit(inputs, space, message):
    with pytest.raises(UserError, match=message):
        inputs.bind(space)


@pytest.mark.parametrize(
    ("space", "expected"),
    [
        (spaces.Box(-1, 1, (2, 3), np.float32), (2, 6)),
        (spaces.Box(0, 255, (4, 5, 3), np.uint8), (4, 5, 6)),
        (spaces.Box(0, 255, (3, 4, 5), np.uint8), (6, 4, 5)),
    ],
)
def test_frames_with_several_axes_are_stacked_as_in_stable_baselines3(space, expected):
    from stable_baselines3.common.vec_env.stacked_observations import StackedObservations

    theirs, inputs, state = StackedObservations(2, 2, space), Inputs(stack=2), None
    assert inputs.bind(space) == np.prod(expected)
    assert inputs.shape == expected
    frames = np.random.default_rng(0).integers(255, size=(3, 2, *space.shape)).astype(space.dtype)
    stacked = theirs.reset(frames[0].copy())
    for step, frame in enumerate(frames):
        if step:
            stacked, _ = theirs.update(frame, np.zeros(2, dtype=bool), [{}, {}])
        (row,), state = inputs.read(frame, state, np.full(2, step == 0))
        np.testing.assert_array_equal(row.reshape(2, *inputs.shape), stacked)
