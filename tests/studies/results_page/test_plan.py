"""The policies and sweeps behind the page, and mistakes in its options."""

import pytest
import yaml

from brittlestar.config import config_folder
from brittlestar.studies.results_page import plan as plans

SCRIPT = "scripts/results.py"
NO_POLICIES = [f"--policy={part}=" for part in plans.POLICIES]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policy=fetch_push.sca=random"], "has no part `fetch_push.sca`; did you mean `fetch_push.sac`?"),
        (["--policy=fetch_push.sac=randm"], "there is no policy `randm`; did you mean `random`?"),
        (["--seeds=0,0"], "`--seeds` must be different whole numbers"),
        (["--seeds=a"], "`--seeds` must be different whole numbers"),
        (["--episodes=0"], "`--episodes` must be at least 1, got 0"),
        (["--published=none.json"], "cannot read the published figures in none.json: No such file"),
    ],
)
def test_mistakes_end_in_one_line(shell, arguments, message):
    done = shell(*NO_POLICIES, *arguments, "--out=page/results.md", script=SCRIPT, check=False)
    assert done.returncode == 1 and message in done.stderr and done.stderr.count("\n") == 1
    assert not (shell.folder / "page").exists()


@pytest.mark.parametrize("task", plans.TASKS)
def test_the_studies_compare_the_policies_of_the_page(task):
    name = "fetch_clean_vs_robust" if task == "fetch_push" else f"{task}_clean_vs_robust"
    mine, plain = (
        yaml.safe_load((config_folder() / "experiment" / f"{study}.yaml").read_text())["hydra"]["sweeper"]["params"]
        for study in (name, f"{task}_observation")
    )
    clean, robust = (plans.POLICIES[f"{task}.{role}"] for role in (plans.SAC, plans.ROBUST))
    # Each training under noise beside its twin; there may be more trainings without noise.
    assert mine.pop("policy").split(",") == clean[: len(robust)] + robust
    assert mine == plain


def test_a_study_gives_both_curves_on_the_same_episodes(shell):
    few = ["policy=p_controller,push_controller", "perturbation.sigma=0,0.05", "episodes=2", "seed=0"]
    shell("-m", "experiment=fetch_clean_vs_robust", *few)
    folder = "multirun/fetch_clean_vs_robust"
    assert {row["policy"] for row in shell.table(folder, "curve")} == {"p_controller", "push_controller"}
    assert (shell.folder / folder / "curve.png").is_file()
    sides = ["--where-a", "policy=push_controller", "--where-b", "policy=p_controller"]
    assert "the same episodes: paired tests" in shell(folder, folder, *sides, script="scripts/compare.py").stdout
