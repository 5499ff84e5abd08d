"""What the shipped studies find, run small and read from their tables: masking, adversarial, smoke_models."""

import itertools

import gymnasium as gym
import numpy as np
import pytest

from brittlestar.config import config_folder, options
from brittlestar.policies.zoo import cards as zoo
from brittlestar.results.load import read_cells
from brittlestar.sweeps.option_globs import choose_options

PPO, DQN = "policy=zoo/cartpole_ppo", "policy=zoo/cartpole_dqn"
SHORT = ["env=cartpole", "env.max_steps=60"]
LEVELS = [0, 0.2, 0.4, 0.6, 0.8, 1]
METRICS = ("return", "action_divergence", "time_to_failure", "recovery_time", "instability")
LEANING = "def leaning(observation):\n    return int(observation[2] > 0)\n"


def select(rows, **wanted):
    return [row for row in rows if all(row[key.replace("__", ".")] == value for key, value in wanted.items())]


def check_instability(curve, episodes, *labels):
    """Its definition, from the rows of the episodes: the standard deviation over seeds of the mean return."""
    for row in curve:
        same = [e for e in episodes if all(e[c] == row[c] for c in (*labels, "strength"))]
        seeds = {e["seed"] for e in same}
        means = [np.mean([e["return"] for e in same if e["seed"] == seed]) for seed in seeds]
        assert row["n_seeds"] == len(seeds)
        assert row["return"] == pytest.approx(np.mean(means))
        assert row["instability"] == pytest.approx(np.std(means, ddof=1))


def test_masking(shell):
    shell.sweep("experiment=masking", PPO, *SHORT, "episodes=4", "seed=0,1")
    curve, episodes = shell.table("sweep", "curve"), shell.table("sweep", "episodes")
    kinds = [select(curve, perturbation__kind=kind) for kind in ("channel", "random")]
    assert len(curve) == 12 and shell.table("sweep", "failures") == []
    for rows in kinds:
        assert [row["strength"] for row in rows] == LEVELS
        assert all(metric in row for row in rows for metric in METRICS)
        assert rows[-1]["return"] < rows[0]["return"] == 60
        assert rows[-1]["action_divergence"] > rows[1]["action_divergence"] > rows[0]["action_divergence"] == 0
        # Nothing was masked, so nothing failed; all steps were masked, so nothing recovered.
        assert rows[0]["time_to_failure"] is None
        assert rows[0]["recovery_time"] is rows[-1]["recovery_time"] is None
        # Every step of CartPole pays 1: a pole that is still up is back after one step.
        assert rows[2]["recovery_time"] == 1
    clean = [{key: value for key, value in rows[0].items() if key != "perturbation.kind"} for rows in kinds]
    assert clean[0] == clean[1]
    assert kinds[0][3] != kinds[1][3] | {"perturbation.kind": "channel"}
    assert any(row["instability"] > 0 for row in curve)
    check_instability(curve, episodes, "perturbation.kind")


def replay(reset_seed: int) -> tuple[int, float]:
    """Length and divergence of an episode of a policy that sees zeros: it pushes left, whatever it would do."""
    env = gym.make("CartPole-v1")
    state, _ = env.reset(seed=reset_seed)
    wanted, done = [], False
    while not done:
        wanted.append(int(state[2] > 0))
        state, _, done, _, _ = env.step(0)
    return len(wanted), float(np.mean(wanted))


@pytest.mark.slow
def test_masking_of_everything_is_what_a_replay_says(shell):
    (shell.folder / "mine.py").write_text(LEANING)
    blind = ["perturbation.kind=channel", "perturbation.r=1", "perturbation.p=1", "env.backend=gymnasium"]
    mine = ["env=cartpole", "policy=callable", "policy.path=mine:leaning"]
    shell.sweep("experiment=masking", *mine, *blind, "episodes=3", "seed=0,1")
    rows = shell.table("sweep", "episodes")
    assert len(rows) == 6
    for row in rows:
        length, divergence = replay(row["reset_seed"])
        assert row["length"] == row["return"] == row["time_to_failure"] == length
        assert row["action_divergence"] == pytest.approx(divergence)
    assert len({row["action_divergence"] for row in rows}) > 1
    (point,) = shell.table("sweep", "curve")
    for metric in ("action_divergence", "time_to_failure"):
        assert point[metric] == pytest.approx(np.mean([row[metric] for row in rows]))


