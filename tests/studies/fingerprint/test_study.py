"""The brittleness fingerprint: axes that fit, critical levels in units, and what breaks a policy first."""

import json

import pytest

from brittlestar.commands.run import main
from brittlestar.config import plain_config
from brittlestar.config.yaml_files import read_option
from brittlestar.errors import UserError
from brittlestar.studies.fingerprint.axes import FingerprintAxis, read_fingerprint_axes

FEW = "study.only=[sensor_noise,action_delay,heavier_bodies]"


def test_every_axis_of_the_study_is_built_at_any_level():
    axes = read_fingerprint_axes(plain_config(read_option("study", "fingerprint"))["axes"])
    assert len(axes) >= 20
    for axis in axes:
        assert axis.node()["_target_"] and axis.large_text


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"a": {"perturbation": "gausian_action", "large": 1}}, "did you mean `gaussian_action`?"),
        ({"a": {"perturbation": "gaussian_action"}}, "needs `perturbation` and `large`"),
        ({"a": {"perturbation": "gaussian_action", "large": 0}}, "must be a finite number other than 0"),
        ({"a": {"perturbation": "gaussian_action", "large": 1, "untit": "m"}}, "did you mean `unit`?"),
        ({"a": {"perturbation": "gaussian_action", "large": 1, "unit": 3}}, "`study.axes.a.unit` must be a text"),
        ({"a": {"perturbation": "gaussian_action", "large": 1, "set": [1]}}, "`study.axes.a.set` must be a dict"),
        ({n: {"perturbation": "gaussian_action", "large": 1} for n in "ab"}, "another axis has the perturbation"),
    ],
)
def test_a_wrong_axis_is_refused(axes, message):
    with pytest.raises(UserError, match=message):
        read_fingerprint_axes(axes)


def test_a_null_axis_is_left_out():
    assert read_fingerprint_axes({"a": None, "b": {"perturbation": "push", "large": 50.0}}) == [
        FingerprintAxis("b", "push", 50.0)
    ]


@pytest.mark.slow
def test_a_fingerprint_names_what_fits_what_breaks_first_and_what_is_left_out(shell):
    words = (
        "experiment=fingerprint",
        "policy=zoo/cartpole_ppo,zoo/cartpole_a2c",
        FEW,
        "episodes=10",
        "study.budget=150",
    )
    done, folder = shell.sweep(*words)
    rows = shell.table("sweep", "fingerprint")
    assert {(row["policy"], row["axis"]) for row in rows} == {
        (policy, axis)
        for policy in ("zoo/cartpole_ppo", "zoo/cartpole_a2c")
        for axis in ("sensor noise", "action delay")
    }
    assert (
        "left out: heavier bodies: BodyMass needs a MuJoCo model" in done.stderr
        and "left out: heavier bodies" in done.stdout
    )
    assert done.stdout.count("breaks first under") == 2 and "steps" in done.stdout
    assert len(json.loads((folder / "critical.json").read_text())["differences"]) == 2
    gaps = shell.table("sweep", "fingerprint_differences")
    assert [row["axis"] for row in gaps] == ["sensor noise", "action delay"] and "without perturbation" in done.stdout
    assert "holds 50 % success" not in (folder / "report.html").read_text(), "one answer to one question"
    first = (folder / "fingerprint.csv").read_bytes()
    assert (
        "left out: heavier bodies: BodyMass needs a MuJoCo model"
        in shell("sweep", script="scripts/aggregate.py").stdout
    )
    assert (folder / "fingerprint.csv").read_bytes() == first


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["perturbation=push"], "leave `perturbation=none`"),
        (["seed=0,1"], "takes one seed"),
        (["study.budget=0"], "`budget` must be at least 1, got 0"),
        (["study.range=[0,1]"], "leave `study.key` and `study.range` out"),
        (["study.only=[sensor_nose]"], "did you mean `sensor_noise`?"),
        (["study.only=[]"], "needs at least one axis"),
        (["study.axes={}"], "`study.axes={}` removes nothing, because dictionaries are merged"),
        (["study.axes.sensor_noise.large=nan"], "must be a finite number other than 0, got nan"),
        (["study.axes.less_frction=null"], "did you mean `study.axes.less_friction`?"),
    ],
)
def test_mistakes_are_one_line_before_anything_runs(call, words, message):
    code, output, error = call(main, "-m", "experiment=fingerprint", *words)
    assert code != 0 and message in error and error.count("\n") == 1 and output == ""
