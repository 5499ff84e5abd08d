"""Promises of every perturbation of actions."""

import dataclasses

import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.perturbations import (
    BacklashAction,
    BiasAction,
    DeadBandAction,
    DelayedAction,
    DroppedAction,
    GaussianAction,
    MixedAction,
    PermutedAction,
    RandomAction,
    SaturatedAction,
    ScaledAction,
    StickyAction,
    SwappedAction,
    UniformAction,
)
from brittlestar.perturbations.base import scheduled_fields
from brittlestar.policies import RandomPolicy

BOX = spaces.Box(np.array([-1.0, -1.0, -2.0, 0.0], np.float32), np.array([1.0, 1.0, 3.0, 1.0], np.float32))
DISCRETE = spaces.Discrete(5)
SHIFTED = spaces.Discrete(5, start=3)
FREE = spaces.Box(-np.inf, np.inf, (4,), np.float32)

CONTINUOUS = [
    GaussianAction(sigma=0.5),
    UniformAction(width=0.5),
    BiasAction(bias=0.5),
    BiasAction(bias=0.5, draw="fixed", weights=[1, 2, 0, -1]),
    ScaledAction(loss=0.5, default_action=0.25),
    DroppedAction(p=0.5),
    DroppedAction(p=0.5, fill="hold", default_action=0.25),
    DelayedAction(delay_steps=2),
    DelayedAction(delay_steps=2, jitter_steps=2, default_action=0.5),
    DeadBandAction(width=0.5),
    DeadBandAction(width=0.5, offset=True),
    BacklashAction(width=0.5),
    StickyAction(p=0.5),
    MixedAction(mix=0.5, sigma=0.5),
    SwappedAction(swap=0.5, actuators=[0, 2]),
    SwappedAction(swap=0.5, actuators=[0, 2], how="step"),
    SwappedAction(swap=0.5, actuators=[0, 2], how="episode"),
    SaturatedAction(loss=0.5),
    RandomAction(p=0.5),
]
DISCRETES = [
    ScaledAction(loss=0.5),
    DroppedAction(p=0.5),
    DroppedAction(p=0.5, fill="hold", default_action=4),
    DelayedAction(delay_steps=2, default_action=4),
    StickyAction(p=0.5),
    RandomAction(p=0.5),
    PermutedAction(p=0.5),
    PermutedAction(p=0.5, seed=None),
]
CASES = [(part, BOX) for part in CONTINUOUS] + [(part, DISCRETE) for part in DISCRETES]
RANDOM = [
    (part, space)
    for part, space in CASES
    if not isinstance(part, (BacklashAction, DeadBandAction, SaturatedAction))
    and getattr(part, "draw", "") != "fixed"
    and getattr(part, "how", "") != "blend"
    and not (isinstance(part, DelayedAction) and not part.jitter_steps)
    and not (isinstance(part, ScaledAction) and space is BOX)
]


def commands(space, lanes=3, steps=40):
    """Actions of every lane and step, some at the bounds."""
    rng = np.random.default_rng(5)
    if isinstance(space, spaces.Discrete):
        return rng.integers(space.start, space.start + space.n, (steps, lanes))
    return np.clip(rng.normal(0, 1.5, (steps, lanes, 4)), BOX.low, BOX.high).astype(np.float32)


def play(part, actions, make_step, space, parameter=None, episodes=None, **options):
    """Returns what is sent in place of `actions`, `(steps, lanes, ...)`."""
    lanes = actions.shape[1]
    part.bind(FREE, space, lanes)
    sent = []
    for t, action in enumerate(actions):
        step = make_step(lanes, episodes=episodes, step=t, **options)
        step.parameter = parameter
        sent.append(part.perturb_action(action, step).copy())
    return np.array(sent)


@pytest.mark.parametrize(("part", "space"), CASES)
def test_it_changes_actions_and_keeps_dtype_shape_bounds_and_input(part, space, make_step):
    actions = commands(space)
    before = actions.copy()
    sent = play(part, actions, make_step, space)
    assert sent.dtype == actions.dtype
    assert sent.shape == actions.shape
    assert np.array_equal(actions, before)
    assert (sent != actions).any()
    assert all(space.contains(action) for action in sent.reshape(-1, *space.shape))