@pytest.mark.slow
def test_masking_compares_models_of_a_list(shell):
    models = [
        "{policy: zoo/cartpole_ppo, name: a}",
        "{policy: zoo/cartpole_dqn, name: b}",
        "{policy: zoo/frozen_lake_ppo}",
    ]
    (shell.folder / "models.yaml").write_text("".join(f"- {model}\n" for model in models))
    few = ["env.max_steps=60", "episodes=2", "seed=0,1", "perturbation.p=0,1", "perturbation.r=1"]
    done, _ = shell.sweep("experiment=masking", "models=models.yaml", *few, check=False)
    curve = shell.table("sweep", "curve")
    for model in ("a", "b"):
        rows = [select(curve, model=model, strength=p) for p in (0, 1)]
        assert [len(group) for group in rows] == [2, 2]
        assert max(row["return"] for row in rows[1]) < min(row["return"] for row in rows[0])
    # States cannot be masked: one mistake, one line, and one row per cell in the table.
    assert done.returncode == 1
    lines = done.stderr.strip().splitlines()
    assert [line for line in lines if "needs a Box observation" in line] == [lines[-1]]
    assert lines[-1].startswith("  4 cells: MaskObservation needs a Box observation")
    assert "policy=zoo/frozen_lake_ppo" in lines[-1] and lines[-1].endswith("first: perturbation.kind=channel seed=0)")
    assert len(shell.table("sweep", "failures")) == 4


def test_masking_as_published(shell):
    done, folder = shell.sweep("experiment=masking_published", "env.max_steps=30", "episodes=1", "seed=0")
    curve = shell.table("sweep", "curve")
    assert [(row["env"], row["perturbation.kind"], row["strength"]) for row in curve] == [
        ("acrobot", kind, p) for kind in ("channel", "random") for p in LEVELS
    ]
    node = read_cells(folder)[1].config["perturbation"]
    assert (node["r"], node["where"], node["fill"]) == (0.3, "after", "zero")
    assert "masks none" not in done.stdout, "0.3 of 6 numbers is one"


@pytest.mark.slow
def test_a_share_below_one_feature_is_a_level_without_masks(shell):
    words = ["experiment=masking", PPO, *SHORT, "episodes=2", "seed=0", "perturbation.p=0,1", "perturbation.r=0.1"]
    done, _ = shell.sweep(*words, "perturbation.kind=channel")
    rows = shell.table("sweep", "curve")
    assert [row["return"] for row in rows] == [60, 60] and shell.table("sweep", "failures") == []
    assert (
        "note: a level without effect: `r` = 0.1 of 4 numbers masks none; at least 1 / 4 masks one (1 of 2"
        in done.stdout
    )


def test_masking_grid(shell):
    _, folder = shell.sweep("experiment=masking_grid", DQN, *SHORT, "episodes=2", "seed=0,1")
    curve = shell.table("sweep", "curve")
    shares, levels = (0, 0.1, 0.3, 0.5), (0, 0.25, 0.5, 0.75, 1)
    places = {(row["perturbation.r"], row["strength"]): row for row in curve}
    assert len(curve) == 20 and set(places) == set(itertools.product(shares, levels))
    # No share of the features, or of the steps, is no mask.
    edge = [row for (r, p), row in places.items() if r == 0 or p == 0]
    assert {(row["return"], row["action_divergence"]) for row in edge} == {(60, 0)}
    assert places[0.5, 1]["return"] < 60
    # What is masked at a small share is masked at a larger one: some entries at 0.5 of all, never none.
    assert 0 < places[0.1, 1]["action_divergence"] < places[0.5, 1]["action_divergence"]
    assert {row["perturbation.kind"] for row in curve if "perturbation.kind" in row} <= {"random"}
    check_instability(curve, shell.table("sweep", "episodes"), "perturbation.r")
    assert (folder / "heatmap.png").stat().st_size > 0


