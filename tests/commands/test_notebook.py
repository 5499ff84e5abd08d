import numpy as np
import pytest

from brittlestar import EnvSpec, UserError, evaluate, load, sweep
from brittlestar.envs.success import ReturnAtLeast
from brittlestar.perturbations import GaussianObservation


def lean(observation):
    return int(observation[2] + 0.3 * observation[3] > 0)


def test_evaluate_gives_the_tables():
    result = evaluate("cartpole", lean, episodes=4, seeds=[0, 1])
    assert len(result.episodes) == 8
    assert list(result.cells["seed"]) == [0, 1]
    assert result.curve.loc[0, "n_episodes"] == 8
    assert result.summary.loc[0, "measure"] == "success_final"


def test_sweep_gives_a_curve_on_the_same_episodes():
    result = sweep("cartpole", lean, perturbation="gaussian_observation", strength=[0, 1.0], episodes=5, seeds=[0, 1])
    assert list(result.curve["strength"]) == [0, 1]
    assert result.curve["return"].is_monotonic_decreasing
    starts = result.episodes.groupby("strength")["reset_seed"].apply(tuple)
    assert starts.nunique() == 1


def test_any_environment_policy_object_and_mitigation():
    class Swing:
        def predict(self, observation, state=None, episode_start=None, deterministic=True):
            return np.sign(observation[:, 2:3]).astype(np.float32), state

    noise = GaussianObservation(sigma=0.1)
    result = evaluate("Pendulum-v1", Swing(), perturbation=noise, mitigation="low_pass", episodes=2)
    assert result.curve.loc[0, "policy"] == "Swing"
    assert result.curve.loc[0, "observation_change"] == pytest.approx(0.1, rel=0.1)
    spec = EnvSpec(id="CartPole-v1", max_steps=5, success=ReturnAtLeast(threshold=5))
    assert evaluate(spec, "constant", episodes=1).episodes.loc[0, "success_final"] == 1


def test_it_is_the_command_line_without_hydra(shell):
    shell.sweep("env=cartpole", "policy=random", "perturbation.sigma=0,0.5", "seed=0,1", "episodes=4")
    rows = shell.table("sweep", "curve")
    noise = load("perturbation", "gaussian_observation")
    result = sweep("cartpole", "random", perturbation=noise, strength=[0, 0.5], episodes=4, seeds=[0, 1])
    for name in ("return", "length", "success_final", "success_final_low", "observation_change"):
        assert [row[name] for row in rows] == pytest.approx(list(result.curve[name])), name


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: evaluate("CartPol-v1", lean), "did you mean `CartPole-v1`"),
        (lambda: evaluate("cartpole", "rndom"), "`policy` has no 'rndom'; did you mean `random`"),
        (lambda: sweep("cartpole", lean, perturbation="none", strength=[0]), "Perturbation has no strength to sweep"),
        (lambda: load("perturbation", "gaussian_observation", sgima=1), "did you mean `sigma`"),
        (lambda: evaluate("cartpole", lean, episodes=0), "`episodes` must be at least 1, got 0"),
    ],
)
def test_mistakes(call, message):
    with pytest.raises(UserError, match=message):
        call()
