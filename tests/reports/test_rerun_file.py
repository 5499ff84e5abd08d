"""Recordings for the Rerun viewer, read back by its own SDK."""

import sys

import numpy as np
import pytest

from brittlestar.cells.replay import Moment, Replay
from brittlestar.errors import UserError
from brittlestar.reports.rerun_file import load_rerun, write_rerun


def replay(steps=3, **options):
    moments = []
    for step in range(steps):
        true, seen = {"": np.array([step, 1.0])}, {"": np.array([step, 0.5])}
        if options.get("pictures"):
            seen = {"image": np.full((8, 8, 3), step, np.uint8), "state": np.array([1.0])}
        frame = np.full((16, 16, 3), 200, np.uint8) if step % 2 == 0 else None
        moments.append(Moment(step, 0.5, true, seen, np.array([1]), np.array([0]), frame, reward=-1.0))
    return Replay(moments, "", ["return"], np.array([-float(steps)]), step_seconds=0.04)


def read(path):
    """Returns the scalars of a recording by entity, and the number of rows of all entities."""
    chunk = pytest.importorskip("rerun.chunk", reason="needs brittlestar[rerun]")
    numbers, counts = {}, {}
    for part in chunk.RrdReader(path).stream().to_chunks():
        columns = part.to_record_batch().to_pydict()
        counts[part.entity_path] = counts.get(part.entity_path, 0) + part.num_rows
        if "Scalars:scalars" in columns:
            pairs = zip(columns["step"], columns["Scalars:scalars"], strict=True)
            numbers.setdefault(part.entity_path, {}).update(pairs)
    return numbers, counts


def test_a_recording_has_every_number_of_every_step(tmp_path):
    pytest.importorskip("rerun", reason="needs brittlestar[rerun]")
    write_rerun(tmp_path / "a.rrd", {"": replay()}, "a policy = <b>")
    numbers, counts = read(tmp_path / "a.rrd")
    assert numbers["/reward_so_far"] == {0: [-1.0], 1: [-2.0], 2: [-3.0]}
    assert numbers["/observation/true"] == {step: [step, 1.0] for step in range(3)}
    assert numbers["/observation/seen"] == {step: [step, 0.5] for step in range(3)}
    assert numbers["/action/executed"][2] == [0.0] and numbers["/level"][0] == [0.5]
    assert counts["/environment"] == 2, "a step without a picture has none"
    assert counts["/row"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.rrd"]


def test_two_episodes_and_pictures_that_the_policy_saw_share_a_recording(tmp_path):
    pytest.importorskip("rerun", reason="needs brittlestar[rerun]")
    write_rerun(tmp_path / "a.rrd", {"perturbed": replay(2), "clean": replay(3, pictures=True)}, "both")
    numbers, counts = read(tmp_path / "a.rrd")
    assert len(numbers["/perturbed/reward"]) == 2 and len(numbers["/clean/reward"]) == 3
    assert counts["/clean/observation/seen/image"] == 3 and "/clean/observation/seen/state" in numbers


def test_without_the_sdk_it_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "rerun", None)
    with pytest.raises(UserError, match=r"`--rerun` needs the Rerun SDK: pip install 'brittlestar\[rerun\]'"):
        load_rerun()
