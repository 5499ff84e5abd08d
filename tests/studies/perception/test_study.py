"""A perception sweep, by one command and in Python."""

import json

import numpy as np
import pytest
from matplotlib import image

from brittlestar import dr_sweep, standard_dr_sweeps
from brittlestar.commands.run import main
from brittlestar.envs import EnvSpec
from brittlestar.envs.pixels import Pixels
from brittlestar.envs.success import GoalReached
from brittlestar.errors import UserError
from brittlestar.studies.perception.study import Perception
from brittlestar.studies.perception.swept_cells import agents_of

SEEN = Pixels(camera="external_camera_0", size=32, samples=0)
CAMERA = ["env=fetch_reach", "env.pixels.camera=external_camera_0"]


def test_one_command_gives_areas_points_and_pictures(shell, gl, sighted):
    done, folder = shell.sweep("experiment=perception", *sighted)
    result = json.loads((folder / "perception.json").read_text())["perception"]
    assert set(result["ausc"]) == set(result["curve_points"]) == {"light", "view", "rotation"}
    assert result["overall"] == pytest.approx(np.mean(list(result["ausc"].values())))
    assert [level for level, _ in result["curve_points"]["view"]] == [0, 1]
    # Level 0 is computed once for all axes.
    assert "7/7 cells: 4 done, 0 failed, 3 cached" in done.stderr
    rows = shell.table("sweep", "perception_axes")
    assert [row["axis"] for row in rows] == ["light", "view", "rotation", "overall"]
    levels = shell.table("sweep", "perception_levels")
    assert [(row["axis"], row["strength"]) for row in levels[2:4]] == [("view", 0), ("view", 0.15)]
    assert 0 < levels[3]["scene_pixels_changed"] <= 1 and 0 < levels[3]["scene_difference"] < 1
    assert {row["in_training"] for row in levels} == {"unknown"}
    assert result["in_training"]["light"] == [[0, "unknown"], [1, "unknown"]]
    report = (folder / "report.md").read_text()
    for name in ("contact_sheet", "perception_curves"):
        assert image.imread(folder / f"{name}.png").std() > 0.05 and f"{name}.png" in report
    clean = {row["strength"]: row for row in shell.table("sweep", "curve") if row["perturbation"] == "camera_view"}
    assert set(clean) == {0, 0.15}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["policy=random", *CAMERA, "perturbation=camera_view"], "a perception sweep adds its perturbations by itself"),
        (["policy=random", *CAMERA, "stress_schedule=linear"], "a perception sweep sets the level by itself"),
        (["policy=random", "env=cartpole", "env.pixels.camera=render"], "so no light or camera can be changed"),
        (["policy=random", *CAMERA, "study.steps=1"], "`steps` must be at least 2"),
        (["policy=random", *CAMERA, "study.axes.view.maximun=1"], "maximun"),
        (["policy=random", *CAMERA, "study.axes.view.maximum=abc"], "`study.axes.view.maximum` must be a number"),
        (["policy=random", *CAMERA, "study.axes.view.strength=shft"], "camera_view has no shft; did you mean `shift`?"),
        (["policy=random"], "`policy=random`: the policy sees no camera of FetchReach-v4: set `env.pixels.camera`"),
        (
            ["policy=p_controller", *CAMERA],
            "needs desired_goal and observation of the state, and `env.pixels` replaces",
        ),
        (["policy=zoo/fetch_reach_sac_0"], "`policy=zoo/fetch_reach_sac_0` was trained on the state of FetchReach-v4"),
        (["policy=zoo/fetch_reach_sac_0", *CAMERA], "not on pictures: it cannot see"),
    ],
)
def test_mistakes_are_one_line_before_anything_runs(call, words, message):
    code, output, error = call(main, "-m", "experiment=perception", *words)
    assert code != 0 and message in error and error.count("\n") == 1 and output == ""


@pytest.mark.slow
def test_a_policy_that_fails_leaves_the_results_of_another_one(shell, gl, sighted):
    (shell.folder / "broken.py").write_text("def act(observation):\n    raise ValueError('it broke')\n")
    both = [word for word in sighted if "policy.path" not in word]
    done, _ = shell.sweep("experiment=perception", *both, "policy.path=sighted:act,broken:act", check=False)
    assert done.returncode == 1 and "broken:act: the axis `light` lacks 2 cells: no area" in done.stdout
    assert {row["policy.path"] for row in shell.table("sweep", "perception_axes")} == {"sighted:act"}


