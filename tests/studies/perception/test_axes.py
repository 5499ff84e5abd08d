"""Axes: levels, strengths and mistakes."""

import pytest
import yaml

from brittlestar.config import config_folder
from brittlestar.config.build import build
from brittlestar.errors import UserError
from brittlestar.studies.perception.axes import Axis, read_axes, standard_dr_sweeps
from brittlestar.studies.perception.joint import JointPerception
from brittlestar.studies.perception.study import Perception

STUDIES = ("perception", "perception_joint")


def test_levels_go_from_0_to_1():
    axis = Axis("camera_rotation", "degrees", 20.0)
    assert axis.levels == [0, 0.2, 0.4, 0.6, 0.8, 1] and axis.strengths == [0, 4, 8, 12, 16, 20]


def test_the_configs_have_the_standard_axes():
    node, joint = (yaml.safe_load((config_folder() / "study" / f"{n}.yaml").read_text()) for n in STUDIES)
    assert read_axes(node["axes"], node["steps"]) == standard_dr_sweeps() == Perception()._axes
    assert joint["axes"] == node["axes"] and build(joint, "study") == JointPerception()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Axis("a", "b", 1.0, steps=1), "`steps` must be at least 2"),
        (lambda: Axis("a", "b", 0.0), "`maximum` must be above 0, got 0.0"),
    ],
)
def test_bad_axes_are_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_mistyped_key_names_the_nearest():
    with pytest.raises(UserError, match="`study.axes.view.maximun` does not exist; did you mean `maximum`"):
        read_axes({"view": {"perturbation": "camera_view", "strength": "shift", "maximun": 1}}, 6)
    with pytest.raises(UserError, match="`study.axes.view` needs `strength` and `maximum`"):
        read_axes({"view": {"perturbation": "camera_view"}}, 6)
