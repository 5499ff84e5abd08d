"""The optimiser of a search: CMA-ES for whole and other numbers in a box, on points that are near and fail."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from brittlestar.randomness import generator
from brittlestar.studies.search.space import SearchSpace

_Batch = list[np.ndarray]
Shares = list[float | None]
Points = Generator[_Batch, Shares, None]
"""Yields points, and receives the share of failed episodes at each, None for a cell that failed."""
_FAR = 1000.0
_START_STEPS = 5
_SPREAD, _LEAST_SPREAD = 0.3, 0.05
"""The first standard deviation, as a share of the strengths at the start: most points of a wider one are farther."""


def cost(distance: float, share: float | None, target: float) -> float:
    """Returns what the optimiser minimises: the distance of a point that fails; any other point is behind all of them.

    Among points that do not fail often enough, more failures are better, and at the same share a larger distance: there
    is nothing to learn near nominal.

    Example:
        >>> cost(0.5, 0.6, 0.5) < cost(0.7, 0.9, 0.5) < cost(0.9, 0.4, 0.5) < cost(0.8, 0.0, 0.5) < cost(0.1, 0.0, 0.5)
        True
    """
    if share is not None and share >= target:
        return distance
    return _FAR * (1 + target - (share or 0.0)) - distance


def optimise(space: SearchSpace, budget: int, seed: int, target: float) -> Points:
    """Yields `budget` points: some on the diagonal, to start where the policy fails, then generations of CMA-ES."""
    from cmaes import CMAwM

    start, used = yield from _diagonal(space, min(_START_STEPS, budget), target)
    bounds = np.tile([0.0, 1.0], (space.size, 1))
    number = int(generator(seed, "search/optimiser").integers(2**31))
    search = CMAwM(
        mean=start, sigma=max(_LEAST_SPREAD, _SPREAD * float(start[0])), bounds=bounds, steps=space.steps, seed=number
    )
    while used < budget:
        asked = [search.ask() for _ in range(search.population_size)]
        points = [np.clip(point, 0.0, 1.0) for point, _ in asked][: budget - used]
        shares = yield points
        used += len(points)
        if len(points) == search.population_size:
            distances = [space.distance(space.values(point)) for point in points]
            costs = [cost(*pair, target) for pair in zip(distances, shares, strict=True)]
            search.tell([(raw, value) for (_, raw), value in zip(asked, costs, strict=True)])


def draw_at_random(space: SearchSpace, budget: int, seed: int) -> Points:
    """Yields `budget` points, uniform in the box."""
    random = generator(seed, "search/random")
    yield list(random.random((budget, space.size)))


def _diagonal(space: SearchSpace, budget: int, target: float) -> Generator[_Batch, Shares, tuple[np.ndarray, int]]:
    """Returns the nearest point on the diagonal that fails, by bisection, and how many points it took."""
    low, high, used = 0.0, 1.0, 0
    while used < budget:
        middle = (low + high) / 2
        (share,) = yield [_on_diagonal(space, middle)]
        used += 1
        low, high = (low, middle) if share is not None and share >= target else (middle, high)
    return np.clip(_on_diagonal(space, high), 0.01, 0.99), used


def _on_diagonal(space: SearchSpace, share: float) -> np.ndarray:
    return np.array([share] * len(space.strengths) + [0.5] * len(space.others))