def test_adversarial(shell):
    shell.sweep("experiment=adversarial", PPO, *SHORT, "episodes=3", "perturbation.epsilon=0,0.3")
    curve = shell.table("sweep", "curve")
    attacks = ("random_sign_observation", "fgsm_observation", "mad_observation", "pgd_observation")
    assert {(row["perturbation"], row["strength"]) for row in curve} == set(itertools.product(attacks, (0, 0.3)))
    assert {(row["return"], row["action_divergence"]) for row in select(curve, strength=0)} == {(60, 0)}
    hit = {row["perturbation"]: row for row in select(curve, strength=0.3)}
    for name in attacks:
        assert hit[name]["return"] < 60 and hit[name]["action_divergence"] > 0
    # What follows the gradient does more harm than chance, at the same epsilon.
    for name in attacks[1:]:
        assert hit[name]["return"] < hit[attacks[0]]["return"]
        assert hit[name]["action_divergence"] > hit[attacks[0]]["action_divergence"]
    check_instability(curve, shell.table("sweep", "episodes"), "perturbation")


@pytest.mark.slow
def test_smoke_models_takes_a_list_and_names_what_does_not_run(shell):
    (shell.folder / "broken.zip").write_bytes(b"no zip")
    good, broken = "{policy: zoo/cartpole_ppo, name: good}", "{path: broken.zip, env: cartpole}"
    (shell.folder / "models.yaml").write_text(f"- {good}\n- {broken}\n- missing/CartPole-v1.zip\n- gone_folder\n")
    done, _ = shell.sweep("experiment=smoke_models", "models=models.yaml", check=False)
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1] == "brittlestar: 3 of 4 cells failed"
    lines = [[part.strip() for part in line.split("|")[1:-1]] for line in done.stdout.splitlines() if "|" in line]
    rows = {line[0]: dict(zip(lines[0], line, strict=True)) for line in lines[2:]}
    assert rows["good"] == {"model": "good", "env": "CartPole-v1", "runs": "yes", "steps": "10", "why": ""}
    assert {name: row["runs"] for name, row in rows.items() if name != "good"} == dict.fromkeys(
        ("broken.zip", "missing/CartPole-v1.zip", "gone_folder"), "NO"
    )
    assert "broken.zip cannot be read: it is not a zip file" in rows["broken.zip"]["why"]
    assert rows["missing/CartPole-v1.zip"]["why"].startswith("there is no missing/CartPole-v1.zip")
    assert rows["gone_folder"]["why"].startswith("there is no gone_folder")
    assert [row["model"] for row in shell.table("sweep", "cells")] == ["good"]
    assert len(shell.table("sweep", "failures")) == 3


def zoo_options():
    """The first trainings: `policy.training` chooses the others."""
    return {f"zoo/{name}" for name in zoo.recipes() if zoo.is_shipped(name)} & set(options("policy"))


def test_smoke_models_alone_means_the_zoo():
    from omegaconf import OmegaConf

    study = OmegaConf.load(config_folder() / "experiment" / "smoke_models.yaml")
    pattern = study.hydra.sweeper.params.policy
    assert pattern == "glob(zoo/*)"
    assert set(choose_options(options("policy"), [pattern[len("glob(") : -1]])) == zoo_options()


@pytest.mark.slow
def test_smoke_models_alone_runs_the_zoo(shell):
    done, _ = shell.sweep("experiment=smoke_models")
    cells = shell.table("sweep", "cells")
    assert {row["policy"] for row in cells} == zoo_options()
    assert {row["length"] for row in cells if row["policy"] != "zoo/frozen_lake_ppo"} == {10}
    assert done.stdout.count("| yes ") == len(cells) > 20


def test_smoke_models_of_one_policy(shell):
    done, _ = shell.sweep("experiment=smoke_models", "policy=sb3", "policy.path=a/Missing-v1.zip", check=False)
    assert done.returncode == 1
    assert "| NO " in done.stdout and "there is no a/Missing-v1.zip" in done.stdout
    shell.sweep("experiment=smoke_models", PPO, name="good")
    assert [row["policy"] for row in shell.table("good", "cells")] == ["zoo/cartpole_ppo"]
