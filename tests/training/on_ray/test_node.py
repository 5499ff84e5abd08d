import json
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("stable_baselines3")

from brittlestar.training.job import TrainingJob
from brittlestar.training.on_ray import node
from brittlestar.training.on_ray.archive import Piece
from brittlestar.training.on_ray.node import NodeTraining, sending_checkpoints


def training(place: Path, seconds: float = 0.0) -> NodeTraining:
    task = NodeTraining(TrainingJob({}, Path("/home/me/x"), "seed=0", {}), 1, seconds, place=place)
    task.home.mkdir()
    (task.home / "curve.jsonl").write_text("{}\n")
    return task


def session(steps: int) -> SimpleNamespace:
    return SimpleNamespace(first_step=0, progress={"steps": steps})


def test_a_checkpoint_is_packed_once_and_only_when_there_is_a_new_one(tmp_path):
    task, shown = training(tmp_path), []
    on_step = sending_checkpoints(task, shown.append)
    packed = []
    for steps in (0, 0, 100, 100, 200):
        on_step(session(steps))
        packed.append(task.checkpoint.exists())
        task.checkpoint.unlink(missing_ok=True)
    assert packed == [False, False, True, False, True]
    assert len(shown) == 5


def test_checkpoints_wait_for_their_time(tmp_path):
    task = training(tmp_path, seconds=60)
    on_step = sending_checkpoints(task, lambda session: None)
    on_step(session(0))
    on_step(session(100))
    assert not task.checkpoint.exists()


def test_lines_are_passed_on_when_they_are_whole(tmp_path):
    file = tmp_path / "output"
    assert node._new_lines(file, 0) == ([], 0)
    file.write_text("one\n\ntwo\nthr")
    lines, place = node._new_lines(file, 0)
    assert lines == ["one", "two"]
    file.write_text("one\n\ntwo\nthree\n")
    assert node._new_lines(file, place)[0] == ["three"]


def test_facts_name_the_files_of_the_driver(tmp_path):
    file, root = tmp_path / "metadata.json", "/node/files/1a"
    places = {"~/agent.zip": "/home/mé/agent.zip", "data": "/home/mé/data", "data/set": "/home/mé/data/set"}
    values = [root + place for place in places.values()]
    file.write_text(json.dumps(values))
    node._name_driver_files(file, places, root)
    assert json.loads(file.read_text()) == list(places)


def test_a_process_that_dies_twice_is_a_failed_training(tmp_path, monkeypatch):
    # The process cannot decode a training as JSON.
    monkeypatch.setattr(node, "train_here", json.loads)

    def follow():
        yield (yield from node._followed(training(tmp_path)))

    (outcome,) = follow()
    assert (outcome.status, outcome.cell) == ("failed", "/home/me/x")
    assert outcome.error == "its process ended with exit code 1 in the middle of the training"


def test_an_archive_leaves_in_pieces_and_is_removed(tmp_path):
    task = training(tmp_path)
    task.checkpoint.write_bytes(b"content")
    ((kind, piece),) = node._new_items(task)
    assert (kind, piece.content) == (node.NEWS, b"content")
    assert isinstance(piece, Piece) and piece.digest
    assert list(node._new_items(task)) == []
