import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.errors import UserError
from brittlestar.perturbations.objectives import margin


def test_margins_table():
    clean = np.array([[3.0, 1.0, 0.0, 5.0, 4.0]])
    value, slope = margin(spaces.MultiDiscrete([3, 2]))(np.array([[1.0, 0.0, 2.0, 1.0, 4.0]]), clean)
    assert (value.tolist(), slope.tolist()) == ([4.0], [[-1.0, 0.0, 1.0, -1.0, 1.0]])
    value, slope = margin(spaces.MultiBinary(2))(np.array([[2.0, 3.0]]), np.array([[1.0, -1.0]]))
    assert (value.tolist(), slope.tolist()) == ([1.0], [[-1.0, 1.0]])
    assert margin(spaces.Discrete(1))(np.ones((1, 1)), np.ones((1, 1)))[0].tolist() == [0.0]
    with pytest.raises(UserError, match="attacks need actions in a box, or choices, got Text"):
        margin(spaces.Text(3))
