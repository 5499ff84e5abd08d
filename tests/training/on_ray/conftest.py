"""A cluster that needs no Ray: its node is a folder of this machine, and tasks run one after the other."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from brittlestar.sweeps.on_ray import executor, gateway, task


class FakeCluster:
    """Takes the place of the connection to Ray."""

    slots = 2

    def __init__(self) -> None:
        self.parcels: list[task.Parcel] = []
        """What was sent."""
        self.dies: Callable[[int, str, Any], bool] = lambda number, kind, content: False
        """Whether a task dies after something that it has yielded."""
        self._files: dict[str, bytes] = {}
        self._messages: Iterator[Any] = iter(())
        self._tasks: list[tuple] = []

    def __call__(self, *options: Any) -> FakeCluster:
        return self

    def __enter__(self) -> FakeCluster:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def send(self, kind: str, *content: Any) -> None:
        if kind == gateway.FILE:
            self._files[content[0]] = Path(content[1]).read_bytes()
        else:
            self._tasks.append(content)

    def receive(self, seconds: float) -> Any:
        message = next(self._messages, None)
        if message is None and self._tasks:
            self._messages = self._run(*self._tasks.pop(0))
        return message

    def _run(self, number: int, parcel: bytes, files: dict[str, str]) -> Iterator[Any]:
        self.parcels.append(pickle.loads(parcel))
        references = {path: (digest, self._files[digest]) for path, digest in files.items()}
        reason = "", ""
        for item in task.compute_parcel(parcel, references, lambda content: content):
            yield gateway.ITEM, number, item
            if self.dies(number, *pickle.loads(item)):
                reason = gateway.DIED, "the node was lost"
                break
        yield gateway.ENDED, number, *reason


@pytest.fixture
def cluster(tmp_path, monkeypatch) -> FakeCluster:
    cluster = FakeCluster()
    (tmp_path / "node").mkdir()
    monkeypatch.setattr(task, "_FOLDER", tmp_path / "node")
    monkeypatch.setattr(executor, "RayConnection", cluster)
    monkeypatch.setattr(executor, "stage_code", lambda *arguments: None)
    return cluster
