"""Grids that close in on a posterior, wherever the first one is and however coarse."""

import numpy as np
import pytest

from brittlestar.statistics.posterior_grid import Parameter, finer_grid, is_fine_grid


def masses(axes, centre, spread):
    logs = -(((axes[0] - centre) / spread) ** 2) / 2
    values = np.exp(logs - logs.max())
    return values / values.sum()


@pytest.mark.parametrize("spread", [0.003, 0.05, 0.4])
@pytest.mark.parametrize("first", [(-5, 5), (0.9, 1.5), (0.705, 0.72)])
def test_a_grid_finds_a_normal_posterior_and_its_spread(first, spread):
    """Also from a grid that cuts the posterior off, or has all of it in one value."""
    parameters, axes = [Parameter(-5, 5, 9, 0.01)], [np.linspace(*first, 9)]
    for _ in range(20):
        posterior = masses(axes, 0.71, spread)
        if is_fine_grid(axes, posterior, parameters):
            break
        axes = finer_grid(axes, posterior, parameters)
    mean = posterior @ axes[0]
    assert mean == pytest.approx(0.71, abs=0.5 * spread)
    assert 0.85 < np.sqrt(posterior @ (axes[0] - mean) ** 2) / spread < 1.6


def test_a_grid_does_not_leave_the_limits_of_a_parameter():
    parameters, axes = [Parameter(0, 1, 9, 0.01)], [np.linspace(0, 1, 9)]
    axes = finer_grid(axes, masses(axes, -0.5, 0.4), parameters)
    assert axes[0][0] == 0 and axes[0][-1] <= 1 and is_fine_grid(axes, masses(axes, -0.5, 0.4), parameters)
