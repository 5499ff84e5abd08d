"""How long requests to a policy server take."""

from array import array
from typing import Any

import numpy as np


class LatencyLog:
    """The seconds of every request, from the packed observation to the checked answer.

    Example:
        >>> log = LatencyLog()
        >>> log.add(0.002); log.add(0.004)
        >>> log.summary()["median_ms"]
        3.0
    """

    def __init__(self) -> None:
        self._seconds, self._inside = array("d"), array("d")

    def add(self, seconds: float, server_timing: Any = None) -> None:
        """Adds a request; `server_timing` is what the server reports, in milliseconds by name."""
        self._seconds.append(seconds)
        inside = server_timing.get("infer_ms") if isinstance(server_timing, dict) else None
        if isinstance(inside, int | float):
            self._inside.append(float(inside))

    def summary(self) -> dict[str, float]:
        """Returns number, median, 95 % quantile and maximum, and the median that the server reports, if it does."""
        if not self._seconds:
            return {"requests": 0}
        values = 1000.0 * np.asarray(self._seconds)
        facts = {"median_ms": np.median(values), "p95_ms": np.quantile(values, 0.95), "max_ms": values.max()}
        if self._inside:
            facts["server_median_ms"] = np.median(self._inside)
        return {"requests": len(values)} | {name: round(float(value), 4) for name, value in facts.items()}
