"""Plans: what a study runs next, given the results so far; run in rounds, or repeated from finished cells."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from brittlestar.cells.job import Job
from brittlestar.errors import UserError, counted
from brittlestar.results.load import Cell
from brittlestar.studies.base import Round, Rounds, with_overrides

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class NextCell:
    """A cell that a plan asks for: a combination of the sweep, with some values set."""

    job: Job
    values: dict[str, Any]
    note: str = ""
    """Why it runs, for the terminal."""

    @property
    def cell(self) -> Job:
        """The cell to run."""
        return with_overrides(self.job, self.values)


CellPlan = Generator[list[NextCell], list[Cell], _Result]
"""Yields trials, receives their cells in this order, and returns its result."""


def plans_together(plans: Sequence[CellPlan[_Result]]) -> CellPlan[list[_Result]]:
    """Runs plans side by side: their trials go into the same rounds, and each of them receives its own cells.

    Example:
        >>> def plan(count):
        ...     for number in range(count):
        ...         yield [number] * count
        ...     return count
        >>> both = plans_together([plan(1), plan(2)])
        >>> next(both), both.send(["a", "b", "c"])
        ([0, 0, 0], [1, 1])
    """
    results: dict[int, _Result] = {}
    asked: dict[int, list[NextCell]] = {}

    def advance(number: int, cells: list[Cell] | None) -> None:
        asked.pop(number, None)
        try:
            asked[number] = plans[number].send(cells)  # type: ignore[arg-type]
        except StopIteration as end:
            results[number] = end.value

    for number in range(len(plans)):
        advance(number, None)
    while asked:
        cells = iter((yield [trial for _, trials in sorted(asked.items()) for trial in trials]))
        for number, trials in sorted(asked.items()):
            advance(number, [next(cells) for _ in trials])
    return [results[number] for number in range(len(plans))]


def in_rounds(plan: CellPlan[Any]) -> Rounds:
    """Returns the rounds of a plan."""
    cells: list[Cell] | None = None
    while True:
        try:
            trials = plan.send(cells)  # type: ignore[arg-type]
        except StopIteration:
            return
        notes = dict.fromkeys(trial.note for trial in trials if trial.note)
        cells = yield Round([trial.cell for trial in trials], "; ".join(notes))


def repeat(plan: CellPlan[_Result], cells: Iterable[Cell]) -> _Result:
    """Returns the result of a plan from the finished cells of its sweep; raises a `UserError` where one is missing."""
    finished = {tuple(cell.manifest["overrides"]): cell for cell in cells}
    answers: list[Cell] | None = None
    while True:
        try:
            trials = plan.send(answers)  # type: ignore[arg-type]
        except StopIteration as end:
            return end.value
        keys = [tuple(trial.cell.overrides) for trial in trials]
        missing = sum(key not in finished for key in keys)
        if missing:
            raise UserError(f"the next {counted(missing, 'cell')} did not run: the command of the sweep goes on there")
        answers = [finished[key] for key in keys]


def combinations_of(cells: Iterable[Cell], role: str | None, keys: Iterable[str]) -> list[Job]:
    """Returns the combinations of a finished sweep, once each: cells of a role without the overrides of some keys."""
    own, jobs = {"role", *(key.lstrip("+") for key in keys)}, dict[tuple[str, ...], Job]()
    for cell in cells:
        if cell.role == role and cell.manifest.get("config"):
            texts = [text for text in cell.manifest["overrides"] if text.lstrip("+").partition("=")[0] not in own]
            job = Job(cell.config, dict(cell.manifest.get("choices", {})), texts, int(cell.manifest.get("number", 0)))
            jobs.setdefault(tuple(texts), job)
    return list(jobs.values())


def labels(jobs: Sequence[Job]) -> list[str]:
    """Returns a name for each combination: its policy, and whatever else distinguishes it from the others.

    Example:
        >>> labels([Job({}, {"policy": "random"}, ["policy=random", f"seed={seed}"]) for seed in (0, 1)])
        ['random, seed=0', 'random, seed=1']
    """
    shared = set.intersection(*(set(job.overrides) for job in jobs)) if jobs else set()
    others = [[text for text in job.overrides if text not in shared and not text.startswith("policy=")] for job in jobs]
    return [", ".join([str(job.choices.get("policy")), *own]) for job, own in zip(jobs, others, strict=True)]