@pytest.mark.parametrize(("part", "space"), CASES)
def test_strength_zero_is_exactly_the_identity(part, space, make_step):
    actions = commands(space)
    if space is BOX:
        # A policy may leave the bounds; the environment handles that.
        actions = actions * 3
    none = dataclasses.replace(part, **{part.strength_field: 0})
    assert none.is_identity
    assert np.array_equal(play(none, actions, make_step, space), actions)
    assert np.array_equal(play(part, actions, make_step, space, level=0.0), actions)


@pytest.mark.parametrize("part", [GaussianAction(1e-9), UniformAction(1e-9), ScaledAction(1e-9), MixedAction(1e-9)])
def test_a_strength_of_nearly_zero_does_nearly_nothing_to_an_action_out_of_bounds(part, make_step):
    actions = commands(BOX).astype(np.float64) * 3
    np.testing.assert_allclose(play(part, actions, make_step, BOX), actions, atol=1e-6)


@pytest.mark.parametrize(("part", "space"), RANDOM)
def test_same_seed_same_output_other_seed_another(part, space, make_step):
    if isinstance(part, MixedAction):
        part = dataclasses.replace(part, mix=1.0)
    actions = commands(space, lanes=8)
    noise, repeated, other = (play(part, actions, make_step, space, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(noise, repeated)
    assert not np.array_equal(noise, other)


@pytest.mark.parametrize(("part", "space"), CASES)
def test_a_lane_does_not_depend_on_the_others(part, space, make_step):
    actions = commands(space, lanes=4)
    together = play(part, actions, make_step, space, episodes=[7, 3, 9, 4])
    alone = play(part, actions[:, 2:3], make_step, space, episodes=[9])
    assert np.array_equal(together[:, 2:3], alone)


@pytest.mark.parametrize(("part", "space"), CASES)
def test_a_new_episode_does_not_depend_on_the_last_one(part, space, make_step):
    actions = commands(space)
    part.bind(FREE, space, 3)
    runs = []
    for _ in range(2):
        runs.append([part.perturb_action(a, make_step(step=t)).copy() for t, a in enumerate(actions)])
    assert np.array_equal(*runs)


def numbers(part):
    for field in dataclasses.fields(part):
        if type(getattr(part, field.name)) in (int, float) and field.name != "seed":
            yield field.name


@pytest.mark.parametrize(("part", "space"), CASES)
def test_a_schedule_can_scale_every_number(part, space, make_step):
    actions = commands(space)
    for name in numbers(part):
        scheduled_fields(part, name)
        value = getattr(part, name)
        half = dataclasses.replace(part, **{name: type(value)(value / 2)})
        scheduled = play(part, actions, make_step, space, parameter=name, level=0.5)
        expected = play(half, actions, make_step, space, parameter="none")
        np.testing.assert_allclose(scheduled, expected, atol=1e-6, err_msg=name)


def test_a_schedule_does_not_scale_a_seed():
    with pytest.raises(UserError, match="MixedAction has no number 'seed'; valid: mix, sigma"):
        scheduled_fields(MixedAction(mix=1.0), "seed")


@pytest.mark.parametrize("part", [part for part in CONTINUOUS if part.kinds == (spaces.Box,)])
def test_what_needs_numbers_refuses_discrete_actions(part):
    with pytest.raises(UserError, match=rf"{type(part).__name__} needs a Box action space, got Discrete\(5\)"):
        part.bind(FREE, DISCRETE, lanes=1)


@pytest.mark.parametrize(
    ("part", "space", "message"),
    [
        (PermutedAction(p=1.0), BOX, r"PermutedAction needs a Discrete action space, got Box"),
        (RandomAction(p=1.0), spaces.MultiBinary(3), r"RandomAction needs a Box or Discrete action space, got Mult"),
        (RandomAction(p=1.0), FREE, r"RandomAction needs a Box action space with finite bounds, got Box"),
        (SaturatedAction(loss=1.0), FREE, r"SaturatedAction needs a Box action space with finite bounds, got Box"),
        (RandomAction(p=1.0), spaces.Discrete(1), r"RandomAction needs at least two actions, got Discrete\(1\)"),
        (PermutedAction(p=1.0), spaces.Discrete(1), r"PermutedAction needs at least two actions, got Discrete\(1\)"),
        (DroppedAction(p=1.0, default_action=5), DISCRETE, r"`default_action` must be an action of Discrete.*got 5"),
        (DroppedAction(p=1.0, default_action=1.5), DISCRETE, r"`default_action` must be an action of .*got 1.5"),
        (DelayedAction(delay_steps=1, default_action=[0, 0]), BOX, r"`default_action` must be an action of Box"),
        (ScaledAction(loss=1.0, default_action=-0.5), BOX, r"`default_action` must be an action of Box.*got -0.5"),
    ],
)
def test_spaces_that_make_no_sense(part, space, message):
    with pytest.raises(UserError, match=message) as caught:
        part.bind(FREE, space, lanes=1)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (UniformAction, {"width": -1}, "`width` must be at least 0, got -1"),
        (BiasAction, {"bias": float("nan")}, "`bias` must be finite, got nan"),
        (ScaledAction, {"loss": 1.1}, r"`loss` must be in \[0, 1\], got 1.1"),
        (SaturatedAction, {"loss": -0.1}, r"`loss` must be in \[0, 1\], got -0.1"),
        (DroppedAction, {"p": 2}, r"`p` must be in \[0, 1\], got 2"),
        (StickyAction, {"p": -1}, r"`p` must be in \[0, 1\], got -1"),
        (RandomAction, {"p": float("nan")}, r"`p` must be in \[0, 1\], got nan"),
        (PermutedAction, {"p": 2}, r"`p` must be in \[0, 1\], got 2"),
        (PermutedAction, {"p": 1, "seed": -1}, "`seed` must be null or at least 0, got -1"),
        (
            PermutedAction,
            {"p": 1, "permutation": [0, 1]},
            r"`permutation` must be another order of \[0, 1\], got \[0, 1",
        ),
        (
            PermutedAction,
            {"p": 1, "permutation": [1, 1]},
            r"`permutation` must be another order of \[0, 1\], got \[1, 1",
        ),
        (DelayedAction, {"delay_steps": 1.5}, "`delay_steps` must be a whole number, at least 0, got 1.5"),
        (DelayedAction, {"delay_steps": 1, "jitter_steps": -1}, "`jitter_steps` must be a whole number, .* got -1"),
        (DeadBandAction, {"width": -1}, "`width` must be at least 0, got -1"),
        (BacklashAction, {"width": -1}, "`width` must be at least 0, got -1"),
        (MixedAction, {"mix": 2}, r"`mix` must be in \[0, 1\], got 2"),
        (MixedAction, {"mix": 1, "sigma": -1}, "`sigma` must be at least 0, got -1"),
        (MixedAction, {"mix": 1, "seed": -1}, "`seed` must be at least 0, got -1"),
        (SwappedAction, {"swap": 2, "actuators": [0, 1]}, r"`swap` must be in \[0, 1\], got 2"),
        (SwappedAction, {"swap": 1, "actuators": [1, 1]}, r"`actuators` must be two different, got \[1, 1\]"),
    ],
)
def test_bad_parameters(kind, values, message):
    with pytest.raises(ValueError, match=message):
        kind(**values)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DroppedAction(p=1.0, fill="holt"), "`fill` cannot be 'holt'; did you mean `hold`"),
        (lambda: BiasAction(bias=1.0, draw="norml"), "`draw` cannot be 'norml'; did you mean `normal`"),
        (lambda: SwappedAction(1.0, [0, 1], how="blen"), "`how` cannot be 'blen'; did you mean `blend`"),
    ],
)
def test_options_that_do_not_exist(make, message):
    with pytest.raises(UserError, match=message):
        make()


@pytest.mark.parametrize("part", DISCRETES)
def test_discrete_actions_may_start_anywhere(part, make_step):
    sent = play(part, commands(SHIFTED), make_step, SHIFTED)
    assert set(np.unique(sent)) == {3, 4, 5, 6, 7}


@pytest.mark.parametrize(
    ("env_id", "part"),
    [
        ("Pendulum-v1", DelayedAction(delay_steps=2, jitter_steps=2)),
        ("Pendulum-v1", BacklashAction(width=1.0)),
        ("Pendulum-v1", DroppedAction(p=0.4, fill="hold")),
        ("CartPole-v1", StickyAction(p=0.5)),
        ("CartPole-v1", DelayedAction(delay_steps=2)),
        ("Acrobot-v1", PermutedAction(p=0.5, seed=None)),
    ],
)
def test_episodes_do_not_depend_on_the_lanes_they_run_in(env_id, part):
    spec = EnvSpec(id=env_id, max_steps=30)
    alone, together = (rollout(Lanes(spec, lanes), Parts(RandomPolicy(), part), Plan(7, seed=2)) for lanes in (1, 3))
    np.testing.assert_array_equal(alone.values, together.values)
    assert (alone.column("action_change") > 0).any()
