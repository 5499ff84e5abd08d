import numpy as np
import pytest
from gymnasium import spaces

from brittlestar import PerturbedEnv
from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.envs.success import GoalReached
from brittlestar.errors import UserError
from brittlestar.perturbations import (
    BiasObservation,
    ComposedPerturbation,
    DelayedObservation,
    GoalNoise,
    MaskObservation,
    UniformObservation,
)
from brittlestar.perturbations.context import Context
from brittlestar.policies import PController

BOX = spaces.Box(-np.inf, np.inf, (3,))
GOAL = spaces.Dict(dict.fromkeys(("observation", "achieved_goal", "desired_goal"), BOX))
CLEAN = {key: np.full((400, 3), 2.0) for key in GOAL}


@pytest.fixture(scope="module")
def reach():
    lanes = Lanes(EnvSpec(id="FetchReach-v4", success=GoalReached()), count=4)
    yield lanes
    lanes.close()


def play_goal(noise, make_step, count=2, **options):
    noise.bind(GOAL, BOX, lanes=400)
    return [noise.perturb_observation(CLEAN, make_step(lanes=400, step=t, **options)) for t in range(count)]


@pytest.mark.parametrize("per", ["step", "episode"])
def test_only_the_goal_is_disturbed_at_every_step_or_through_an_episode(per, make_step):
    first, second = play_goal(GoalNoise(sigma=0.1, per=per), make_step)
    assert first["achieved_goal"] is CLEAN["achieved_goal"]
    assert first["observation"] is CLEAN["observation"]
    assert (first["desired_goal"] - 2).std() == pytest.approx(0.1, rel=0.08)
    assert np.array_equal(first["desired_goal"], second["desired_goal"]) == (per == "episode")


def test_strength_seed_and_level(make_step):
    assert np.array_equal(play_goal(GoalNoise(sigma=0.0), make_step)[0]["desired_goal"], CLEAN["desired_goal"])
    noise, repeated, other, weak = (
        play_goal(GoalNoise(sigma=0.1), make_step, seed=seed, level=level)[0]["desired_goal"]
        for seed, level in [(0, 1.0), (0, 1.0), (1, 1.0), (0, 0.5)]
    )
    assert np.array_equal(noise, repeated)
    assert not np.isclose(noise, other).any()
    np.testing.assert_allclose(2 * (weak - 2), noise - 2, atol=1e-12)


def test_scores_use_the_true_goal_and_an_observed_reward_the_shown_one(reach):
    def run(perturbation):
        return rollout(reach, Parts(PController(), perturbation), Plan(episodes=8))

    wrong = {"sigma": 0.3, "per": "episode"}
    clean, truth = run(GoalNoise(sigma=0.0)), run(GoalNoise(**wrong))
    observed = run(GoalNoise(**wrong, reward="observed"))
    assert clean.column("success_final").all()
    for rows in (truth, observed):
        assert rows.column("success_final").mean() < 0.5
    assert np.array_equal(truth.column("return"), observed.column("return"))
    assert np.nansum(truth.column("reward_change")) == 0
    assert (observed.column("return_observed") - observed.column("return")).mean() > 10
    part = run(ComposedPerturbation({"goal": GoalNoise(**wrong, reward="observed")}))
    assert (part.column("return_observed") - part.column("return")).mean() > 10


def test_a_learner_gets_the_reward_of_the_goal_it_was_shown():
    env = PerturbedEnv(EnvSpec(id="FetchReach-v4").make(), GoalNoise(sigma=0.05, reward="observed"))
    observation, info = env.reset(seed=3)
    rewards = []
    for _ in range(20):
        goal = info["true_observation"]["desired_goal"]
        away = goal - info["true_observation"]["achieved_goal"]
        goal = observation["desired_goal"]
        observation, reward, _, _, info = env.step(np.append(np.clip(10 * away, -1, 1), 0).astype(np.float32))
        achieved = info["true_observation"]["achieved_goal"]
        assert reward == (0 if np.linalg.norm(achieved - goal) < 0.05 else -1)
        rewards.append((reward, info["true_reward"]))
    assert any(seen != true for seen, true in rewards)


