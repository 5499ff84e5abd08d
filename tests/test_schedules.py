import numpy as np
import pytest

from brittlestar.schedules import Constant, StressSchedule


def test_levels():
    episodes, steps = np.array([0, 5, 9]), np.array([0, 1, 2])
    assert StressSchedule().levels(episodes, steps).tolist() == [1, 1, 1]
    assert Constant(level=0.25).levels(episodes, steps).tolist() == [0.25] * 3
    assert Constant().phase(3) == "all"


@pytest.mark.parametrize("level", [-0.1, 1.1])
def test_bad_level(level):
    with pytest.raises(ValueError, match=rf"`level` must be in \[0, 1\], got {level}"):
        Constant(level=level)
