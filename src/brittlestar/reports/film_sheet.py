"""The frames of a film: the environment, what the policy saw, and the reward so far."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from brittlestar.cells.replay import Moment, Replay
from brittlestar.reports.curve_names import cut_middle
from brittlestar.reports.drawing import COLOURS
from brittlestar.schedules import StressSchedule

_PANEL, _EDGE, _LINE = 400, 14, 17
_MOST_LEVELS = 3
"""More levels of a sweep are written as a range."""
_INK, _PALE, _MARK = (30, 30, 30), (150, 150, 150), (213, 94, 0)
_PAPER = (255, 255, 255)
_BOLD, _PLAIN = "DejaVuSans-Bold.ttf", "DejaVuSans.ttf"
_CHANGED = 1e-9
_ONE_PHASE = StressSchedule().phase(0)
"""The phase of schedules without phases."""
_FEWEST_ROWS = 2
"""A small film has no room for a table of fewer rows."""
_COLUMNS = ("observed", "true", "seen", "masked")


@dataclass
class Backdrop:
    """Mean cumulative reward over steps of the other levels of a sweep, behind that of a film."""

    curves: list[tuple[float, np.ndarray, np.ndarray]] = field(default_factory=list)
    """Strength, steps and mean rewards."""
    name: str = ""
    """Of the strength."""


@dataclass
class FilmSheet:
    """Draws the frames of one episode, all of the same size."""

    replay: Replay
    title: Sequence[str]
    """Lines above the panels."""
    size: int
    backdrop: Backdrop = field(default_factory=Backdrop)

    def __post_init__(self) -> None:
        self._totals = np.cumsum([moment.reward for moment in self.replay.moments])
        self._shown = self.replay.moments[:: self.replay.every]
        self._has_masks = any(moment.masked for moment in self.replay.moments)

    def __len__(self) -> int:
        return len(self._shown)

    def frame(self, number: int) -> np.ndarray:
        """Draws one frame; after the last one, the last one again."""
        from PIL import Image, ImageDraw

        moment, totals = self._shown[min(number, len(self) - 1)], self._totals
        height, left = self.size + self.size % 2, self._left_width(moment)
        sheet = Image.new("RGB", (left + _PANEL, height), _PAPER)
        pen = ImageDraw.Draw(sheet)
        if moment.frame is not None:
            self._place(sheet, Image.fromarray(moment.frame), left, height)
        x, y = left + _EDGE, _EDGE
        y = self._header(pen, x, y, moment)
        plot_top = height - 150
        pictures = {key: part for key, part in moment.seen.items() if part.ndim == 3}
        if pictures:
            self._pictures(sheet, x, y, plot_top - y - 6, pictures)
        else:
            self._table(pen, x, y, moment, (plot_top - y) // _LINE - 1)
        self._plot(pen, (x, plot_top, left + _PANEL - _EDGE, height - _EDGE), moment.step, totals)
        return np.asarray(sheet)

    def _left_width(self, moment: Moment) -> int:
        return 0 if moment.frame is None else self.size + self.size % 2

    @staticmethod
    def _place(sheet: Any, picture: Any, width: int, height: int) -> None:
        scale = min(width / picture.width, height / picture.height)
        small = picture.resize((max(1, round(picture.width * scale)), max(1, round(picture.height * scale))))
        sheet.paste(small, ((width - small.width) // 2, (height - small.height) // 2))

    def _header(self, pen: Any, x: int, y: int, moment: Moment) -> int:
        for number, line in enumerate(self.title):
            letters = font(_BOLD if number == 0 else _PLAIN, 13)
            pen.text((x, y), _fitting(pen, line, letters), _INK if number == 0 else _PALE, letters)
            y += _LINE
        phase = f", phase {self.replay.phase}" if self.replay.phase != _ONE_PHASE else ""
        pen.text(
            (x, y),
            f"step {moment.step + 1} of {len(self.replay.moments)}, level {moment.level:g}{phase}",
            _INK,
            font(_PLAIN, 13),
        )
        return y + _LINE + 8

    @staticmethod
    def _pictures(sheet: Any, x: int, y: int, height: int, pictures: dict[str, np.ndarray]) -> None:
        """Places the last pictures that the policy saw; a small film has no room for them."""
        from PIL import Image

        side = min(height, (_PANEL - 2 * _EDGE) // len(pictures) - 4)
        if side < _LINE:
            return
        for number, part in enumerate(pictures.values()):
            picture = Image.fromarray(last_picture(part)).resize((side, side), Image.Resampling.NEAREST)
            sheet.paste(picture, (x + number * (side + 4), y))

    def _table(self, pen: Any, x: int, y: int, moment: Moment, most: int) -> None:
        """Writes name, true and seen value of each observed number, and whether it is masked; others come last."""
        rows = feature_rows(moment) if most > _FEWEST_ROWS else []
        columns = dict(zip(_COLUMNS, (x, x + 165, x + 240, x + 315)[: 3 + self._has_masks], strict=False))
        for name, place in columns.items() if rows else ():
            pen.text((place, y), name, _PALE, font(_PLAIN, 12))
        shown = rows if len(rows) <= most - 1 else rows[: most - 2]
        for row in shown:
            y += _LINE
            for place, text in zip(columns.values(), row.texts, strict=False):
                pen.text((place, y), text, _INK if row.is_plain else _MARK, font(_PLAIN, 12))
        if len(shown) < len(rows):
            pen.text((x, y + _LINE), f"and {len(rows) - len(shown)} more", _PALE, font(_PLAIN, 12))

    def _plot(self, pen: Any, box: tuple[int, int, int, int], step: int, totals: np.ndarray) -> None:
        """Draws the reward so far over that of all levels."""
        left, top, right, bottom = box
        top += _LINE
        values = [totals, *(mean for _, _, mean in self.backdrop.curves)]
        low, high = min(0.0, *(float(v.min()) for v in values)), max(0.0, *(float(v.max()) for v in values))
        last = max([len(totals), *(float(steps[-1]) for _, steps, _ in self.backdrop.curves)])
        scale = (bottom - top) / (high - low or 1.0)

        def points(steps: np.ndarray, numbers: np.ndarray) -> list[tuple[float, float]]:
            across, up = left + steps / last * (right - left), bottom - (numbers - low) * scale
            return list(zip(across.tolist(), up.tolist(), strict=True))

        pen.text((left, top - _LINE), f"reward so far {totals[step] + 0.0:.4g}", _INK, font(_PLAIN, 12))
        if self.backdrop.curves:
            levels = [f"{strength:g}" for strength, _, _ in self.backdrop.curves]
            shown = ", ".join(levels) if len(levels) <= _MOST_LEVELS else f"{levels[0]} to {levels[-1]}"
            note = f"grey: mean at {self.backdrop.name} = {shown}"
            pen.text((right, top - _LINE), note, _PALE, font(_PLAIN, 11), anchor="ra")
        for _, steps, mean in self.backdrop.curves:
            pen.line(points(steps, mean), _PALE, 1)
        pen.line([(left, bottom), (right, bottom)], _PALE, 1)
        steps = np.arange(step + 2)
        pen.line(points(steps, np.concatenate([[0.0], totals[: step + 1]])), COLOURS[0], 3)


def _fitting(pen: Any, line: str, letters: Any) -> str:
    """Returns a line that is no wider than the panel; a long name is cut in the middle."""
    most = len(line)
    while pen.textlength(cut_middle(line, most), letters) > _PANEL - 2 * _EDGE:
        most -= 1
    return cut_middle(line, most)


def last_picture(stack: np.ndarray) -> np.ndarray:
    """Returns the last picture of a stack as `(height, width, 3)`: its last three channels, or its last one.

    Example:
        >>> last_picture(np.zeros((4, 84, 84), np.uint8)).shape
        (84, 84, 3)
    """
    stack = stack if stack.shape[2] <= stack.shape[0] else np.moveaxis(stack, 0, 2)
    last = stack[..., -3:] if stack.shape[2] % 3 == 0 else np.repeat(stack[..., -1:], 3, axis=2)
    return np.ascontiguousarray(last, dtype=np.uint8)


class FeatureRow(NamedTuple):
    """One observed number: its name, its true and seen value, whether it is masked, and whether it is as it was."""

    name: str
    true: str
    seen: str
    masked: str
    is_plain: bool

    @property
    def texts(self) -> tuple[str, ...]:
        """The row of the table, without `is_plain`."""
        return self[:-1]


def feature_rows(moment: Moment) -> list[FeatureRow]:
    """Returns a row for each observed number, those first that are masked or differ from the true one.

    Example:
        >>> true, seen = {"": np.array([1.0, 2.0])}, {"": np.array([1.0, 0.0])}
        >>> moment = Moment(0, 1.0, true, seen, np.zeros(1), np.zeros(1), None, masked={"": np.array([False, True])})
        >>> [row.texts for row in feature_rows(moment)]
        [('[1]', '2', '0', 'yes'), ('[0]', '1', '1', 'no')]
    """
    rows = []
    for key, values in moment.seen.items():
        true, masked = moment.true.get(key), moment.masked.get(key)
        for place in range(values.size):
            now = float(values.flat[place])
            before = float(true.flat[place]) if true is not None and true.size == values.size else now
            is_masked = masked is not None and masked.size == values.size and bool(masked[place])
            texts = f"{key}[{place}]", f"{before:.4g}", f"{now:.4g}", "yes" if is_masked else "no"
            rows.append(FeatureRow(*texts, is_plain=not is_masked and abs(now - before) <= _CHANGED))
    return sorted(rows, key=lambda row: row.is_plain)


@functools.cache
def font(name: str, size: int) -> Any:
    """Returns a font that matplotlib brings."""
    import matplotlib
    from PIL import ImageFont

    return ImageFont.truetype(str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / name), size)