def test_with_other_cameras_no_level_is_known_to_be_in_training(make_cell, tmp_path):
    seen = {"camera": "external_camera_0", "size": 64}
    (tmp_path / "config.json").write_text(
        json.dumps({"env": {"pixels": seen}, "perturbation": None, "stress_schedule": None})
    )
    greatest = {}
    for size in (64, 32):
        config = {"policy": {"path": str(tmp_path / "final" / "policy.zip")}, "env": {"pixels": seen | {"size": size}}}
        cells = [make_cell([1, 0], strength=s, name="shift", config=config) for s in (0, 0.15)]
        (agent,) = agents_of(cells, {"view": standard_dr_sweeps()["view"]})
        greatest[size] = agent.trained
    assert greatest == {64: {"view": 0.0}, 32: {"view": None}}


def test_levels_of_the_training_are_marked(make_cell, tmp_path):
    """A policy from a folder of `brittlestar train` that had half of the view, and a policy of another origin."""
    config = {"env": {}, "perturbation": {"_target_": "brittlestar.perturbations.CameraView", "shift": 0.075}}
    (tmp_path / "config.json").write_text(json.dumps(config | {"stress_schedule": None}))
    study = Perception(axes={"view": {"perturbation": "camera_view", "strength": "shift", "maximum": 0.15}}, steps=3)
    cells = [
        make_cell(
            np.arange(20) < 20 * (1 - strength), strength=strength, name="shift",
            choices={"perturbation": "camera_view", "policy": "sb3"}, config={"policy": {"path": path}},
        )
        for strength in (0, 0.075, 0.15) for path in (str(tmp_path / "final" / "policy.zip"), "other.zip")
    ]  # fmt: skip
    (section,) = study.analyse(cells, tmp_path)
    rows = json.loads((tmp_path / "perception_levels.json").read_text())
    assert [row["in_training"] for row in rows] == ["yes", "yes", "no", "unknown", "unknown", "unknown"]
    first, second = json.loads((tmp_path / "perception.json").read_text())["policies"]
    assert first["perception"]["in_training"] == {"view": [[0, "yes"], [0.5, "yes"], [1, "no"]]}
    assert second["perception"]["in_training"]["view"][0] == [0, "unknown"]
    (chart,) = section.charts
    line = chart.data["panels"][0]["lines"][0]
    assert line["mean"] == [row["success"] for row in rows[:3]]
    assert line["notes"] == ["was in training", "was in training", ""]
    assert section.findings[0][1].startswith("area under success over all axes ")
    assert "levels 0 to 0.5" in section.body and any("fit, not generalisation" in line for line in section.limits)


def test_the_shipped_policy_in_python(gl):
    axes = {"view": standard_dr_sweeps()["view"]}
    axes["view"].steps = 2
    assert dr_sweep("auto", "zoo/fetch_reach_vision", episodes_per_step=1, configs=axes).curve_points["view"][0][0] == 0
    for wrong, message in (({"view": 3}, "as `standard_dr_sweeps` returns them"), ([1], "must be axes by name")):
        with pytest.raises(UserError, match=message):
            dr_sweep("fetch_reach_vision", "zoo/fetch_reach_vision", configs=wrong)
    axes["view"].steps = 1
    with pytest.raises(ValueError, match="at least 2"):
        dr_sweep("fetch_reach_vision", "zoo/fetch_reach_vision", configs=axes)


def test_the_same_sweep_in_python(gl):
    env = EnvSpec(id="FetchReach-v4", max_steps=3, success=GoalReached(distance=0.3), pixels=SEEN)
    configs = standard_dr_sweeps()
    for axis in configs.values():
        axis.steps = 2
    result = dr_sweep(env, lambda observation: np.zeros(4, np.float32), episodes_per_step=3, configs=configs)
    assert set(result.ausc) == {"light", "view", "rotation"} and 0 <= result.overall <= 1
    # The policy is blind, so nothing changes.
    assert len(set(result.ausc.values())) == 1 and [level for level, _ in result.curve_points["light"]] == [0, 1]


def test_an_area_needs_a_success():
    with pytest.raises(UserError, match="needs `success` of the environment FetchReach-v4"):
        dr_sweep(EnvSpec(id="FetchReach-v4", pixels=SEEN), lambda observation: np.zeros(4))
