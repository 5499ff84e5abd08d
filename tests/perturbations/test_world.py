"""Changes of the simulator: their effect, and that every edit is undone."""

import functools

import gymnasium as gym
import gymnasium_robotics
import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.engine.delivery import measure
from brittlestar.engine.lanes import Lanes
from brittlestar.engine.metrics import COLUMNS
from brittlestar.engine.perturbed_env import PerturbedEnv
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.envs.worlds import World
from brittlestar.errors import HarnessError, UserError
from brittlestar.perturbations import (
    ActuatorGain,
    BodyMass,
    ComposedPerturbation,
    ControlTimestep,
    Damping,
    EnvParameter,
    Friction,
    Gravity,
    JointStiffness,
    Push,
    Scheduled,
)
from brittlestar.policies import RandomPolicy
from brittlestar.schedules import Bursts, Constant, Cosine, Linear

gym.register_envs(gymnasium_robotics)

BOX = spaces.Box(-1.0, 1.0, (4,), np.float32)
CHANGES = {
    "mass": BodyMass(0.5),
    "lighter": BodyMass(0.9, draw="sign"),
    "friction": Friction(-0.5),
    "gravity": Gravity(0.3, draw="uniform"),
    "damping": Damping(1.0, to=[1.0, 2.0]),
    "gain": ActuatorGain(-0.3),
    "stiffness": JointStiffness(0.5, to=[10.0, 20.0]),
    "timestep": ControlTimestep(0.6),
    "armature": EnvParameter(0.5, attribute="dof_armature", to=[0.1, 0.5]),
    "push": Push(50.0, rate=0.3, duration_steps=2),
    "all": ComposedPerturbation(
        [BodyMass(0.5), BodyMass(-0.2), Friction(0.5), Gravity(-0.2), Push(10.0), ControlTimestep(0.4)]
    ),
}
MODELS = ["HalfCheetah-v5", "FetchPush-v4", "Ant-v5"]
# A mocap body moves Fetch Push, which has no actuator.
CASES = [(env_id, name) for env_id in MODELS for name in CHANGES if (env_id, name) != ("FetchPush-v4", "gain")]


class Dies(RandomPolicy):
    """Raises in the middle of an episode."""

    def predict(self, *args, **kwargs):
        self.calls = getattr(self, "calls", 0) + 1
        if self.calls == 4:
            raise RuntimeError("dead")
        return super().predict(*args, **kwargs)


@pytest.fixture(scope="module")
def lanes():
    """A function that returns two lanes of an environment, made once per module."""
    return functools.cache(lambda env_id: Lanes(EnvSpec(id=env_id, max_steps=8), 2, own_models=True))


@pytest.mark.parametrize(("env_id", "name"), CASES)
def test_nothing_is_left_behind(env_id, name, lanes, simulator_state):
    used, change = lanes(env_id), CHANGES[name]
    before, plan = simulator_state(used), Plan(4, seed=1)
    clean = rollout(used, Parts(RandomPolicy()), plan).values
    rows = rollout(used, Parts(RandomPolicy(), change), plan)
    assert simulator_state(used) == before
    assert measure(change, rows)["world_change"] > 0
    if env_id != "FetchPush-v4":
        # There the reward depends only on whether the object is at the goal.
        assert (rows.column("return") != clean[:, COLUMNS.index("return")]).all()
    with pytest.raises(RuntimeError, match="dead"):
        rollout(used, Parts(Dies(), change), plan)
    assert simulator_state(used) == before
    assert np.array_equal(rollout(used, Parts(RandomPolicy()), plan).values, clean, equal_nan=True)


@pytest.mark.parametrize("env_id", MODELS)
def test_an_episode_after_a_changed_one_is_that_of_a_fresh_environment(env_id):
    plan, spec = Plan(2, seed=5), EnvSpec(id=env_id, max_steps=10)
    used = Lanes(spec, 1, own_models=True)
    rollout(used, Parts(RandomPolicy(), CHANGES["all"]), plan)
    after, fresh = (rollout(which, Parts(RandomPolicy()), plan).values for which in (used, Lanes(spec, 1)))
    assert np.array_equal(after, fresh, equal_nan=True)


