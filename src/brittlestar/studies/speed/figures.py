"""A measured figure and the bar it is held to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Figure:
    """One line of the table; without a bar it only informs.

    Example:
        >>> Figure("ratio", 0.934, at_least=0.9).row()
        {'figure': 'ratio', 'value': '0.934', 'bar': '≥ 0.9', 'met': 'yes'}
    """

    what: str
    value: float
    unit: str = ""
    at_least: float | None = None
    at_most: float | None = None

    def row(self) -> dict[str, str]:
        """Returns the figure as text."""
        return {"figure": self.what, "value": self._text(self.value), "bar": self._bar(), "met": self._met()}

    def _text(self, value: float) -> str:
        number = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
        return f"{number} {self.unit}".strip()

    def _bar(self) -> str:
        if self.at_least is not None:
            return f"≥ {self._text(self.at_least)}"
        return "" if self.at_most is None else f"≤ {self._text(self.at_most)}"

    def _met(self) -> str:
        if self.at_least is None and self.at_most is None:
            return ""
        high_enough = self.at_least is None or self.value >= self.at_least
        low_enough = self.at_most is None or self.value <= self.at_most
        return "yes" if high_enough and low_enough else "NO"
