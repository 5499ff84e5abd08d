"""The numbers that stay of an episode, from a trajectory and step by step."""

import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.engine.behaviour import Behaviour, Layout, describe_episode
from brittlestar.engine.behaviour_recorder import BehaviourRecorder
from brittlestar.errors import UserError


def one(layout, actions, rewards=None, seen=None) -> Behaviour:
    rewards = np.ones(len(actions)) if rewards is None else np.asarray(rewards, dtype=float)
    seen = rewards if seen is None else np.asarray(seen, dtype=float)
    return Behaviour(layout, describe_episode(layout, np.asarray(actions), rewards, seen, (0.0, 0.0))[None])


def test_the_row_of_discrete_actions_is_as_computed_by_hand():
    got = one(Layout(actions=3), [0, 0, 2, 2, 2, 0], rewards=[1, 2, 3, 4, 5, 6], seen=[-1, -2, -3, -4, -5, -6])
    assert got.column("length") == 6 and got.column("return") == 21 and got.column("return_seen") == -21
    assert got.column("roughness") == pytest.approx(2 / 5)
    assert got.column("entropy") == pytest.approx(1, abs=1e-8)
    assert got.block("entry")[0] == pytest.approx([1 / 2, 0, 1 / 2, 2 / 5])
    # Halves 0 0 2 and 2 2 0: shares 2/3 0 1/3 and 1/3 0 2/3, one change of two each.
    assert got.block("change")[0] == pytest.approx([1 / 3, 0, 1 / 3, 0])
    assert got.block("signature")[0] == pytest.approx([1, 1, 0.4, -3.5, np.std([1, 2, 3, 4, 5, 6])])


def test_the_row_of_action_vectors_is_as_computed_by_hand():
    got = one(Layout(size=2), [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [1.0, 4.0]])
    # Second differences (-2, 0) and (2, 4).
    assert got.column("roughness") == pytest.approx((2 + np.sqrt(20)) / 2)
    assert got.block("entry")[0] == pytest.approx([0.5, 1.0, 0.5, np.std([0, 0, 0, 4]), 2.0, 2.0])
    assert got.block("change")[0] == pytest.approx([0, 2, 0, 2, 0, 0])
    assert got.block("signature")[0] == pytest.approx([0.5, 1.0, 0.5, np.sqrt(3), (2 + np.sqrt(20)) / 2, 1, 0])


@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.parametrize("layout", [Layout(actions=4), Layout(size=1), Layout(size=3)])
def test_the_shortest_episodes_have_numbers(layout, steps, rng):
    actions = rng.integers(4, size=steps) if layout.actions else rng.normal(size=(steps, layout.size))
    got = one(layout, actions)
    assert np.isfinite(got.values).all()
    if steps == 1:
        assert not got.block("change").any() and got.column("roughness") == 0 == got.column("entropy")


def test_discrete_actions_may_start_above_zero(rng):
    actions = rng.integers(3, size=50)
    plain, moved = one(Layout(actions=3), actions), one(Layout(actions=3, start=5), actions + 5)
    assert (plain.block("entry") == moved.block("entry")).all()
    assert moved.block("signature")[0, 0] == pytest.approx(plain.block("signature")[0, 0] + 5)


def test_choices_that_count_from_zero_have_a_place_of_their_own(rng):
    actions = rng.integers(3, size=50)
    plain, moved = one(Layout(actions=3), actions), one(Layout(actions=3, start=1), actions)
    assert plain.block("entry")[0, :3].tolist() == np.roll(moved.block("entry")[0, :3], 1).tolist()
    for name in ("entropy", "roughness", "digest"):
        assert plain.column(name) == moved.column(name)
    assert (plain.block("signature") == moved.block("signature")).all()


def test_other_actions_have_another_digest(rng):
    layout, actions = Layout(size=2), rng.normal(size=(30, 2))
    other = actions.copy()
    other[17, 1] = np.nextafter(other[17, 1], 9)
    digests = [one(layout, values).column("digest")[0] for values in (actions, actions.copy(), other, actions[:-1])]
    assert digests[0] == digests[1] and len({*digests}) == 3
    assert all(digest == int(digest) < 2**48 for digest in digests)


@pytest.mark.parametrize(
    ("space", "layout"),
    [
        (spaces.Discrete(4, start=-1), Layout(actions=4, start=-1)),
        (spaces.Box(-1, 1, (2, 3)), Layout(size=6)),
        (spaces.MultiDiscrete([3, 3]), Layout(size=2)),
    ],
)
def test_layout_of_a_space(space, layout):
    assert Layout.of(space) == layout


def test_unsupported_actions_are_refused_with_the_valid_kinds():
    with pytest.raises(UserError, match="a record of behaviour needs Box, Discrete, .* actions, got Text"):
        Layout.of(spaces.Text(3))


@pytest.mark.parametrize("stressed", ["never", "always", "later"])
@pytest.mark.parametrize("kind", ["discrete", "vectors"])
@pytest.mark.parametrize("lanes", [1, 3, 5])
def test_step_by_step_is_bit_for_bit_the_trajectory(kind, lanes, stressed, rng):
    """Lanes that start and end at different times, idle at the end, with an episode that outgrows the buffer."""
    layout = Layout(actions=3) if kind == "discrete" else Layout(size=2)
    lengths = [7, 1, 700, 2, 30, 3, 12, 300]
    episodes = []
    for i, steps in enumerate(lengths):
        actions = rng.integers(3, size=steps) if layout.actions else rng.normal(size=(steps, 2)).astype(np.float32)
        rewards = rng.normal(size=steps)
        changed = stressed == "always" or (stressed == "later" and i >= 4)
        episodes.append((actions, rewards, -rewards if changed else rewards, rng.random((2, steps))))
    recorder = BehaviourRecorder(layout, len(episodes), lanes)
    waiting, at = list(range(len(episodes))), np.zeros(lanes, dtype=int)
    running = {lane: waiting.pop(0) for lane in range(lanes)}
    for lane in running:
        recorder.begin(lane)
    while running:
        actions = np.zeros((lanes, *episodes[0][0].shape[1:]), dtype=episodes[0][0].dtype)
        rewards, seen = np.full(lanes, np.nan), np.full(lanes, np.nan)
        sums = np.zeros((2, lanes))
        for lane, episode in running.items():
            step = at[lane]
            actions[lane], rewards[lane], seen[lane] = (values[step] for values in episodes[episode][:3])
            sums[:, lane] = episodes[episode][3][:, step]
        recorder.update(actions, rewards, rewards if np.array_equal(rewards, seen, equal_nan=True) else seen)
        recorder.account(*sums)
        at += 1
        for lane, episode in list(running.items()):
            if at[lane] == lengths[episode]:
                recorder.keep(lane, episode)
                del running[lane]
                at[lane] = 0
                if waiting:
                    running[lane] = waiting.pop(0)
                    recorder.begin(lane)
    for row, (actions, rewards, seen, sums) in zip(recorder.behaviour.values, episodes, strict=True):
        totals = tuple(float(np.add.accumulate(values)[-1]) for values in sums)
        assert row.tolist() == describe_episode(layout, actions, rewards, seen, totals).tolist()
