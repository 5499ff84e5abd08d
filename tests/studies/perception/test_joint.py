"""Joint sweeps: by one command, against single cells bit for bit, and with failed cells."""

import itertools
import json

import numpy as np
import pytest
from matplotlib import image

from brittlestar.commands.run import main
from brittlestar.results.load import read_cells
from brittlestar.studies.perception.joint import JointPerception

CAMERA = ["policy=random", "env=fetch_reach", "env.pixels.camera=external_camera_0"]
OPTIONS = {"light": ("scene_light", "amount", 1.0), "view": ("camera_view", "shift", 0.15)}
OPTIONS |= {"rotation": ("camera_rotation", "degrees", 20.0)}


def rows_by_place(folder) -> dict[tuple[float, ...], np.ndarray]:
    """Episode rows by the strengths of the parts of a composition."""
    cells = [cell for cell in read_cells(folder) if cell.choice("perturbation") == "compose"]
    strengths = {option: name for option, name, _ in OPTIONS.values()}
    parts = [cell.config["perturbation"]["parts"] for cell in cells]
    keys = [tuple(part[strengths[option]] for option, part in nodes.items()) for nodes in parts]
    return {key: cell.rows() for key, cell in zip(keys, cells, strict=True)}


@pytest.mark.slow
def test_one_command_gives_a_map_beside_the_product(shell, gl, sighted):
    done, folder = shell.sweep("experiment=perception_joint", *sighted)
    # The clean cell is that of the sweep itself.
    assert "4 done, 0 failed, 1 cached" in done.stderr
    rows = shell.table("sweep", "perception_joint")
    assert [(row["light"], row["view"]) for row in rows] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [row["camera_view.shift"] for row in rows] == [0, 0.15, 0, 0.15]
    assert all(row["episodes"] == 3 and 0 <= row["success_low"] <= row["success"] for row in rows)
    (volume,) = shell.table("sweep", "perception_volume")
    assert volume["volume"] == pytest.approx(np.mean([row["success"] for row in rows]))
    report, protocol = (folder / "report.md").read_text(), (folder / "protocol.md").read_text()
    for name in ("joint_map", "joint_sheet"):
        assert image.imread(folder / f"{name}.png").std() > 0.05 and f"{name}.png" in report
    assert "S(a, 0) S(0, b) / S(0, 0)" in protocol and "hard under every axis" in protocol


@pytest.mark.slow
def test_an_axis_draws_the_same_alone_and_with_others(shell, gl, sighted):
    """A cell in which one axis is above 0 is that axis alone, bit for bit; both axes draw different numbers."""
    _, folder = shell.sweep("experiment=perception_joint", *sighted)
    joint = rows_by_place(folder)
    plain = [word for word in sighted if not word.startswith("study")]
    alone = {}
    for option, name, maximum in list(OPTIONS.values())[:2]:
        words = [f"perturbation=[{option}]", f"perturbation.parts.{option}.{name}={maximum}"]
        alone[option] = rows_by_place(shell.sweep(*plain, *words, name=option)[1])[(maximum,)]
    assert np.array_equal(joint[1.0, 0.0], alone["scene_light"], equal_nan=True)
    assert np.array_equal(joint[0.0, 0.15], alone["camera_view"], equal_nan=True)
    different = [joint[place] for place in joint]
    assert all(not np.array_equal(a, b, equal_nan=True) for a, b in itertools.combinations(different, 2))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["study.joint=[light,veiw]"], "there is no axis 'veiw'; did you mean `view`?"),
        (["study.joint=[light]"], "`study.joint` must be two or three axes with different perturbations"),
        (["study.joint=[light,light]"], "`study.joint` must be two or three axes with different perturbations"),
        (["study.steps=1"], "`steps` must be at least 2"),
        (["perturbation=camera_view"], "a perception sweep adds its perturbations by itself"),
        (["policy=p_controller"], "needs desired_goal and observation of the state"),
    ],
)
def test_mistakes_are_one_line_before_anything_runs(call, words, message):
    own = CAMERA[1:] if words[0].startswith("policy") else CAMERA
    code, output, error = call(main, "-m", "experiment=perception_joint", *own, *words)
    assert code != 0 and message in error and error.count("\n") == 1 and output == ""


