"""The folder of a training and its checkpoints."""

import json

import pytest

from brittlestar.errors import UserError
from brittlestar.training.folder import METADATA, find_checkpoint, is_finished, training_folder, write_checkpoint

CONFIG = {
    "env": {"id": "CartPole-v1"},
    "algo": {"name": "ppo", "by_env": {"CartPole-v1": {"gamma": 0.98}, "Acrobot-v1": {"gamma": 0.9}}},
    "seed": 0,
    "threads": None,
    "store": "outputs",
    "save_every": 20_000,
    "episodes": 100,
}


def test_the_folder_depends_on_what_decides_the_result():
    folder = training_folder(CONFIG)
    assert folder.parent.name == "outputs" and folder.name.startswith("CartPole-v1-ppo-0-")
    other = CONFIG["algo"]["by_env"] | {"Acrobot-v1": {"gamma": 0.5}}
    same = {"threads": 2, "save_every": 10, "episodes": 5, "algo": CONFIG["algo"] | {"by_env": other}}
    assert training_folder(CONFIG | same) == folder
    mine = CONFIG["algo"]["by_env"] | {"CartPole-v1": {"gamma": 0.5}}
    for change in ({"seed": 1}, {"algo": CONFIG["algo"] | {"by_env": mine}}, {"steps": 10}):
        assert training_folder(CONFIG | change) != folder


def test_a_checkpoint_survives_a_kill_between_two_renames(tmp_path):
    last = tmp_path / "last"
    write_checkpoint(last, lambda folder: (folder / "model").write_text("one"), {"steps": 1})
    write_checkpoint(last, lambda folder: (folder / "model").write_text("two"), {"steps": 2})
    assert find_checkpoint(last) == (last, {"steps": 2})
    last.rename(last.with_suffix(".old"))
    folder, _ = find_checkpoint(last)
    assert (folder / "model").read_text() == "two"
    assert find_checkpoint(tmp_path / "nothing") is None


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda folder: (folder / METADATA).write_text("{}"), "metadata.json is damaged"),
        (lambda folder: (folder / METADATA).write_text(""), "metadata.json is damaged"),
        (lambda folder: (folder / "final" / "policy.zip").write_text("x"), "policy.zip has another digest"),
        (lambda folder: (folder / "final" / "progress.json").unlink(), "final has no whole checkpoint"),
    ],
)
def test_a_finished_training_whose_result_is_damaged_is_refused(tmp_path, damage, reason):
    assert not is_finished(tmp_path)
    write_checkpoint(tmp_path / "final", lambda folder: (folder / "policy.zip").write_text("zip"), {"steps": 1})
    (tmp_path / METADATA).write_text(json.dumps({"clean": {}, "disturbed": None, "steps": 1}))
    assert is_finished(tmp_path)
    damage(tmp_path)
    with pytest.raises(UserError, match=f"{reason}.*remove .*metadata.json, and the same command continues"):
        is_finished(tmp_path)
