"""Random episodes of many different studies, each run as a sweep and then again: every row comes out bit for bit."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from brittlestar.cells.replay import replay
from brittlestar.commands.replay import main
from brittlestar.results.load import read_cells

EPISODES_PER_STUDY = 3
ON_GYMNASIUM = ("env.backend=gymnasium", "env.max_steps=60")
STUDIES = {
    "noise, learned policy, MuJoCo": ("env=fetch_reach", "policy=zoo/fetch_reach_sac_0", "perturbation.sigma=0,0.1"),
    "bursts of noise": (
        "policy=zoo/pendulum_sac", *ON_GYMNASIUM, "perturbation.sigma=0,0.5", "stress_schedule=bursts",
        "stress_schedule.onset_step=4", "stress_schedule.duration_steps=5", "stress_schedule.period_steps=15",
    ),
    "stress study, state across episodes": (
        "experiment=stress", "perturbation=sensor_blackout", "perturbation.carry=shock", "seed=0",
        "episodes=12", "stress_schedule.pre=4", "stress_schedule.shock=4",
    ),
    "late actions with two mitigations": (
        "policy=zoo/pendulum_td3", *ON_GYMNASIUM, "perturbation=delayed_action", "perturbation.delay_steps=0,3",
        "mitigation=low_pass,rate_limit_action",
    ),
    "recurrent policy": (
        "env=pendulum", *ON_GYMNASIUM, "policy=sb3", "policy.path=recurrent.zip", "perturbation.sigma=0,0.4",
    ),
    "world edits": (
        "policy=zoo/hopper_sac", *ON_GYMNASIUM, "perturbation=body_mass,push", "stress_schedule=constant,linear",
    ),
    "EnvPool with masks": (
        "policy=zoo/cartpole_ppo", "env.backend=envpool", "perturbation=mask_observation", "perturbation.p=0,0.4,0.9",
    ),
    "composition with a Kalman filter": (
        "policy=zoo/half_cheetah_sac", "env.max_steps=60", "perturbation=[gaussian_observation,delayed_action]",
        "perturbation.scale=0,1", "mitigation=kalman_observation",
    ),
    "toy text, sampled actions": (
        "policy=zoo/frozen_lake_ppo", "deterministic=false", "perturbation=random_action", "perturbation.p=0,0.3",
    ),
    "attack": (
        "policy=zoo/acrobot_ppo", "env.max_steps=60", "perturbation=fgsm_observation", "perturbation.epsilon=0,0.1",
    ),
    "pixels of Atari": ("env=pong", "env.max_steps=40", "policy=random", "perturbation=gaussian_image"),
    "policy of a module, published seeds": (
        "env=cartpole", "policy=callable", "policy.path=mine:act", "episode_seeds=consecutive",
        "perturbation.sigma=0,0.2",
    ),
}  # fmt: skip
MODULE = """
import time
calls = 0
def act(observation):
    return int(observation[2] + 0.1 * observation[3] > 0)
def counting(observation):
    global calls
    calls += 1
    return int(observation[2] + 0.01 * (calls % 3) > 0)
def by_clock(observation):
    return time.perf_counter_ns() // 1000 % 2
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the policies of the studies."""
    from sb3_contrib import RecurrentPPO

    folder = tmp_path_factory.mktemp("studies")
    RecurrentPPO("MlpLstmPolicy", "Pendulum-v1", n_steps=8, batch_size=8, seed=0).save(folder / "recurrent.zip")
    (folder / "mine.py").write_text(MODULE)
    return folder


def run(folder: Path, number: int, words: tuple[str, ...]) -> Path:
    usual = () if any(word.startswith("experiment=") for word in words) else ("seed=0,1", "episodes=6")
    command = [sys.executable, "-m", "brittlestar.commands.main", "-m", *words, *usual, f"hydra.sweep.dir=s{number}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return folder / f"s{number}"


@pytest.mark.slow
def test_random_episodes_of_many_studies_come_out_bit_for_bit(folder, monkeypatch):
    pytest.importorskip("envpool")
    pytest.importorskip("ale_py")
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    rng, lines, wrong = np.random.default_rng(19), [], []
    for number, (study, words) in enumerate(STUDIES.items()):
        cells = [cell for cell in read_cells(run(folder, number, words)) if cell.done]
        for cell in rng.choice(np.array(cells, dtype=object), EPISODES_PER_STUDY).tolist():
            episode, start = int(rng.integers(len(cell.rows()))), time.perf_counter()
            again = replay(cell.manifest, cell.rows(), episode)
            seconds = time.perf_counter() - start
            state = f"differs: {again.differences}" if again.differences or again.changes else "bit for bit"
            place = f"cell {cell.manifest['number']}, episode {episode}, {len(again.columns)} columns"
            lines.append(f"| {study} | {place} | {again.metrics['length']:.0f} steps | {state} | {seconds:.1f} s |")
            wrong += [lines[-1]] if state != "bit for bit" else []
    print("", *lines, sep="\n")
    assert len(lines) >= 30 and not wrong


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["by_clock", "counting"])
def test_a_cell_that_cannot_be_repeated_is_reported_with_the_reason(policy, folder, monkeypatch, call):
    words = ("env=cartpole", "policy=callable", f"policy.path=mine:{policy}", "perturbation.sigma=0,0.1")
    sweep = run(folder, len(STUDIES) + (policy == "counting"), words)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    code, output, error = call(main, str(sweep), "--cell", "0", "--episode", "2", "--size", "64")
    assert (code, error) == (1, "") and "not the recorded row: length was " in output
    assert "  code, versions and files are those of the record: the policy or the environment has a clock, " in output


@pytest.mark.slow
@pytest.mark.parametrize("study", ["policy of a module, published seeds", "pixels of Atari"])
def test_a_new_process_finds_what_the_sweep_found(study, folder):
    pytest.importorskip("ale_py")
    sweep = run(folder, 100 + list(STUDIES).index(study), STUDIES[study])
    # As the installed command: without the working directory on the path.
    command = [sys.executable, "-P", "-m", "brittlestar.commands.main", "replay", sweep.name, "--size", "64"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert "bit for bit" in done.stdout and "without pictures" not in done.stdout
