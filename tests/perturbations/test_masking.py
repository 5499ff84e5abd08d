import gymnasium as gym
import numpy as np
import pytest
import yaml
from gymnasium import spaces

from brittlestar import PerturbedEnv
from brittlestar.config import config_folder
from brittlestar.config.build import load
from brittlestar.engine import delivery
from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import HarnessError, UserError
from brittlestar.perturbations import (
    ComposedPerturbation,
    GaussianObservation,
    MaskObservation,
    Perturbation,
    Scheduled,
)
from brittlestar.perturbations.context import Calibration, Context
from brittlestar.perturbations.masking import channel_mask
from brittlestar.perturbations.step import Step
from brittlestar.policies import Policy, RandomPolicy, as_policy
from brittlestar.policies.inputs import Inputs
from brittlestar.policies.mlp import MlpPolicy
from brittlestar.policies.scaling import Scaling
from brittlestar.randomness import LaneDraws
from brittlestar.schedules import Constant, Linear

SIZE = 10
BOX = spaces.Box(-np.inf, np.inf, (SIZE,))
ONES = np.ones((40, 300, SIZE))
GROUPS = {"arm": [0, 1, 2], "leg": [3, 4], "eye": [9], "ear": [7, 8]}
MOMENTS = Calibration({"": np.arange(SIZE) + 100.0}, {"": np.arange(SIZE) / 2.0})


def variance(p, r, size):
    """Variance of the number of zeros in a step with `random`; the other kinds vary less."""
    return p * size * r * (1 - r) + p * (1 - p) * (r * size) ** 2


def masked(play, p, r, kind="channel", **options):
    return play(MaskObservation(p=p, r=r, kind=kind, groups=GROUPS if kind == "group" else None), ONES, **options) == 0


@pytest.mark.parametrize(("p", "r"), [(0.5, 0.3), (1.0, 0.5), (0.25, 0.1), (1.0, 1.0)])
@pytest.mark.parametrize("kind", ["channel", "random", "block"])
def test_expected_number_of_zeros(kind, p, r, play):
    zeros = masked(play, p, r, kind).sum(axis=2)
    assert abs(zeros.mean() - p * r * SIZE) <= 5 * np.sqrt(variance(p, r, SIZE) / zeros.size)


@pytest.mark.parametrize(("p", "r"), [(0.5, 0.3), (0.25, 0.5), (1.0, 0.3)])
def test_variance_of_the_number_of_zeros(p, r, play):
    steps = p * (1 - p) * (r * SIZE) ** 2
    assert masked(play, p, r, "channel").sum(axis=2).var() == pytest.approx(steps, rel=0.06, abs=1e-12)
    assert masked(play, p, r, "random").sum(axis=2).var() == pytest.approx(variance(p, r, SIZE), rel=0.06)


@pytest.mark.parametrize(("r", "count"), [(0.1, 1), (0.19, 1), (0.3, 3), (0.7, 7), (1.0, 10)])
@pytest.mark.parametrize("kind", ["channel", "block"])
def test_exactly_so_many_distinct_numbers_are_masked(kind, r, count, play):
    masks = masked(play, 1.0, r, kind)
    assert (masks.sum(axis=2) == count).all()
    if kind == "channel":
        np.testing.assert_allclose(masks.mean(axis=(0, 1)), count / SIZE, atol=0.03)


@pytest.mark.parametrize("r", [0.2, 0.5])
def test_a_block_is_one_span_and_every_place_is_as_likely(r, play):
    masks = masked(play, 1.0, r, "block").reshape(-1, SIZE)
    edges = np.abs(np.diff(masks.astype(int), axis=1, prepend=0, append=0)).sum(axis=1)
    assert (edges == 2).all()
    starts = np.bincount(masks.argmax(axis=1))
    assert len(starts) == SIZE - r * SIZE + 1
    np.testing.assert_allclose(starts / starts.sum(), 1 / len(starts), atol=0.02)


