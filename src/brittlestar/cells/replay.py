"""One episode of a recorded cell again, to look at; its row must come out bit for bit."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from brittlestar.cells import run as cells
from brittlestar.cells.identity import provenance
from brittlestar.cells.job import Job, ResolvedJob, resolve
from brittlestar.cells.process_state import own_process_state
from brittlestar.errors import UserError


@dataclass
class Moment:
    """One step of an episode."""

    step: int
    level: float
    """Of the stress schedule."""
    true: dict[str, np.ndarray]
    """The observation by entry; a plain one has the key `""`."""
    seen: dict[str, np.ndarray]
    """What the policy saw of it."""
    commanded: np.ndarray
    executed: np.ndarray
    frame: np.ndarray | None
    """A picture of the environment before the step; None in steps that a film of a long episode leaves out."""
    reward: float = 0.0
    masked: dict[str, np.ndarray] = field(default_factory=dict)
    """Which numbers of an entry are masked or held, flat; empty where the perturbation masks none."""


@dataclass
class Replay:
    """An episode that ran again."""

    moments: list[Moment]
    phase: str
    columns: list[str]
    row: np.ndarray
    differences: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Columns whose number is another one than in the record: the recorded number and this one."""
    changes: list[str] = field(default_factory=list)
    """What else differs from the run of the record: code, versions, files."""
    step_seconds: float | None = None
    """Simulated time of a step, where it is known."""
    no_pictures: str = ""
    """Why there are no pictures of the environment; empty if there are."""
    every: int = 1
    """Every how many steps there is a picture."""

    @property
    def metrics(self) -> dict[str, float]:
        """The row by column."""
        return dict(zip(self.columns, self.row.tolist(), strict=True))


def replay(
    manifest: Mapping[str, Any], rows: np.ndarray, episode: int, size: int | None = None, every: int = 1
) -> Replay:
    """Runs one episode of a recorded cell again and compares its row with the recorded one.

    Args:
        manifest: of the cell.
        rows: its recorded rows.
        episode: its number, from 0 on.
        size: pixels of a side of the pictures; None for no pictures.
        every: steps from one picture to the next.
    """
    if not 0 <= episode < len(rows):
        raise UserError(f"the cell has the episodes 0 to {len(rows) - 1}, got {episode}")
    job = resolve(Job(dict(manifest["config"]), dict(manifest["choices"]), list(manifest["overrides"])))
    columns, recorded = list(manifest["columns"]), rows[episode]
    again = _run(job, columns, episode, size, every, alone=True)
    again.differences = _differences(columns, recorded, again.row)
    if again.differences:
        # A perturbation may carry its state from one episode to the next.
        again = _run(job, columns, episode, size, every, alone=False)
        again.differences = _differences(columns, recorded, again.row)
    again.changes = _changes(manifest, job)
    return again


def _differences(columns: list[str], recorded: np.ndarray, now: np.ndarray) -> dict[str, tuple[float, float]]:
    same = (now == recorded) | (np.isnan(now) & np.isnan(recorded))
    triples = zip(columns, recorded.tolist(), now.tolist(), strict=True)
    return {name: (old, new) for (name, old, new), equal in zip(triples, same, strict=True) if not equal}


def _run(job: ResolvedJob, columns: list[str], episode: int, size: int | None, every: int, alone: bool) -> Replay:
    from brittlestar.engine.evaluation import make_lanes, run_episodes
    from brittlestar.engine.metrics import COLUMNS
    from brittlestar.envs.film_camera import with_pictures

    plan = dataclasses.replace(cells.plan_of(job), record=None, only=(episode,) if alone else None)
    spec = job.env
    if size is not None and job.simulator["backend"] == "gymnasium":
        spec.register()
        spec = dataclasses.replace(spec, kwargs=with_pictures(spec.id, spec.kwargs))
    with own_process_state(plan.seed, imports=True):
        lanes = make_lanes(spec, 1, consecutive=plan.consecutive, needs_model=job.perturbation.needs_world)
        parts = cells.parts_of(job)
    with closing(lanes), own_process_state(plan.seed):
        watcher = _Watcher(lanes, episode, size, every)
        with closing(watcher):
            values = run_episodes(lanes, parts, plan, lanes=1, watcher=watcher).values[episode]
    row = np.array([values[COLUMNS.index(name)] if name in COLUMNS else np.nan for name in columns])
    phase, seconds = job.schedule.phase(episode), lanes.step_seconds
    again = Replay(watcher.moments, phase, columns, row, step_seconds=seconds, no_pictures=watcher.no_pictures)
    again.every = every
    return again


class _Watcher:
    """Keeps every step of one episode."""

    def __init__(self, lanes: Any, episode: int, size: int | None, every: int) -> None:
        from brittlestar.envs.film_camera import FilmCamera
        from brittlestar.envs.pool_camera import PoolCamera

        self.moments: list[Moment] = []
        self._episode, self._every = episode, every
        self._is_watched = False
        envs = getattr(lanes, "envs", None)
        self._scene = envs[0] if envs else lanes
        self._camera: FilmCamera | PoolCamera | None = None
        if size is not None:
            self._camera = FilmCamera(envs[0], size) if envs else PoolCamera(lanes, size)

    @property
    def no_pictures(self) -> str:
        """Why there are no pictures; empty if there are."""
        return "" if self._camera is None else self._camera.reason

    def before(self, stack: Any, observed: Any, acted: Any, episodes: np.ndarray) -> None:
        from brittlestar.envs.batches import entries

        self._is_watched = int(episodes[0]) == self._episode
        if not self._is_watched:
            return
        if stack.first[0]:
            # An episode that runs again replaces its first run.
            self.moments.clear()
        is_drawn = self._camera is not None and len(self.moments) % self._every == 0
        frame = self._camera.frame(self._scene) if is_drawn and self._camera is not None else None
        nominal = observed.true if stack.nominal is None else stack.nominal
        true, seen = ({k: v[0].copy() for k, v in entries(o).items()} for o in (nominal, observed.mitigated))
        commanded, executed = (np.array(action[0]) for action in (acted.commanded, acted.executed))
        step, level = len(self.moments), float(stack.level[0])
        masked = {key: mask[0].copy() for key, mask in stack.masks.items()}
        self.moments.append(Moment(step, level, true, seen, commanded, executed, frame, masked=masked))

    def after(self, batch: Any) -> None:
        if self._is_watched:
            self.moments[-1].reward = float(batch.reward[0])

    def close(self) -> None:
        """Frees the renderer."""
        if self._camera is not None:
            self._camera.close()


def _changes(manifest: Mapping[str, Any], job: ResolvedJob) -> list[str]:
    """Returns what differs from the run of the record."""
    if job.cell == manifest["cell"]:
        return []
    before, now = manifest["provenance"], provenance(job.simulator)
    lines = []
    for kind in ("versions", "simulator"):
        old, new = before.get(kind, {}), now[kind]
        names = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
        lines += [f"{name} was {old.get(name, 'absent')}, now {new.get(name, 'absent')}" for name in names]
    server = "the server of the policy, " if job.outside else ""
    return lines or [f"{server}the code of brittlestar, or a file that the config names, has changed since"]
