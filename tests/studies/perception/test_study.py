"""A perception sweep, by one command and in Python."""

import json
import textwrap

import numpy as np
import pytest
from matplotlib import image

from brittlestar import dr_sweep, standard_dr_sweeps
from brittlestar.envs import EnvSpec
from brittlestar.envs.pixels import Pixels
from brittlestar.envs.success import GoalReached
from brittlestar.errors import UserError

FEW = ["episodes=3", "env.max_steps=4", "env.pixels.size=32", "env.pixels.samples=0", "study.steps=2"]
SEEN = Pixels(camera="external_camera_0", size=32, samples=0)

# It moves by the mean colour of the picture, so that what it does depends on what it sees.
SIGHTED = textwrap.dedent("""
    import numpy as np

    def act(observation):
        red, green, blue = np.asarray(observation, dtype=float).mean(axis=(0, 1)) / 255
        return np.array([red - 0.5, green - 0.5, blue - 0.5, 0.0], dtype=np.float32)
""")


@pytest.fixture
def sighted(shell):
    (shell.folder / "sighted.py").write_text(SIGHTED)
    return ["policy=callable", "policy.path=sighted:act"]


def test_one_command_gives_areas_points_and_pictures(shell, gl, sighted):
    done, folder = shell.sweep("experiment=perception", *FEW, *sighted)
    result = json.loads((folder / "perception.json").read_text())["perception"]
    assert set(result["ausc"]) == set(result["curve_points"]) == {"light", "view", "rotation"}
    assert result["overall"] == pytest.approx(np.mean(list(result["ausc"].values())))
    assert [level for level, _ in result["curve_points"]["view"]] == [0, 1]
    assert "7 cells" in done.stdout or "7/7 cells" in done.stderr
    rows = shell.table("sweep", "perception_axes")
    assert [row["axis"] for row in rows] == ["light", "view", "rotation", "overall"]
    sheet = image.imread(folder / "contact_sheet.png")
    assert sheet.std() > 0.05 and "contact_sheet.png" in (folder / "report.md").read_text()
    clean = {row["strength"]: row for row in shell.table("sweep", "curve") if row["perturbation"] == "camera_view"}
    assert set(clean) == {0, 0.15}


def test_level_0_of_every_axis_is_computed_once(shell, gl, sighted):
    done, _ = shell.sweep("experiment=perception", *FEW, *sighted)
    assert "4 done, 0 failed, 3 cached" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["perturbation=camera_view"], "`study=perception` adds its perturbations by itself"),
        (["study.steps=1"], "`steps` must be at least 2"),
        (["study.axes.view.maximun=1"], "maximun"),
        (["env.pixels.camera=null"], "the policy sees no camera of FetchReach-v4"),
    ],
)
def test_mistakes_are_one_line(shell, words, message):
    done = shell("-m", "experiment=perception", *FEW, *words, check=False)
    assert done.returncode != 0 and message in done.stderr and "Traceback" not in done.stderr


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