@pytest.mark.parametrize("env_id", MODELS)
def test_a_wrapper_undoes_everything_at_reset_and_at_close(env_id, model_bytes):
    env = PerturbedEnv(gym.make(env_id, disable_env_checker=True), CHANGES["all"])
    model, states = env.unwrapped.model, []
    before = model_bytes(model)
    for _ in range(2):
        env.reset(seed=3)
        assert model_bytes(model) == before
        assert not env.unwrapped.data.xfrc_applied.any()
        states.append(np.concatenate([env.unwrapped.data.qpos, env.unwrapped.data.qvel]).tobytes())
        env.step(env.action_space.sample())
        assert model_bytes(model) != before
        assert env.unwrapped.data.xfrc_applied.any()
    env.close()
    assert model_bytes(model) == before
    assert states[0] == states[1]


def test_start_states_are_those_of_the_clean_model():
    starts = {}
    for change in (0.0, 0.5):
        used = Lanes(EnvSpec(id="HalfCheetah-v5", max_steps=3), 2, own_models=True)
        reset, starts[change] = used.reset, []

        def watched(lane, seed, used=used, reset=reset, change=change):
            reset(lane, seed)
            starts[change].append(used.observation[lane].tobytes())

        used.reset = watched
        rollout(used, Parts(RandomPolicy(), CHANGES["all"] if change else BodyMass(0.0)), Plan(4))
    assert starts[0.0] == starts[0.5]
    assert len(set(starts[0.0])) == 4


@pytest.mark.parametrize("name", CHANGES)
def test_rows_do_not_depend_on_the_number_of_lanes(name):
    spec, plan = EnvSpec(id="HalfCheetah-v5", max_steps=6), Plan(5, seed=2)
    alone, together = (
        rollout(Lanes(spec, count, threads), Parts(RandomPolicy(), CHANGES[name], schedule=Linear(10)), plan)
        for count, threads in ((1, 1), (3, 2))
    )
    assert np.array_equal(alone.values, together.values, equal_nan=True)
    for name in alone.effects:
        assert np.array_equal(alone.effects[name], together.effects[name]), name


RAMPED = {
    **CHANGES,
    "drawn mass": BodyMass(0.5, draw="uniform"),
    "mass to": BodyMass(1.0, to=[1.0, 3.0]),
    "fixed gravity": Gravity(-0.5),
    "drawn timestep": ControlTimestep(0.6, draw="uniform"),
    "substeps": EnvParameter(0.5, attribute="opt.timestep", draw="sign"),
    "steady push": Push(40.0, direction=[1, 0, 1]),
    "two": ComposedPerturbation(
        {"wave": Scheduled(Gravity(0.5), Cosine(5)), "mass": BodyMass(0.5), "drawn": Gravity(0.2, draw="sign")}
    ),
}