@pytest.mark.parametrize(("r", "dropped"), [(0.1, 1), (0.25, 1), (0.5, 2), (0.99, 3), (1.0, 4)])
def test_whole_groups_are_dropped_at_least_one(r, dropped, play):
    masks = masked(play, 1.0, r, "group")
    gone = np.stack([masks[..., places].all(axis=2) for places in GROUPS.values()])
    intact = np.stack([~masks[..., places].any(axis=2) for places in GROUPS.values()])
    assert (gone | intact).all()
    assert (gone.sum(axis=0) == dropped).all()
    assert not masks[..., [5, 6]].any(), "in no group"
    np.testing.assert_allclose(gone.mean(axis=(1, 2)), dropped / 4, atol=0.03)


@pytest.mark.parametrize("kind", ["channel", "random", "block", "group"])
def test_masks_are_nested_in_p_and_in_r(kind, play):
    few, more_steps, more_numbers = (masked(play, p, r, kind) for p, r in [(0.3, 0.3), (0.6, 0.3), (0.3, 0.8)])
    for many in (more_steps, more_numbers):
        assert many.sum() > few.sum()
        assert not (few & ~many).any()


@pytest.mark.parametrize("kind", ["channel", "random"])
def test_scheduled_p_and_r(kind, play):
    ramp = np.linspace(0, 1, 40)
    for parameter in ("p", "r"):
        share = masked(play, 1.0, 1.0, kind, level=ramp, parameter=parameter).mean(axis=(1, 2))
        expected = np.floor(ramp * SIZE + 1e-9) / SIZE if (kind, parameter) == ("channel", "r") else ramp
        np.testing.assert_allclose(share, expected, atol=0.1)


def test_a_schedule_of_p_and_r_drives_both(play):
    ramp = np.linspace(0, 1, 40)
    share = masked(play, 1.0, 1.0, "random", level=ramp, parameter=["p", "r"]).mean(axis=(1, 2))
    np.testing.assert_allclose(share, ramp**2, atol=0.1)


def filled(play, fill, **options):
    mask = MaskObservation(p=0.6, r=0.5, fill=fill)
    mask.prepare(Context(calibrate=lambda: MOMENTS))
    truth = np.broadcast_to(np.arange(1.0, 41)[:, None, None], ONES.shape)
    seen = play(mask, truth, **options)
    return truth, seen, play(MaskObservation(p=0.6, r=0.5), truth) == 0


def test_fill_mean(play):
    truth, seen, masks = filled(play, "mean")
    assert np.array_equal(seen, np.where(masks, MOMENTS.mean[""], truth))


def test_fill_last(play):
    truth, seen, masks = filled(play, "last")
    assert np.array_equal(seen[0], truth[0])
    assert np.array_equal(seen[1:], np.where(masks[1:], seen[:-1], truth[1:]))
    assert (seen != truth).mean() == pytest.approx(masks[1:].mean(), abs=0.02)


@pytest.mark.parametrize("fill", ["noise", "additive"])
def test_fill_noise_has_the_spread_of_the_clean_pass(fill, play):
    truth, seen, masks = filled(play, fill)
    assert np.array_equal(seen[~masks], truth[~masks])
    for place in range(SIZE):
        here = masks[..., place]
        error = (seen - (truth if fill == "additive" else MOMENTS.mean[""]))[..., place][here]
        assert error.std() == pytest.approx(place / 2, rel=0.05)
        assert abs(error.mean()) <= 5 * place / 2 / np.sqrt(here.sum())


def test_fill_multiplicative(play):
    truth, seen, masks = filled(play, "multiplicative")
    gain = (seen / truth)[masks]
    assert (gain.mean(), gain.std()) == (pytest.approx(1, abs=0.02), pytest.approx(1, rel=0.02))


def normalising():
    layers = [(np.zeros((3, 1), np.float32), np.zeros(1, np.float32))]
    scaling = Scaling(mean=np.array([0.5, -0.5, 3.0]), var=np.array([4.0, 1.0, 9.0]))
    return MlpPolicy(layers, inputs=Inputs(scalings={"": scaling}))


@pytest.mark.parametrize(("where", "inputs"), [("before", [-0.25, 0.5, -1.0]), ("after", [0.0, 0.0, 0.0])])
def test_where_selects_the_zero_of_a_normalising_policy(where, inputs):
    mask, policy = MaskObservation(p=1.0, r=1.0, where=where), normalising()
    lanes = Lanes(EnvSpec(id="Pendulum-v1"), count=2)
    rows = rollout(lanes, Parts(policy, mask), Plan(episodes=2))
    seen = mask.memory[""].astype(np.float32)
    np.testing.assert_allclose(policy._inputs.read(seen, None, None)[0][0], [inputs, inputs], atol=1e-6)
    assert rows.effects["masked_fraction"].tolist() == [1.0, 1.0]


