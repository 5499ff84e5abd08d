"""The protocol page: everything that the configs say, and nothing that they do not."""

from __future__ import annotations

import re

import pytest
from omegaconf import OmegaConf

from brittlestar.cells.job import Job
from brittlestar.config import config_folder
from brittlestar.errors import UserError
from brittlestar.reports.protocol import planned_cells, protocol, write_protocol
from brittlestar.reports.sections import Section
from brittlestar.results.aggregate import aggregate


def option(group: str, name: str, **values) -> dict:
    node = OmegaConf.to_container(OmegaConf.load(config_folder() / group / f"{name}.yaml"), resolve=True)
    return {key: value for key, value in node.items() if key != "defaults"} | values


@pytest.fixture
def cell(make_cell):
    """Makes a cell from shipped options; `strength` sets the field that is the perturbation's strength."""

    def make(
        success=(1.0, 0.0), *, seed=0, field="sigma", strength=0.0, env="fetch_reach", policy="p_controller",
        perturbation="gaussian_observation", mitigation="none", schedule="constant", parts=None, **values,
    ):  # fmt: skip
        config = {
            "env": option("env", env),
            "policy": option("policy", policy),
            "perturbation": option("perturbation", perturbation, **{field: strength} if field else {}),
            "mitigation": option("mitigation", mitigation),
            "stress_schedule": option("stress_schedule", schedule),
        }
        for group, changes in (parts or {}).items():
            config[group] |= changes
        choices = {"env": env, "policy": policy, "perturbation": perturbation, "mitigation": mitigation}
        metrics = {name: values.pop(name) for name in ("measure", "truncated", "length") if name in values}
        return make_cell(
            success, strength=strength, seed=seed, name=field, config=config | values,
            choices=choices | {"stress_schedule": schedule}, **{"truncated": 1} | metrics,
        )  # fmt: skip

    return make


def page_of(cells, sections=()) -> str:
    return protocol(cells, aggregate(cells), sections)


def part(page: str, title: str) -> str:
    return page.partition(f"\n## {title}\n\n")[2].partition("\n\n## ")[0]


def test_a_sweep_over_strengths_and_seeds(cell):
    cells = [cell(strength=s, seed=seed, success=[1.0] * 100) for s in (0.0, 0.05, 0.1) for seed in (0, 1, 2)]
    page = page_of(cells)
    assert page.startswith("# Evaluation protocol\n\nMade from the configs of 9 cells: 9 finished.\n\n## Task\n\n")
    task = part(page, "Task")
    assert "- **fetch_reach** (`FetchReach-v4`): Move the gripper of a Fetch arm to a point; 50 steps." in task
    assert "  - Time limit: 50 steps" in task
    assert "`|achieved_goal - desired_goal| < distance`" in task and "`distance` = 0.05 (metres)." in task
    assert "It counts at any step (`success_any`)" in task
    trials = part(page, "Trials")
    assert "- 100 episodes per cell, with each of the seeds 0, 1, 2." in trials
    assert "That is 300 trials for each row of the curve" in trials and "they are paired" in trials
    assert part(page, "Perturbations").splitlines()[:2] == [
        "- **gaussian_observation**: Gaussian noise on observations.",
        "  - `sigma` = 0, 0.05, 0.1 (the strength). Standard deviation, in the unit of `scale`.",
    ]
    assert "`scale` = absolute. absolute | std: unit of the observation" in part(page, "Perturbations")
    assert part(page, "Mitigations") == "- **none**: No mitigation."
    assert "- **constant**: The same level at every step of every episode." in part(page, "Schedules")
    statistics = part(page, "Statistics")
    assert "Intervals of `success_any`: t over 3 seeds, at least Wilson, n = 300, 95 %." in statistics
    assert "t-scaled bootstrap over 3 seeds" in statistics and "falls below 0.5" in statistics
    reasons = part(page, "Why this many trials")
    assert re.search(r"\| 300 +\| ± 5\.8 points \| ± 4\.7 points \| ± 2\.6 points +\|", reasons), reasons
    assert "263 for ± 5 points" in reasons
    limits = part(page, "What it cannot tell")
    assert "Everything is simulated." in limits and "There is one seed" not in limits
    assert "Other perturbations than `gaussian_observation` were not tested." in limits
    assert "Between two strengths a curve is interpolated" in limits
    assert "training run" not in limits, "a scripted controller is not trained"


def test_the_widths_are_those_of_plan(cell):
    from brittlestar.statistics.sample_size import expected_half_width

    reasons = part(page_of([cell([1.0] * 40)]), "Why this many trials")
    row = next(line for line in reasons.splitlines() if line.startswith("| 40"))
    widths = [float(number) for number in re.findall(r"± ([\d.]+) points", row)]
    assert widths == [round(100 * expected_half_width(40, rate), 1) for rate in (0.5, 0.8, 0.95)]


