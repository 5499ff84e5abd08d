"""Curves of a fingerprint without a sweep."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from brittlestar.statistics.crossing_design import Estimate


@pytest.fixture
def curve():
    """Makes a curve with a critical level and interval; without one, it holds up to `most`, or is not decided."""

    def make(value=None, low=0.0, high=math.inf, most=4.0, status="reached", whole=False, sign=1):
        return SimpleNamespace(
            estimate=None if value is None else Estimate(value, low, high),
            look=SimpleNamespace(status=status, interval=SimpleNamespace(low=low, high=high)),
            outcomes=SimpleNamespace(trials=SimpleNamespace(levels=np.array([0.0, most]))),
            search=SimpleNamespace(reach=SimpleNamespace(whole=whole)),
            clean=(0.1, (0.05, 0.2)),
            sign=sign,
        )

    return make