def test_an_observed_reward_without_noise_is_the_true_one():
    env = PerturbedEnv(EnvSpec(id="FetchReach-v4").make(), GoalNoise(sigma=0.0, reward="observed"))
    env.reset(seed=0)
    assert env.step(np.zeros(4, np.float32))[1] == -1


@pytest.mark.parametrize(
    "noise",
    [
        UniformObservation(width=0.05, leak_free=True),
        BiasObservation(bias=0.05, leak_free=True),
        DelayedObservation(delay_steps=2, leak_free=True),
        MaskObservation(p=1.0, r=1.0, leak_free=True),
    ],
    ids=lambda noise: type(noise).__name__,
)
def test_without_leaks_the_achieved_goal_of_fetch_is_the_disturbed_one_and_the_truth_is_nowhere(noise):
    env = PerturbedEnv(EnvSpec(id="FetchReach-v4").make(), noise)
    seen, info = env.reset(seed=0)
    for _ in range(5):
        seen, _, _, _, info = env.step(np.array([1, -1, 1, 0], np.float32))
    true = info["true_observation"]
    assert np.array_equal(true["achieved_goal"], true["observation"][:3]), "the leak"
    assert np.array_equal(seen["achieved_goal"], seen["observation"][:3])
    for array in seen.values():
        for start in range(len(array) - 2):
            assert np.abs(array[start : start + 3] - true["achieved_goal"]).max() > 1e-4
    assert np.array_equal(seen["desired_goal"], true["desired_goal"])


def test_what_is_only_equal_at_reset_is_no_copy(make_step):
    box = spaces.Box(-np.inf, np.inf, (2,))
    space = spaces.Dict({"observation": spaces.Box(-np.inf, np.inf, (5,)), "speed": box, "place": box})
    noise = BiasObservation(bias=0.5, draw="fixed", leak_free=True)
    noise.bind(space, BOX, lanes=2)
    # In lane 1 nothing ever moves, so a copy looks like a coincidence.
    for t in range(3):
        moved = np.array([[float(t)], [0.0]])
        true = {"observation": moved * [0, 0, 1, 2, 3], "speed": moved * [5, 6], "place": moved * [1, 2]}
        seen = noise.perturb_observation(true, make_step(2, step=t))
        if t:
            assert np.array_equal(seen["speed"][0], true["speed"][0])
            assert np.array_equal(seen["place"][0], true["place"][0] + 0.5)
    seen = noise.perturb_observation(true, make_step(2, step=0))
    assert np.array_equal(seen["place"], true["place"] + 0.5), "a new episode, a new look"


def test_with_a_leak_the_truth_is_there():
    env = PerturbedEnv(EnvSpec(id="FetchReach-v4").make(), UniformObservation(width=0.05))
    seen, info = env.reset(seed=0)
    assert np.array_equal(seen["achieved_goal"], info["true_observation"]["achieved_goal"])


def test_bad_parameters_and_spaces():
    with pytest.raises(ValueError, match="`sigma` must be at least 0, got -1"):
        GoalNoise(sigma=-1)
    with pytest.raises(UserError, match="`per` cannot be 'epsiode'; did you mean `episode`?"):
        GoalNoise(sigma=0.1, per="epsiode")
    with pytest.raises(UserError, match="`reward` cannot be 'observd'; did you mean `observed`?"):
        GoalNoise(sigma=0.1, reward="observd")
    with pytest.raises(UserError, match=r"`reward: observed` needs `desired_goal` among the `keys`, got \['other'\]"):
        GoalNoise(sigma=0.1, reward="observed", keys=["other"])
    with pytest.raises(UserError, match="needs a dict observation with a goal, got Box"):
        GoalNoise(sigma=0.1).bind(BOX, BOX, lanes=1)
    with pytest.raises(UserError, match="did you mean `desired_goal`?"):
        GoalNoise(sigma=0.1, keys=["desird_goal"]).bind(GOAL, BOX, lanes=1)
    with pytest.raises(UserError, match="needs an environment with `compute_reward`"):
        GoalNoise(sigma=0.1, reward="observed").prepare(Context())