def test_noise_after_normalisation_is_standard(play):
    mask = MaskObservation(p=1.0, r=1.0, where="after", fill="noise")
    box = spaces.Box(-np.inf, np.inf, (3,))
    mask.bind(box, box, lanes=300)
    policy = normalising()
    mask.prepare(Context(policy))
    seen = play(mask, np.zeros((40, 300, 3)))
    inputs = policy._inputs.read(seen.reshape(-1, 3), None, None)[0][0]
    np.testing.assert_allclose(inputs.mean(axis=0), 0, atol=0.05)
    np.testing.assert_allclose(inputs.std(axis=0), 1, atol=0.05)


def test_a_policy_without_statistics_refuses_to_mask_after_normalisation():
    lanes = Lanes(EnvSpec(id="Pendulum-v1"), count=1)
    with pytest.raises(UserError, match="`where: after` needs a policy with normalisation statistics.*`where: before`"):
        rollout(lanes, Parts(RandomPolicy(), MaskObservation(p=0.5, r=0.5, where="after")), Plan(episodes=1))


@pytest.mark.parametrize(("p", "r", "kind"), [(0.5, 0.5, "channel"), (0.3, 0.4, "random"), (1.0, 0.25, "block")])
def test_the_delivered_fraction_is_p_times_r(p, r, kind):
    mask = MaskObservation(p=p, r=r, kind=kind)
    lanes = Lanes(EnvSpec(id="Acrobot-v1", max_steps=100), count=16)
    size = lanes.observation_space.shape[0]
    rows = rollout(lanes, Parts(RandomPolicy(), mask), Plan(episodes=32))
    ratio = r if kind == "random" else np.floor(r * size) / size
    error = 5 * np.sqrt(variance(p, ratio, size) / rows.column("length").sum()) / size
    assert delivery.measure(mask, rows)["masked_fraction"] == pytest.approx(p * ratio, abs=error)


def test_the_delivered_fraction_of_several_entries_is_over_all_of_them(make_step):
    space = spaces.Dict({"a": spaces.Box(-1, 1, (2,)), "b": spaces.Box(-1, 1, (6,))})
    mask = MaskObservation(p=0.5, r=0.5, keys=["a", "b"])
    mask.bind(space, BOX, lanes=200)
    step = make_step(lanes=200)
    seen = mask.perturb_observation({"a": np.ones((200, 2)), "b": np.ones((200, 6))}, step)
    assert set(np.unique(step.effects["masked_fraction"])) == {0.0, 0.5}
    hit = (seen["a"] == 0).any(axis=1)
    assert np.array_equal(hit, (seen["b"] == 0).any(axis=1)), "the same steps"
    assert hit.mean() == pytest.approx(0.5, abs=0.15)


def test_a_schedule_of_the_engine_reaches_r():
    mask = MaskObservation(p=1.0, r=1.0)
    lanes = Lanes(EnvSpec(id="Pendulum-v1", max_steps=100), count=2)
    rows = rollout(
        lanes, Parts(RandomPolicy(), mask, schedule=Linear(warmup_steps=100, parameter="r")), Plan(episodes=2)
    )
    assert rows.effects["masked_fraction"].mean() == pytest.approx(
        np.floor(np.arange(100) / 100 * 3).mean() / 3, abs=0.02
    )


def test_masking_nothing_is_the_identity():
    assert MaskObservation(p=0.5, r=0.0).is_identity
    assert MaskObservation(p=0.0, r=0.5).is_identity
    assert not MaskObservation(p=0.5, r=0.5).is_identity


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"p": 1.5}, r"`p` must be in \[0, 1\], got 1\.5"),
        ({"r": -0.5}, r"`r` must be in \[0, 1\], got -0\.5"),
        ({"kind": "chanel"}, "`kind` cannot be 'chanel'; did you mean `channel`?"),
        ({"fill": "maen"}, "`fill` cannot be 'maen'; did you mean `mean`?"),
        ({"where": "aftr"}, "`where` cannot be 'aftr'; did you mean `after`?"),
        ({"groups": GROUPS}, "`groups` are for `kind: group`, got `kind` channel and `groups`"),
        ({"kind": "group", "groups": []}, r"`groups` must be null or name at least one, got \[\]"),
        ({"kind": "group", "groups": GROUPS, "keys": ["a", "b"]}, r"positions in one entry .* got `keys` \['a', 'b'\]"),
    ],
)
def test_bad_parameters(bad, message):
    with pytest.raises((ValueError, UserError), match=message):
        MaskObservation(**({"p": 0.5} | bad))