def test_one_cell_states_what_is_missing(cell):
    limits = part(page_of([cell(strength=0.1, policy="zoo/cartpole_ppo", env="cartpole")]), "What it cannot tell")
    for line in (
        "There is one seed.",
        "A learned policy is the result of one training run",
        "not measured with sampled actions",
        "At other strengths than these nothing is known.",
        "No cell is without perturbation",
    ):
        assert line in limits


def test_a_return_has_no_number_of_trials(cell):
    cells = [cell(env="pendulum", strength=s, measure="return", **{"length": 200}) for s in (0.0, 0.1)]
    page = page_of(cells)
    assert "  - Success: not defined." in page
    assert "0 is a return of -1215.65 (random actions), 1 is -150 (reference)" in page
    assert "The measure is a return." in part(page, "Why this many trials") and "points" not in page
    assert "Measured: `return`" in page


def test_success_at_the_end_only_and_a_changed_time_limit(cell):
    task = part(page_of([cell(env="cartpole", parts={"env": {"max_steps": 40}})]), "Task")
    assert "The return of the episode is at least `threshold`. `threshold` = 475. It is known at the end" in task
    assert "Time limit: 40 steps (`env.max_steps`)." in task


def test_a_time_limit_is_the_registered_one_whatever_ended_an_episode(cell):
    assert "Time limit: 500 steps." in page_of([cell(env="cartpole", truncated=1, length=7)])


def test_the_time_limit_is_that_of_the_environment_that_ran(cell):
    one = cell(env="cartpole")
    one.manifest["registered_steps"] = 123
    assert "Time limit: 123 steps." in page_of([one])


def test_the_time_limit_of_an_id_that_is_not_registered_is_that_of_the_episodes(cell):
    def task(**metrics):
        return part(page_of([cell(env="cartpole", parts={"env": {"id": "Elsewhere-v0"}}, **metrics)]), "Task")

    assert "Time limit: 70 steps, as the episodes show." in task(truncated=[0, 1], length=[90, 70])
    assert "Time limit: none that is registered." in task(truncated=0)


def test_phases_of_a_stress_study(cell):
    cells = [
        cell([1.0] * 6, perturbation=name, field=field, strength=strength, schedule="phases", env="cartpole")
        for name, field, strength in (("baseline", None, 0.0), ("trust_violation", "scale", 0.8))
    ]
    for one in cells:
        one.manifest["phases"] = ["pre", "shock", "post"]
        one.held[:, one.manifest["columns"].index("phase")] = [0, 0, 1, 1, 2, 2]
    reference = cell(seed=9, role="reference")
    tables, section = aggregate(cells), Section("Stress", "", methods=["A paired test."], limits=["No task."])
    page = protocol([*cells, reference], tables, [section])
    assert "configs of 3 cells, 1 of them added by the study as `reference`: 3 finished." in page
    assert "2 trials for each setting, strength and phase (pre, shock, post)" in part(page, "Trials")
    assert "- **baseline**: No stress: the baseline of stress phases." in page
    assert "  - `scale` = 0.8 (the strength). Factor of the drawn intensity" in page
    assert "  - `shock` = 40. Episodes of the shock." in part(page, "Schedules")
    assert "- A paired test." in part(page, "Statistics") and "- No task." in part(page, "What it cannot tell")
    assert "`baseline`" not in part(page, "What it cannot tell"), "it is no perturbation"
    assert "interpolated" not in page and "Intervals of slope" not in page, "one strength is not a curve"
    assert "`segments`" not in page and "`parameter` = null. " in page, "null is listed where it has a meaning"


def test_a_grid_of_masks(cell):
    cells = [
        cell(perturbation="mask_observation", field="p", strength=p, parts={"perturbation": {"r": r}})
        for p in (0.0, 0.5, 1.0) for r in (0.1, 0.3)
    ]  # fmt: skip
    text = part(page_of(cells), "Perturbations")
    assert "  - `p` = 0, 0.5, 1 (the strength). Probability that numbers are masked at a step." in text
    assert "  - `r` = 0.1, 0.3. Share of masked numbers at such a step." in text


def test_a_composition_lists_its_parts_with_their_units(cell):
    text = part(page_of([cell(perturbation="compose", field="scale", strength=1.0)]), "Perturbations")
    assert "  - **noise**: Gaussian noise on observations." in text
    assert "    - `sigma` = 0.02 (the strength). Standard deviation" in text
    assert "    - **perturbation**: Weak actuators" in text and "    - **schedule**: Full level for some steps" in text
    assert "      - `duration_steps` = 10. Length of a burst in steps." in text


def test_a_composition_is_tested_as_a_whole(cell):
    limits = part(page_of([cell(perturbation="gaussian_pair", field="scale", strength=1.0)]), "What it cannot tell")
    assert "Other perturbations than `gaussian_pair` of `observation`, `action` were not tested." in limits


