import numpy as np
import pytest
from gymnasium import spaces
from samples import bound

from brittlestar.errors import UserError
from brittlestar.policies.inputs import Inputs
from brittlestar.policies.mlp import MlpPolicy
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
    assert inputs.shape_of() == expected
    frames = np.random.default_rng(0).integers(255, size=(3, 2, *space.shape)).astype(space.dtype)
    stacked = theirs.reset(frames[0].copy())
    for step, frame in enumerate(frames):
        if step:
            stacked, _ = theirs.update(frame, np.zeros(2, dtype=bool), [{}, {}])
        (row,), state = inputs.read(frame, state, np.full(2, step == 0))
        np.testing.assert_array_equal(row.reshape(2, *inputs.shape_of()), stacked)


GOALS = spaces.Dict({"achieved_goal": box(1), "desired_goal": box(1), "observation": box(2)})


def goals(value):
    return {"achieved_goal": np.full((1, 1), 9.0), "desired_goal": np.full((1, 1), 8.0), "observation": value}


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["achieved_goal", "desired_goal", "observation"], [[9, 8, 1, 1, 1], [9, 8, 1, 1, 0.75]]),
        (["observation", "desired_goal"], [[1, 1, 1, 8], [1, 1, 0.75, 8]]),
    ],
)
def test_the_time_of_a_dict_follows_its_entry_observation(keys, expected):
    inputs, rows, state = Inputs(keys, time_limit=4), [], None
    assert inputs.bind(GOALS) == len(expected[0])
    for first in ([True], [False]):
        row, state = read(inputs, goals(np.ones((1, 2))), state, np.array(first))
        rows.append(row[0].tolist())
    assert rows == expected


def test_the_statistics_of_a_dict_cover_the_time():
    inputs = Inputs(["observation", "desired_goal"], {"observation": scaling(1, 1, 0)}, time_limit=4)
    assert inputs.bind(GOALS) == 4
    assert read(inputs, goals(np.full((1, 2), 3.0)), None, np.array([True]))[0].tolist() == [[1.0, 1.0, 0.5, 8.0]]
    mean, std = inputs.statistics_of(GOALS)["observation"]
    assert (mean.tolist(), std.tolist()) == ([1.0, 1.0], [2.0, 2.0])
    whole = Inputs(["observation", "desired_goal"], {"": scaling(1, 2, 0, 5)}, time_limit=4)
    assert whole.bind(GOALS) == 4
    assert whole.statistics_of(GOALS)["desired_goal"][0].tolist() == [5.0]


def test_the_gradient_passes_by_the_time_and_the_older_frames():
    inputs = Inputs(["observation", "desired_goal"], {"observation": scaling(1, 1, 0)}, time_limit=4, stack=2)
    assert inputs.bind(GOALS) == 8
    seen, start = goals(np.full((1, 2), 3.0)), np.array([True])
    slopes = inputs.pull(np.arange(8.0)[None], seen, None, start)
    assert {key: slope.tolist() for key, slope in slopes.items()} == {
        "observation": [[3 / 2, 4 / 2]],
        "desired_goal": [[7.0]],
    }


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (Inputs(["desired_goal"], time_limit=4), r"the remaining time \(`policy.time_limit`\) needs an entry"),
        (Inputs(time_limit=4, fit=Fit(2, 3)), "needs an entry `observation` without an adapter that cuts or pads"),
    ],
)
def test_a_dict_without_a_place_for_the_time_is_refused(inputs, message):
    with pytest.raises(UserError, match=message):
        inputs.bind(GOALS)


def test_the_frames_of_a_dict_are_stacked_as_in_stable_baselines3():
    from stable_baselines3.common.vec_env.stacked_observations import StackedObservations

    space = spaces.Dict({"b": box(2), "a": box(2, 3)})
    theirs, inputs, state = StackedObservations(2, 3, space), Inputs(stack=3), None
    assert inputs.bind(space) == 3 * 8
    rng = np.random.default_rng(0)
    for step in range(4):
        frame = {key: rng.standard_normal((2, *part.shape)) for key, part in space.items()}
        copies = {key: values.copy() for key, values in frame.items()}
        stacked = theirs.reset(copies) if step == 0 else theirs.update(copies, np.zeros(2, dtype=bool), [{}, {}])[0]
        row, state = read(inputs, frame, state, np.full(2, step == 0))
        np.testing.assert_array_equal(row, np.concatenate([stacked[key].reshape(2, -1) for key in "ab"], axis=1))


def test_statistics_of_one_frame_normalise_it_before_it_is_stacked():
    inputs = Inputs(scalings={"": scaling(1, 1)}, stack=2)
    assert inputs.bind(box(2)) == 4
    row, state = read(inputs, np.array([[3.0, 5.0]]), None, np.array([True]))
    assert row.tolist() == [[0.0, 0.0, 1.0, 2.0]]
    assert read(inputs, np.array([[1.0, 1.0]]), state, np.array([False]))[0].tolist() == [[1.0, 2.0, 0.0, 0.0]]
    assert inputs.statistics_of(box(2))[""][0].tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("size", "hint"),
    [
        (3, "TimeFeatureWrapper? `policy=sb3` takes `policy.time_limit`, and `policy=zoo_folder` reads it"),
        (8, "4 stacked frames? `policy=sb3` takes `policy.frame_stack=4`"),
        (7, ""),
    ],
)
def test_a_network_that_takes_more_numbers_gets_a_hint(size, hint):
    policy = MlpPolicy([(np.zeros((size, 1)), np.zeros(1))])
    with pytest.raises(UserError) as caught:
        bound(policy, box(2), spaces.Box(-1, 1, (1,)))
    assert str(caught.value).startswith(f"the network takes {size} numbers, got 2 of Box")
    assert hint in str(caught.value)
    assert ("trained with" in str(caught.value)) == bool(hint)