@pytest.mark.parametrize(
    "schedule",
    [
        pytest.param(Linear(6), id="linear"),
        pytest.param(Cosine(6), id="cosine", marks=pytest.mark.slow),
        pytest.param(Bursts(1, 2, 4), id="bursts", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("name", RAMPED)
def test_a_ramp_is_the_same_in_any_lane_and_leaves_nothing_behind(name, schedule, ramp_lanes, simulator_state):
    rows = []
    for count in (1, 3, 16):
        used = ramp_lanes(count)
        before = simulator_state(used)
        rows.append(rollout(used, Parts(RandomPolicy(), RAMPED[name], schedule=schedule), Plan(18, seed=2)))
        assert simulator_state(used) == before
    for other in rows[1:]:
        assert np.array_equal(rows[0].values, other.values, equal_nan=True)
        assert {name: values.tobytes() for name, values in rows[0].effects.items()} == {
            name: values.tobytes() for name, values in other.effects.items()
        }


@pytest.fixture(scope="module")
def ramp_lanes():
    # The reference is the environment's own step, which edits and steps every lane separately.
    spec = EnvSpec(id="HalfCheetah-v5", max_steps=7)
    made = {count: Lanes(spec, count, threads, own_models=True) for count, threads in ((1, 1), (3, 2), (16, 1))}
    made[1]._fast = []
    return made.__getitem__


@pytest.mark.parametrize("scheduled_inside", [True, False])
def test_a_burst_leaves_the_original_bytes(scheduled_inside, model_bytes):
    bursts = Bursts(onset_step=2, duration_steps=2, period_steps=5)
    pair = {"mass": BodyMass(0.5), "push": Push(5.0, direction=[1, 0, 0])}
    if scheduled_inside:
        change, schedule = (
            ComposedPerturbation({name: Scheduled(part, bursts) for name, part in pair.items()}),
            Constant(),
        )
    else:
        change, schedule = ComposedPerturbation(pair), bursts
    env = PerturbedEnv(gym.make("HalfCheetah-v5"), change, schedule)
    model, data = env.unwrapped.model, env.unwrapped.data
    clean, seen = model_bytes(model), []
    env.reset(seed=0)
    for _ in range(9):
        env.step(env.action_space.sample())
        assert (model_bytes(model) != clean) == data.xfrc_applied.any()
        seen.append(bool(data.xfrc_applied.any()))
    assert seen == [step % 5 in (2, 3) for step in range(9)]


def test_delivery_reports_each_part_and_fails_for_a_part_without_effect(lanes):
    used, plan = lanes("HalfCheetah-v5"), Plan(2)
    whole = ComposedPerturbation({"mass": BodyMass(0.5), "time": ControlTimestep(0.05)})
    rows = rollout(used, Parts(RandomPolicy(), whole), plan)
    with pytest.raises(HarnessError, match="part `time` of the composition changed nothing"):
        measure(whole, rows)
    for nothing in (ControlTimestep(0.05), Push(5.0, direction=[0, 1, 0])):
        rows = rollout(used, Parts(RandomPolicy(), nothing), plan)
        with pytest.raises(HarnessError, match="changed nothing"):
            measure(nothing, rows)
    rows = rollout(used, Parts(RandomPolicy(), BodyMass(0.5)), plan)
    assert measure(BodyMass(0.5), rows)["world_change"] == pytest.approx(0.5)


def test_only_lanes_whose_value_changed_are_touched(lanes, monkeypatch):
    calls = []
    plain, share = World.edit_all, World.share_edits
    monkeypatch.setattr(World, "edit_all", lambda self, *args: calls.append(self) or plain(self, *args))
    monkeypatch.setattr(World, "share_edits", lambda self, others: share(self, [calls.append(w) or w for w in others]))
    rollout(lanes("HalfCheetah-v5"), Parts(RandomPolicy(), BodyMass(0.5)), Plan(4))
    assert len(calls) == 4
    calls.clear()
    # Three episodes in two lanes: the idle lane is not edited at every step.
    rollout(lanes("HalfCheetah-v5"), Parts(RandomPolicy(), BodyMass(0.5)), Plan(3))
    assert len(calls) <= 4


class Always:
    """Success from the first step on."""

    when = "any"

    def at_reset(self, observation):
        return None

    def at_step(self, observation, infos, terminated):
        return np.ones(len(terminated), dtype=bool)


def test_cycle_time_is_missing_where_steps_last_longer():
    spec = EnvSpec(id="Pendulum-v1", max_steps=5, success=Always())
    plain, slow = (
        rollout(Lanes(spec, 1), Parts(RandomPolicy(), change), Plan(2)).column("cycle_time")
        for change in (EnvParameter(0.5, attribute="m"), ControlTimestep(0.5))
    )
    assert plain.tolist() == [0.05, 0.05]
    assert np.isnan(slow).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BodyMass(-1.0), "`change` must be above -1, got -1"),
        (lambda: BodyMass(float("nan")), "`change` must be above -1, got nan"),
        (lambda: BodyMass(1.0, draw="uniform"), r"`change` must be in \(-1, 1\) with draw: uniform, got 1"),
        (lambda: Friction(-1.5), "`change` must be at least -1, got -1.5"),
        (lambda: Gravity(1.5, draw="sign"), r"`change` must be in \[-1, 1\] with draw: sign, got 1.5"),
        (lambda: Gravity(1.5, to=[1, 2]), r"`change` must be in \[0, 1\] with `to`, got 1.5"),
        (lambda: Gravity(0.5, to=[2, 1]), r"`to` must be \[low, high\] with low at least 0, got \[2, 1\]"),
        (lambda: BodyMass(0.5, to=[0, 1]), r"`to` must be \[low, high\] with low above 0, got \[0, 1\]"),
        (lambda: Gravity(0.5, to=[1, 2], draw="sign"), "`draw` must be fixed with `to`"),
        (lambda: EnvParameter(0.5, attribute="g", to=[3, 1]), r"`to` must be \[low, high\], got"),
        (lambda: EnvParameter(0.5, attribute="frame_skip"), "changed by perturbation=control_timestep, got frame_skip"),
        (lambda: BodyMass(0.5, names=[]), r"`names` must be null or name at least one, got \[\]"),
        (lambda: Push(-1.0), "`newtons` must be at least 0, got -1"),
        (lambda: Push(1.0, rate=0.0), r"`rate` must be null or in \(0, 1\], got 0"),
        (lambda: Push(1.0, duration_steps=0), "`duration_steps` must be at least 1, got 0"),
        (lambda: Push(1.0, direction=[0, 0, 0]), "`direction` must be null or three numbers that are not all 0"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("env_id", "change", "message"),
    [
        ("CartPole-v1", BodyMass(0.5), "BodyMass needs a MuJoCo model, and CartPoleEnv has none: .*env_parameter"),
        ("CartPole-v1", Push(5.0), "Push needs a MuJoCo model, and CartPoleEnv has none"),
        ("MountainCar-v0", ControlTimestep(0.5), "attributes .*`tau`, `dt`; MountainCarEnv has none of them"),
        ("FetchPush-v4", ActuatorGain(0.5), "ActuatorGain: the model of MujocoFetchPushEnv has no actuator"),
        ("Ant-v5", JointStiffness(0.5), "`jnt_stiffness` of AntEnv is 0 wherever it is selected, .*: set `to`"),
        ("HalfCheetah-v5", BodyMass(0.5, names=["tosro"]), "HalfCheetahEnv has no body 'tosro'; did you mean `torso`"),
        ("HalfCheetah-v5", Friction(0.5, names=["flor"]), "has no geom 'flor'; did you mean `floor`"),
        ("HalfCheetah-v5", Damping(0.5, names=["*foot", "rotx"]), "has no joint 'rotx'; did you mean `rootx`"),
        ("HalfCheetah-v5", ActuatorGain(0.5, names=["bthig"]), "has no actuator 'bthig'; did you mean `bthigh`"),
        ("HalfCheetah-v5", BodyMass(0.5, names=["world"]), "is 0 wherever it is selected, and stays 0"),
        ("HalfCheetah-v5", Push(5.0, body="world"), "has no body 'world' that can move"),
        ("HalfCheetah-v5", Push(5.0, body="torsoo"), "no body 'torsoo' that can move; did you mean `torso`"),
    ],
)
def test_refusals_name_what_is_missing(env_id, change, message, at, bound, make_world):
    world = make_world(env_id)
    with pytest.raises(UserError, match=message):
        at(bound(change), world)