NONE = r"`r` = 0.3 of 3 numbers masks none; at least 1 / 3 masks one"


@pytest.mark.parametrize("kind", ["channel", "block"])
@pytest.mark.parametrize(("r", "schedule"), [(0.3, None), (0.6, Constant(level=0.5, parameter="r"))])
def test_a_share_below_one_number_is_a_level_without_masks(kind, r, schedule):
    rows, notes = pendulum(MaskObservation(p=1.0, r=r, kind=kind), schedule)
    assert notes == [f"a level without effect: {NONE}"]
    assert rows.effects["masked_fraction"].tolist() == [0, 0]
    assert np.array_equal(rows.column("return"), pendulum(Perturbation())[0].column("return"))


def test_an_empty_mask_may_be_part_of_a_composition():
    empty = MaskObservation(p=1.0, r=0.3)
    with_noise = ComposedPerturbation({"noise": GaussianObservation(sigma=0.1), "mask": empty})
    assert pendulum(with_noise)[1] == [f"a level without effect: `parts.mask`: {NONE}"]
    scheduled = Scheduled(MaskObservation(p=1.0, r=0.3), Constant())
    assert pendulum(ComposedPerturbation([scheduled]))[1] == [f"a level without effect: `parts.0`: {NONE}"]


def test_a_mask_that_is_drawn_at_random_or_never_due_has_to_change_something():
    for mask in (MaskObservation(p=1.0, r=1e-9, kind="random"), MaskObservation(p=1e-9, r=0.5)):
        with pytest.raises(HarnessError, match="changed nothing"):
            pendulum(mask)
    with pytest.raises(HarnessError, match="the schedule Constant does not start"):
        pendulum(MaskObservation(p=1.0, r=0.3), Constant(level=0.0, parameter="r"))


def test_a_training_with_empty_masks_is_refused():
    with pytest.raises(UserError, match=NONE):
        PerturbedEnv(gym.make("Pendulum-v1"), MaskObservation(p=0.5, r=0.3))
    PerturbedEnv(gym.make("Pendulum-v1"), MaskObservation(p=0.0, r=0.3))


def pendulum(perturbation, schedule=None):
    """Runs two episodes of three numbers each, and returns the rows and the notes on the perturbation."""
    parts = Parts(as_policy(lambda o: np.zeros(1)), perturbation, schedule=schedule or Constant())
    rows = rollout(Lanes(EnvSpec(id="Pendulum-v1", max_steps=10), count=2), parts, Plan(episodes=2))
    delivery.measure(perturbation, rows, schedule)
    return rows, delivery.result_notes(Policy(), perturbation, rows)


def test_masks_that_do_not_fit_the_observation():
    with pytest.raises(ValueError, match=r"`groups\.tail` must be positions in 0\.\.9, got 10"):
        MaskObservation(p=0.5, kind="group", groups={"tail": [9, 10]}).bind(BOX, BOX, lanes=1)


@pytest.mark.parametrize(
    ("groups", "env_groups", "places"),
    [(None, GROUPS, {0, 1, 2, 3, 4, 7, 8, 9}), (["leg", "eye"], GROUPS, {3, 4, 9}), ({"tail": [5]}, GROUPS, {5})],
)
def test_groups_of_sensors_are_those_of_the_environment_unless_given(groups, env_groups, places, make_step):
    mask = MaskObservation(p=1.0, r=1.0, kind="group", groups=groups)
    mask.bind(BOX, BOX, 2)
    mask.prepare(Context(sensor_groups=env_groups))
    seen = mask.perturb_observation(np.ones((2, SIZE)), make_step(2))
    assert [set(np.flatnonzero(row == 0).tolist()) for row in seen] == [places, places]


