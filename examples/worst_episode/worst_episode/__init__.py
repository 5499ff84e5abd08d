"""The worst episode at every strength: a study that brittlestar finds by an entry point."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from brittlestar import Cell, Job, Section, Study, markdown, with_keys, write_rows
from brittlestar.errors import require_choice


@dataclass
class WorstEpisode(Study):
    """Compares the worst episode of every cell with the worst one of the same seed without perturbation."""

    metric: str = "return"

    def extra_cells(self, cells: Iterable[Job]) -> list[Job]:
        clean = {(str(cell.config["policy"]), cell.config["seed"]): cell for cell in cells}
        return [with_keys(cell, clean=True, role="clean") for cell in clean.values()]

    def analyse(self, cells: list[Cell], out: Path) -> list[Section]:
        finished = [cell for cell in cells if cell.done]
        clean = {(cell.choice("policy"), cell.seed): self.worst(cell) for cell in finished if cell.role == "clean"}
        rows = [
            {
                "policy": cell.choice("policy"),
                "strength": cell.strength,
                "seed": cell.seed,
                "worst": self.worst(cell),
                "worst without perturbation": clean.get((cell.choice("policy"), cell.seed)),
            }
            for cell in finished
            if cell.role is None
        ]
        write_rows(rows, out / "worst")
        return [Section(f"Worst {self.metric}", markdown(rows, rows[0]), tables=["worst"])]

    def worst(self, cell: Cell) -> float:
        columns = list(cell.manifest["columns"])
        require_choice("study.metric", self.metric, columns)  # one line with the nearest name, in place of a traceback
        return float(cell.rows()[:, columns.index(self.metric)].min())
