import numpy as np
import pytest

from brittlestar import EnvSpec, UserError, evaluate, load, sweep
from brittlestar.envs.success import ReturnAtLeast
from brittlestar.perturbations import GaussianObservation
from brittlestar.schedules import Constant


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


def test_the_form_of_a_policy_is_printed_and_noted(capsys):
    result = sweep("cartpole", lean, perturbation="gaussian_observation", strength=[0, 0.1], episodes=2, seeds=[0, 1])
    (note,) = result.notes
    assert note == "policy `lean`: called as lean(observation) with one observation, it returns an action"
    assert capsys.readouterr().err == f"brittlestar: note: {note}\n"
    assert evaluate("cartpole", "random", episodes=2).notes == []


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


def test_a_scheduled_parameter_keeps_the_clean_cell():
    mask = load("perturbation", "mask_observation", kind="random")
    both = Constant(level=0.5, parameter=["p", "r"])
    result = sweep("cartpole", lean, perturbation=mask, strength=[0, 1.0], schedule=both, episodes=5, seeds=[0])
    assert list(result.curve["strength"]) == [0, 1]
    clean = evaluate("cartpole", lean, episodes=5)
    assert result.curve.loc[0, "return"] == clean.curve.loc[0, "return"]
    with pytest.raises(UserError, match="MaskObservation has no number 'q'"):
        sweep("cartpole", lean, perturbation=mask, strength=[0], schedule=Constant(parameter="q"), episodes=1)


def test_an_id_has_success_and_returns_of_the_config_that_knows_it(capsys):
    by_id, by_name = (evaluate(env, lean, episodes=4) for env in ("CartPole-v1", "cartpole"))
    assert by_id.summary.loc[0, "measure"] == by_name.summary.loc[0, "measure"] == "success_final"
    assert by_id.episodes["normalised_return"].tolist() == by_name.episodes["normalised_return"].tolist()
    assert by_id.notes[0].startswith("CartPole-v1 has success, returns, sensor_groups of `env=cartpole`")
    assert capsys.readouterr().err.startswith(f"brittlestar: note: {by_id.notes[0]}\n")
    assert by_name.notes == evaluate(EnvSpec(id="CartPole-v1"), lean, episodes=1).notes == by_id.notes[1:]


def test_auto_is_the_environment_of_the_policy():
    result = evaluate("auto", "zoo/cartpole_ppo", episodes=1)
    assert (result.curve.loc[0, "env"], result.curve.loc[0, "success_final"]) == ("CartPole-v1", 1)


def test_a_level_without_effect_has_a_note():
    mask = load("perturbation", "mask_observation", r=0.1)
    result = sweep("cartpole", lean, perturbation=mask, strength=[0, 0.5], episodes=2, seeds=[0])
    assert result.notes[1:] == ["a level without effect: `r` = 0.1 of 4 numbers masks none; at least 1 / 4 masks one"]
    assert result.curve["return"].nunique() == 1


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
        (lambda: evaluate("auto", lean), "`env` 'auto' needs a policy that names the environment of its training"),
        (
            lambda: evaluate("cartpole", "zoo/pendulum_sac"),
            "zoo/pendulum_sac was trained in Pendulum-v1, not in CartPole",
        ),
        (lambda: evaluate("cartpole", "rndom"), "`policy` has no 'rndom'; did you mean `random`"),
        (lambda: sweep("cartpole", lean, perturbation="none", strength=[0]), "Perturbation has no strength to sweep"),
        (lambda: load("perturbation", "gaussian_observation", sgima=1), "did you mean `sigma`"),
        (lambda: evaluate("cartpole", lean, episodes=0), "`episodes` must be at least 1, got 0"),
    ],
)
def test_mistakes(call, message):
    with pytest.raises(UserError, match=message):
        call()