def test_an_id_takes_the_notes_of_its_own_config_only(cell):
    def task(env_id):
        one = cell(env="cartpole", parts={"env": {"id": env_id, "success": None, "returns": None}})
        one.manifest["choices"]["env"] = "gym"
        return part(page_of([one]), "Task")

    assert task("Pendulum-v1").startswith("- **Pendulum-v1**: Swing a pendulum up and hold it; 200 steps.\n")
    assert task("MyEnv-v7").startswith("- **MyEnv-v7**\n"), "nothing is known of it"


def test_policies_of_several_environments(cell):
    names = {"zoo/cartpole_ppo": "cartpole", "zoo/pendulum_sac": "pendulum"}
    cells = [cell(policy=name, env=env, deterministic=mode) for name, env in names.items() for mode in (True, False)]
    page = page_of(cells)
    assert "- **cartpole** (`CartPole-v1`)" in page and "- **pendulum** (`Pendulum-v1`)" in page
    assert "- **zoo/cartpole_ppo**: ppo on cartpole" in page and "- **zoo/pendulum_sac**" in page
    assert "takes the most likely one in some cells, and in others samples from it." in page
    assert "not measured with" not in page


def test_a_hardened_policy_has_its_name_and_file(cell):
    before = cell(model="before")
    after = cell(policy="sb3", model="after", parts={"policy": {"path": "out/policy.zip"}})
    policies = part(page_of([before, after]), "Policies")
    assert "- **before: p_controller**: Scripted proportional controller" in policies
    assert "- **after: sb3 out/policy.zip**: A Stable-Baselines3 or sb3-contrib zip" in policies
    assert policies.count("out/policy.zip") == 1 and "policy.path=my" not in policies
    assert "`trust`" not in policies, "defaults are not listed"


def test_failed_cells_are_stated(cell, fail_cell):
    page = page_of([cell(), fail_cell(cell(strength=0.2))])
    assert "2 cells: 1 finished, 1 failed." in page
    assert "1 cell failed: no number covers it" in page


def test_nothing_finished_is_a_protocol_too(cell, fail_cell):
    page = page_of([fail_cell(cell())])
    assert "1 cell: 1 failed." in page and "## Perturbations" in page


def test_a_planned_sweep_names_its_statistics(cell):
    cells = [cell(strength=s, seed=seed, episodes=50) for s in (0.0, 0.1, -1.0) for seed in (0, 1)]
    page = protocol(planned_cells(Job(one.config, one.manifest["choices"]) for one in cells))
    assert "configs of 6 cells: 2 failed, 4 planned." in page and "## Statistics" in page
    assert "`sigma` = -1, 0, 0.1 (the strength)" in page
    assert "| 100 " in part(page, "Why this many trials"), "50 episodes of two seeds"
    assert "Time limit: 50 steps." in page, "the registered one"


def test_a_planned_schedule_with_phases_counts_the_trials_of_each(cell):
    one = cell(
        perturbation="trust_violation", field="scale", strength=0.8, schedule="phases", env="cartpole", episodes=120
    )
    page = protocol(planned_cells([Job(one.config, one.manifest["choices"])]))
    assert "That is 40 trials for each setting, strength and phase (pre, shock, post)." in page
    assert "| 40 " in part(page, "Why this many trials")


def test_consecutive_seeds_are_not_independent(cell):
    page = page_of([cell(seed=seed, episode_seeds="consecutive") for seed in (0, 1)])
    assert "neighbouring seeds share start states" in part(page, "Trials")
    assert "Seeds share start states" in part(page, "What it cannot tell")


def test_no_perturbation_is_stated(cell):
    page = page_of([cell(perturbation="none", field=None)])
    assert "No perturbation was tested" in part(page, "What it cannot tell")


def test_a_class_without_a_yaml_still_has_its_values(make_cell):
    page = page_of([make_cell([1.0], strength=0.3)])
    assert "- **gaussian_observation**\n  - `sigma` = 0.3 (the strength).\n" in page


def test_the_page_is_also_a_section_of_a_report(cell, tmp_path):
    cells = [cell()]
    text = write_protocol(tmp_path, cells, aggregate(cells))
    page = (tmp_path / "protocol.md").read_text()
    assert page.startswith("# Evaluation protocol\n") and page.endswith("\n")
    assert text.startswith("## Evaluation protocol\n") and "\n### Task\n" in text and "\n## Task" not in text


def test_a_page_that_cannot_be_written_is_one_line(cell, tmp_path):
    (tmp_path / "protocol.md").mkdir()
    with pytest.raises(UserError, match="cannot write to .*: Is a directory"):
        write_protocol(tmp_path, [cell()])
