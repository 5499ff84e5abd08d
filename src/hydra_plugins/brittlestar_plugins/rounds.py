"""The rounds of a sweep whose study chooses the next cells from the results so far."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brittlestar.results.load import Cell
    from brittlestar.sweeps.index import IndexReader


class RoundsOfSweep:
    """Asks a study for one round of cells after the other, and reads their results from the folder of the sweep.

    It works with any launcher: each of them leaves an index in this folder, or one for each cell below it.
    """

    def __init__(self, rounds: Any, launcher: Any, folder: Path) -> None:
        self._rounds, self._launcher, self._folder = rounds, launcher, folder
        self._readers: dict[Path, IndexReader] = {}
        self._cells: dict[int, Cell] = {}
        self._count = 0
        self.jobs: list[list[str]] = []
        """The overrides of all cells so far."""
        self.batch: list[list[str]] = []
        """Those of the cells of this round."""
        launcher.in_rounds = True

    @classmethod
    def of_study(cls, launcher: Any, cells: list[list[str]], folder: Path) -> RoundsOfSweep | None:
        """Returns the rounds of the study that a config names; None for a study without rounds."""
        from brittlestar.sweeps.compose import composer_of, study_of

        study = study_of(launcher)
        composed = (composer_of(launcher).job(overrides, number) for number, overrides in enumerate(cells))
        rounds = None if study is None else study.rounds(composed)
        return None if rounds is None else cls(rounds, launcher, folder)

    def advance(self) -> bool:
        """Goes on to the next round, and returns whether there is one."""
        try:
            chosen = self._rounds.send(self._finished() if self.jobs else None)
        except StopIteration:
            return False
        self.batch = [list(cell.overrides) for cell in chosen.cells]
        self.jobs += self.batch
        if chosen.note:
            self._count += 1
            self._launcher.round_note = f"round {self._count}: {chosen.note}\n"
        return bool(self.batch)

    def _finished(self) -> list[Cell]:
        """Returns the cells of the last round."""
        from brittlestar.errors import UserError
        from brittlestar.results.load import Cell, is_planned
        from brittlestar.sweeps.index import IndexReader, find_indexes, read_header

        plan = read_header(self._folder)[1]
        for place in find_indexes(self._folder):
            reader = self._readers.setdefault(place, IndexReader(place))
            for entry in reader.read():
                if is_planned(entry.manifest, plan):
                    self._cells[entry.manifest["number"]] = Cell(entry.manifest, source=(entry.arrays, entry.offset))
        numbers = range(len(self.jobs) - len(self.batch), len(self.jobs))
        missing = [number for number in numbers if number not in self._cells]
        if missing:
            raise UserError(f"{len(missing)} cells of this round have no record in {self._folder}: run it again")
        return [self._cells[number] for number in numbers]