@pytest.mark.parametrize(
    ("groups", "env_groups", "message"),
    [
        (None, None, "the environment names none: set `groups`, .* or `env.sensor_groups`"),
        (["leg"], None, "the environment names none"),
        (["lag"], GROUPS, "the environment has no group 'lag'; did you mean `leg`?"),
        (None, {"tail": [10]}, r"`env\.sensor_groups\.tail` must be positions in 0\.\.9, got 10"),
    ],
)
def test_unknown_groups_are_refused(groups, env_groups, message):
    mask = MaskObservation(p=1.0, kind="group", groups=groups)
    mask.bind(BOX, BOX, 1)
    with pytest.raises((ValueError, UserError), match=message):
        mask.prepare(Context(sensor_groups=env_groups))


@pytest.mark.parametrize(
    ("env", "joints"),
    [
        ("half_cheetah", {"back_leg": ["bthigh", "bshin", "bfoot"], "front_leg": ["fthigh", "fshin", "ffoot"]}),
        ("hopper", {"thigh": ["thigh_joint"], "leg": ["leg_joint"], "foot": ["foot_joint"]}),
        ("walker2d", {"left_leg": ["thigh_left_joint", "leg_left_joint", "foot_left_joint"]}),
        ("swimmer", {"front_joint": ["motor1_rot"], "back_joint": ["motor2_rot"]}),
        ("ant", {"front_left_leg": ["hip_1", "ankle_1"], "back_right_leg": ["hip_4", "ankle_4"]}),
    ],
)
def test_groups_of_robots_are_the_joints_that_they_are_called_after(env, joints):
    spec = load("env", env)
    robot = spec.make().unwrapped
    robot.reset(seed=0)
    before = robot._get_obs()
    for group, names in joints.items():
        qpos, qvel = robot.data.qpos.copy(), robot.data.qvel.copy()
        for joint in map(robot.model.joint, names):
            robot.data.qpos[joint.qposadr] += 0.01
            robot.data.qvel[joint.dofadr] += 0.01
        assert np.flatnonzero(robot._get_obs() != before).tolist() == spec.sensor_groups[group]
        robot.data.qpos[:], robot.data.qvel[:] = qpos, qvel


def test_the_groups_of_each_environment_are_places_that_no_other_group_has():
    for path in sorted((config_folder() / "env").glob("*.yaml")):
        groups = yaml.safe_load(path.read_text()).get("sensor_groups")
        if groups:
            space = load("env", path.stem).make().observation_space
            size = (space["observation"] if isinstance(space, spaces.Dict) else space).shape[0]
            places = [place for group in groups.values() for place in group]
            assert len(set(places)) == len(places) and set(places) <= set(range(size)), path


def test_a_cell_masks_the_groups_of_its_environment():
    lanes = Lanes(load("env", "half_cheetah", max_steps=5), 2)
    legs = MaskObservation(p=1.0, r=0.5, kind="group", groups=["back_leg", "front_leg"])
    rows = rollout(lanes, Parts(RandomPolicy(), legs), Plan(2))
    np.testing.assert_allclose(rows.effects["masked_fraction"], 6 / 17)


def test_one_ratio_and_a_ratio_for_each_lane_mask_the_same():
    for ratio in (0.0, 0.2, 0.5, 1.0):
        shared, per_lane = (channel_mask(LaneDraws(0, "mask", 6), 17, r) for r in (ratio, np.full((6, 1), ratio)))
        assert np.array_equal(shared, per_lane)
        assert (shared.sum(axis=1) == int(17 * ratio)).all()


def test_copies_of_masked_numbers_are_masked_too():
    space = spaces.Dict({"observation": spaces.Box(-9, 9, (4,)), "achieved_goal": spaces.Box(-9, 9, (2,))})
    parts = {"mask": MaskObservation(p=1.0, r=0.5, leak_free=True), "noise": GaussianObservation(sigma=0.1)}
    both, step = ComposedPerturbation(parts), Step.full(lanes=3)
    both.bind(space, spaces.Discrete(2), lanes=3)
    values = np.arange(1.0, 13.0).reshape(3, 4)
    both.perturb_observation({"observation": values, "achieved_goal": values[:, 1:3].copy()}, step)
    assert step.masks["observation"].sum(axis=1).tolist() == [2, 2, 2]
    assert (step.masks["achieved_goal"] == step.masks["observation"][:, 1:3]).all()
