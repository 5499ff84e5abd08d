"""The cells of one curve as arrays over strengths and seeds."""

from collections.abc import Iterator, Sequence

import numpy as np

from brittlestar.errors import UserError
from brittlestar.results.load import RATES, ROW_KEYS, Cell, Row
from brittlestar.results.packed_cells import pack_cells
from brittlestar.statistics.arrays import moments

_MOST_CELLS = 256


class Curve:
    """All cells of one label, as arrays over strengths and seeds; nan where there is no cell.

    Attributes:
        count: number of values of every metric, `(strengths, seeds, metrics)`.
        mean: their mean over episodes, of the same shape.
        std: their standard deviation over episodes, of the same shape.
        scores: the measures of every episode, `(measures, strengths, seeds, episodes)`.
    """

    def __init__(self, label: Row, cells: Sequence[Cell]) -> None:
        self.label, self.cells = label, pack_cells(cells)
        kinds = [*self.cells.kinds()]
        # From the clean end: a sweep through 0 has a curve for either direction.
        self.strengths = sorted({cell.strength for cell in kinds}, key=abs)
        self.strength_name = min((cell.strength_name for cell in kinds if cell.strength_name), default=None)
        rows = {strength: i for i, strength in enumerate(self.strengths)}
        places = [(rows[cell.strength], cell.seed) for cell in self.cells]
        self.seeds = sorted({seed for _, seed in places})
        seeds = {seed: j for j, seed in enumerate(self.seeds)}
        self.places = tuple(np.array([(i, seeds[seed]) for i, seed in places], dtype=np.int32).T)
        """The indices of every cell in the arrays: of its strength, and of its seed."""
        if len(set(places)) < len(cells):
            raise UserError(f"two different cells have the same strength and seed of {label}: aggregate apart")
        columns = list(cells[0].manifest["columns"])
        self.metrics = [name for name in columns if name not in ROW_KEYS]
        headline: str = cells[0].manifest["measure"]
        measures = list(RATES) if headline in RATES else [headline]
        scores = self._read([columns.index(name) for name in self.metrics], [columns.index(name) for name in measures])
        # Without a success at every step there is one success, under two names.
        single = headline in RATES and not self.of(self.count, "dwell").any()
        self.measures = [headline] if single else measures
        self.scores = scores[[measures.index(name) for name in self.measures]]
        self.episodes = self.of(self.count, "length")

    def of(self, values: np.ndarray, metric: str) -> np.ndarray:
        """Returns one metric of an array `(strengths, seeds, metrics)`."""
        return values[..., self.metrics.index(metric)]

    def _read(self, metrics: list[int], measures: list[int]) -> np.ndarray:
        shape = len(self.strengths), len(self.seeds)
        self.count = np.zeros((*shape, len(metrics)), dtype=np.int32)
        self.mean, self.std = (np.full((*shape, len(metrics)), np.nan) for _ in range(2))
        episodes: dict[tuple[int, int], np.ndarray] = {}
        start = 0
        for batch in _batches(self.cells):
            where = self.places[0][start : start + len(batch)], self.places[1][start : start + len(batch)]
            rows, start = np.stack(batch), start + len(batch)
            self.count[where], self.mean[where], self.std[where] = moments(rows[:, :, metrics], axis=1)
            places = zip(*(part.tolist() for part in where), strict=True)
            episodes |= dict(zip(places, rows[:, :, measures].transpose(0, 2, 1), strict=True))
        scores = np.full((len(measures), *shape, max(values.shape[1] for values in episodes.values())), np.nan)
        for (i, j), values in episodes.items():
            scores[:, i, j, : values.shape[1]] = values
        return scores


def _batches(cells: Sequence[Cell]) -> Iterator[list[np.ndarray]]:
    """Yields the rows of neighbouring cells with the same number of episodes: many small arrays are slow."""
    batch: list[np.ndarray] = []
    for cell in cells:
        rows = cell.rows()
        if batch and (len(batch) == _MOST_CELLS or len(rows) != len(batch[0])):
            yield batch
            batch = []
        batch.append(rows)
    yield batch
