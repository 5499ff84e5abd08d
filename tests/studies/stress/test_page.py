"""The stress benchmark: which policies it takes, what its page says, and that one command makes all of it."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser

from brittlestar.commands import stress_benchmark
from brittlestar.config import config_folder, register
from brittlestar.errors import UserError
from brittlestar.policies.zoo import cards as zoo
from brittlestar.statistics.conformal import conformal_threshold
from brittlestar.studies.stress.page import plan as plans
from brittlestar.studies.stress.page.findings import alarm_rows, event_chances, findings
from brittlestar.studies.stress.page.page import benchmark_page, copy_pictures
from brittlestar.studies.stress.page.plan import BenchmarkPlan
from brittlestar.studies.stress.page.tables import BenchmarkTables, read_tables
from brittlestar.studies.stress.study import StressPhases
from brittlestar.sweeps.option_globs import expand_options

ROOT = Path(__file__).parents[3]
SCRIPT = "scripts/stress_benchmark.py"
SHIPPED = [name for name in zoo.recipes() if zoo.is_shipped(name)]
SILENT = "cannot affect behaviour: all actions of 80 episodes are identical"


# Which policies


@pytest.fixture
def expanded():
    """Expands overrides as a sweep does."""
    register()
    with initialize_config_dir(str(config_folder()), version_base="1.3"):
        loader = GlobalHydra.instance().config_loader()
        parser = OverridesParser.create(config_loader=loader)
        yield lambda *texts: expand_options(parser.parse_overrides(list(texts)), loader)


def options(override) -> list[str]:
    return list(override.sweep_string_iterator()) if override.is_sweep_override() else [override.value()]


def test_the_experiment_takes_every_policy_that_is_trained(expanded):
    text = (config_folder() / "experiment" / f"{plans.EXPERIMENT}.yaml").read_text()
    (glob,) = re.findall(r"policy: (glob.*)", text)
    (policies,) = expanded(f"policy={glob}")
    assert sorted(options(policies)) == sorted(f"zoo/{name}" for name in SHIPPED)


def test_other_globs_and_lists_stay_as_they_are(expanded):
    given = ["policy=glob(p*_controller)", "policy=zoo/cartpole_ppo,random", "seed=0,1"]
    assert [override.input_line for override in expanded(*given)] == given
    assert options(expanded("policy=glob(p*_controller)")[0]) == ["p_controller", "push_controller"]


def test_a_glob_over_a_folder_can_leave_options_out(expanded):
    (found,) = expanded("policy=glob([zoo/cartpole*,rand*],exclude=*_ppo)")
    others = [f"zoo/{name}" for name in sorted(SHIPPED) if name.startswith("cartpole") and name != "cartpole_ppo"]
    assert options(found) == ["random", *others]


def test_a_glob_over_a_folder_that_matches_nothing(expanded):
    with pytest.raises(UserError, match=r"`policy=glob\(zoo/tetris\*\)` matches no option of `policy`"):
        expanded("policy=glob(zoo/tetris*)")


def test_the_plan_is_that_of_the_experiment():
    text = (config_folder() / "experiment" / f"{plans.EXPERIMENT}.yaml").read_text()
    assert f"\nepisodes: {BenchmarkPlan.episodes}\n" in text and "override /study: stress\n" in text
    assert StressPhases().reference == BenchmarkPlan.reference
    assert f"seed: {','.join(map(str, BenchmarkPlan.seeds))}\n" in text
    assert len(re.findall(r"perturbation: (baseline,.*)", text)[0].split(",")) == plans.STRESSORS


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--policies=cartpole_pop"], "the zoo has no `cartpole_pop`; did you mean `cartpole_ppo`?"),
        (["--seeds=0,0"], "`--seeds` must be different whole numbers"),
        (["--episodes=5"], "`--episodes` must be at least 6, got 5"),
        (["--reference=100"], "needs at least 230 reference episodes"),
    ],
)
def test_mistakes_end_in_one_line(shell, given, message):
    done = shell(*given, "--page=page/stress.md", script=SCRIPT, check=False)
    assert done.returncode == 1 and message in done.stderr and done.stderr.count("\n") == 1
    assert not (shell.folder / "page").exists()


# False alarms


@pytest.mark.parametrize(("calibrated", "alpha"), [(200, 0.05), (130, 0.1)])
def test_the_chances_of_false_alarms_are_those_of_conformal_thresholds(calibrated, alpha):
    rng, episodes, seeds, times = np.random.default_rng(0), 40, 3, 20_000
    thresholds = conformal_threshold(rng.exponential(size=(times, seeds, calibrated)), alpha)
    events = (rng.exponential(size=(times, seeds, episodes)) > thresholds[..., None]).sum(axis=(1, 2))
    chances = event_chances(episodes, seeds, calibrated, alpha)
    found = np.bincount(events, minlength=len(chances)) / times
    error = np.sqrt(chances * (1 - chances) / times)
    assert (np.abs(found - chances) < 5 * error + 1e-4).all()
    assert chances.sum() == pytest.approx(1.0)


def test_too_few_held_out_episodes_raise_no_alarm():
    assert event_chances(10, 2, 10, 0.05)[0] == 1.0


# What the page says


def stress_row(policy="cartpole_ppo", stressor="concept_drift", deterministic=True, **changes) -> dict:
    row = {
        "env": "cartpole", "policy": f"zoo/{policy}", "deterministic": deterministic, "perturbation": stressor,
        "n_seeds": 3, "n_episodes": 360, "rate_shock": 0.5, "rate_post": 0.04, "excess": 0.45, "false_alarms": 0.05,
        "identity_drop": 0.2, "recovery_episodes": 2.0, "recovered": 1.0, "return_p_value": 0.5, "verdict": "collapse",
    }  # fmt: skip
    return row | changes


def board_row(**changes) -> dict:
    ranks = {"rank_stability": 1, "rank_stability_low": 1, "rank_stability_high": 2}
    row = {"env": "cartpole", "policy": "zoo/cartpole_ppo", "deterministic": True, "n_agents": 2, "pareto": True}
    row |= {"stability": 0.6, "stability_low": 0.5, "stability_high": 0.7, "normalised_return": 1.0}
    return row | {"clean_return": 500.0, "identity": 0.9, "compat_score": 0.7} | ranks | changes


def tables(*more: dict, **changes) -> BenchmarkTables:
    rows = []
    for mode in (True, False):
        rows.append(stress_row(stressor="baseline", deterministic=mode, verdict="no stress", rate_shock=0.04))
        rows.append(stress_row(deterministic=mode, rate_shock=0.5 if mode else 0.3))
        rows.append(stress_row(stressor="sensor_blackout", deterministic=mode, excess=0.1, verdict="no collapse shown"))
        rows.append(stress_row(stressor="reward_noise", deterministic=mode, verdict=SILENT))
    pair = {"correlation": "return and stability", "x": "normalised_return", "y": "stability", "deterministic": True}
    pair |= {"n": 5, "pearson": -0.9, "pearson_p": 0.03, "spearman": None, "spearman_p": None}
    board = [board_row(), board_row(deterministic=False, normalised_return=None)]
    given = {"stress": [*rows, *more], "leaderboard": board, "correlations": [pair], "failures": []}
    return BenchmarkTables(**given | changes)


def said(found: BenchmarkTables) -> str:
    return "\n".join(findings(found, alarm_rows(found, 300, 0.05), 0.05))


def test_findings_are_computed():
    text = said(tables())
    assert "Without stress 5.0 % of 720 episodes count as a collapse; 5.0 % is accepted. No agent of 2 is" in text
    assert "The hardest stressor is `concept_drift`: 40.0 % of the episodes in the shock collapse" in text
    assert "+45.0 points against the same ones without stress; beyond chance for 2 of 2 agents." in text
    assert "The mildest of those that change anything is `sensor_blackout`: 50.0 % of" in text
    assert "In 2 of 6 pairs of agent and stressor no action changed, always so under `reward_noise`" in text
    assert "In 2 of 2 collapses beyond chance the return alone does not show it" in text
    assert "Return and stability, deterministic: the higher the one, the lower the other (r = -0.9, p = 0.03" in text
    assert "50.0 % of the episodes collapse with deterministic actions, 40.0 % with sampled ones" in text


def test_findings_follow_the_tables():
    found = tables(stress_row("cartpole_dqn", "sensor_blackout", excess=1.2, return_p_value=0.001))
    assert "The hardest stressor is `sensor_blackout`: 50.0 % of the episodes" in said(found)
    assert "+46.7 points against the same ones without stress; beyond chance for 1 of 3 agents." in said(found)
    assert "In 2 of 3 collapses beyond chance the return alone does not show it" in said(found)


def test_a_broken_promise_is_said():
    noisy = stress_row("cartpole_dqn", "baseline", false_alarms=0.2, verdict="no stress")
    text = said(tables(noisy))
    assert "**The promise is broken** by `cartpole_dqn` (deterministic, 20.0 %)" in text


def section(text: str, name: str) -> str:
    return text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def cells(text: str) -> list[list[str]]:
    """Rows of the table of a section, the head first."""
    lines = [line for line in text.splitlines() if line.startswith("|") and not line.startswith("|--")]
    return [[word.strip() for word in line.strip("|").split("|")] for line in lines]


@pytest.fixture
def plan(tmp_path):
    return BenchmarkPlan(("cartpole_ppo",), page=tmp_path / "stress.md", folder=tmp_path / "sweep")


def test_the_page_shows_the_tables(plan):
    text = benchmark_page(plan, tables())
    assert cells(section(text, "Collapse rates"))[1:] == [
        ["cartpole", "cartpole_ppo", mode, "0.04", rate, "0.5", "–"]
        for mode, rate in (("deterministic", "**0.5**"), ("stochastic", "**0.3**"))
    ]
    alarm = cells(section(text, "False alarms"))[1]
    assert alarm[3:6] == ["360", "5.0 % [3.2 %, 7.8 %]", "5.0 %"] and alarm[-1] == "yes"
    board = cells(section(text, "Leaderboard"))
    assert board[1][2:6] == ["1 [1, 2] of 2", "cartpole_ppo", "0.6 [0.5, 0.7]", "1"] and board[2][5] == "(500)"
    assert "40 before the shock, 40 in it, 40 after it" in section(text, "How it was made")
    assert "**Not all of it.** The whole benchmark is `brittlestar stress-benchmark`." in text
    failed = benchmark_page(plan, tables(failures=[{"error": "it broke"}]))
    assert "**1 cells failed and are left out:** it broke." in failed


def test_pictures_are_small(tmp_path):
    from PIL import Image

    (tmp_path / "figures").mkdir()
    Image.new("RGB", (3000, 2000)).save(tmp_path / "figures" / "figure_suites.png")
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "old.png").write_bytes(b"")
    assert copy_pictures(tmp_path / "figures", tmp_path / "page") == ["suites"]
    assert [path.name for path in (tmp_path / "page").iterdir()] == ["suites.png"]
    with Image.open(tmp_path / "page" / "suites.png") as image:
        assert image.size == (1000, 667)


# The committed page


def test_the_committed_page_is_what_the_script_writes(plan):
    text = (ROOT / BenchmarkPlan.page).read_text()
    (command,) = set(re.findall(r"Written by `(brittlestar stress-benchmark[^`]*)`", text))
    given = stress_benchmark.make_plan(stress_benchmark.make_parser().parse_args(shlex.split(command)[2:]))
    assert given.command == command
    made = benchmark_page(plan, tables())
    sections = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert sections == re.findall(r"^## (.*)$", made, re.MULTILINE)
    for name in sections:
        head, mine = cells(section(text, name))[:1], cells(section(made, name))[:1]
        # Which stressors there are depends on the tables.
        assert head == mine or name == "Collapse rates", name
        if not head:
            assert section(text, name).strip(), name
    shown = re.findall(r"!\[.*\]\((.*)\)", text)
    assert shown and all((ROOT / "docs" / path).stat().st_size > 1000 for path in shown)
    assert {Path(path).stem for path in shown} == {path.stem for path in (ROOT / "docs/stress_benchmark").glob("*.png")}


# The whole


@pytest.mark.slow
def test_one_command_makes_all_of_it(shell):
    few = ["--policies=cartpole_ppo,mountain_car_trpo", "--episodes=9", "--reference=230", "--seeds=0", "--page=p/s.md"]
    done = shell(*few, script=SCRIPT)
    text, folder = (shell.folder / "p/s.md").read_text(), shell.folder / "multirun/stress_benchmark"
    assert "2 policies x 8 stressors x 1 seeds x 2 modes = 32 cells, and 4 reference passes" in done.stdout
    found = read_tables(folder)
    assert len(found.agents()) == 4 and len(found.leaderboard) == 4 and not found.failures
    rates = {tuple(row[:3]): row for row in cells(section(text, "Collapse rates"))[1:]}
    for (env, policy, mode), rows in found.agents().items():
        row = rates[env, policy, mode]
        assert row[3] == f"{rows['baseline']['rate_shock']:.3g}"
        drift = rows["concept_drift"]
        assert row[4].strip("*") in (f"{drift['rate_shock']:.3g}", "–")
    # A stressor of rewards changes nothing that a policy does.
    assert {"reward_noise", "valence_inversion"} <= found.silent
    assert (folder / "leaderboard.tex").is_file() and len(list((folder / "figures").glob("*.pdf"))) >= 10
    assert (shell.folder / "p/s/collapse_map.png").is_file()
    again = shell(*few, script=SCRIPT)
    assert re.findall(r"(\d+) done, 0 failed, (\d+) cached", again.stderr) == [("0", "36")]
    assert (shell.folder / "p/s.md").read_text() == text
    assert json.loads((folder / "leaderboard.json").read_text()) == found.leaderboard


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nothing_runs_on_when_it_is_stopped(shell, number):
    few = ["--policies=cartpole_ppo,hopper_ppo", "--page=p/s.md"]
    process = subprocess.Popen(
        [sys.executable, str(ROOT / SCRIPT), *few],
        cwd=shell.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    while not list(shell.folder.glob("outputs/store/*")):
        assert process.poll() is None
        time.sleep(0.1)
    # A terminal tells all, a cluster only the one it started.
    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
    error = process.communicate(timeout=60)[1]
    assert process.returncode == 130 and "interrupted; finished work is kept" in error and "Traceback" not in error
    deadline = time.monotonic() + 30
    while is_alive(process.pid):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def is_alive(session: int) -> bool:
    try:
        os.killpg(session, 0)
    except ProcessLookupError:
        return False
    return True