@pytest.fixture
def make_grid(make_cell):
    """A function that returns the cells of a grid, with a success rate as a function of the levels."""

    def make(names, rate, policy="sb3", episodes=40):
        cells = []
        for place in itertools.product((0.0, 0.5, 1.0), repeat=len(names)):
            parts = {
                OPTIONS[n][0]: {OPTIONS[n][1]: OPTIONS[n][2] * level} for n, level in zip(names, place, strict=True)
            }
            node = {"_target_": "brittlestar.perturbations.ComposedPerturbation", "scale": 1.0, "parts": parts}
            success = np.arange(episodes) < round(rate(place) * episodes)
            choices, config = {"perturbation": "compose", "policy": policy}, {"perturbation": node}
            cells.append(make_cell(success, strength=1.0, name="scale", choices=choices, config=config))
        return cells

    return make


def test_three_axes_have_a_map_for_every_pair(make_grid, tmp_path):
    study = JointPerception(steps=3, joint=["light", "view", "rotation"])
    cells = make_grid(study.joint, lambda place: 1 - 0.3 * max(place))
    (section,) = study.analyse(cells, tmp_path)
    rows = json.loads((tmp_path / "perception_joint.json").read_text())
    assert len(rows) == 27 and sum(bool(row["verdict"]) for row in rows) == 20
    # The same episodes break under every axis, so that more is left than the product promises.
    assert all(row["difference"] >= 0 for row in rows if row["verdict"])
    # Without the environment no frames can be drawn here.
    assert section.pictures[0] == "joint_map" and "rotation" in section.body
    maps, together = section.charts
    panel = maps.data["panels"][0]
    assert [len(maps.data["panels"]), panel["x"], panel["y"]] == [3, ["0", "0.5", "1"], ["0.15", "0.075", "0"]]
    measured = {(row["light"], row["view"], row["rotation"]): row["success"] for row in rows}
    assert panel["values"][0][2] == measured[1, 1, 0] and panel["values"][2] == [measured[i, 0, 0] for i in (0, 0.5, 1)]
    assert [line["name"] for line in together.data["panels"][0]["lines"]] == ["measured", "promised by the product"]


def test_a_failed_cell_has_no_number(make_grid, fail_cell, tmp_path):
    study = JointPerception(steps=3)
    good = make_grid(study.joint, lambda place: 0.9 - 0.4 * sum(place) / 2, policy="good")
    bad = make_grid(study.joint, lambda place: 0.5, policy="bad")
    bad[4] = fail_cell(bad[4])
    (section,) = study.analyse([*good, *bad], tmp_path)
    rows = {
        (row["policy"], row["light"], row["view"]): row
        for row in json.loads((tmp_path / "perception_joint.json").read_text())
    }
    failed = rows["bad", 0.5, 0.5]
    assert {failed[name] for name in ("success", "success_low", "promised", "difference", "p_holm", "verdict")} == {
        None
    }
    assert rows["bad", 1, 1]["difference"] == 0 and rows["good", 0.5, 0.5]["verdict"]
    volumes = {row["policy"]: row["volume"] for row in json.loads((tmp_path / "perception_volume.json").read_text())}
    assert volumes["bad"] is None and volumes["good"] == pytest.approx(0.7)
    assert "good" in section.body


def test_combinations_of_the_training_are_marked(make_grid, tmp_path):
    view = {"_target_": "brittlestar.perturbations.CameraView", "shift": 0.075}
    (tmp_path / "config.json").write_text(json.dumps({"env": {}, "perturbation": view, "stress_schedule": None}))
    study = JointPerception(steps=3)
    cells = make_grid(study.joint, lambda place: 0.5)
    for cell in cells:
        cell.config["policy"] = {"path": str(tmp_path / "final" / "policy.zip")}
    study.analyse(cells, tmp_path)
    rows = json.loads((tmp_path / "perception_joint.json").read_text())
    assert [(row["light"], row["view"]) for row in rows if row["in_training"] == "yes"] == [(0, 0), (0, 0.5)]
