"""Evaluations in training."""

from __future__ import annotations

import numpy as np
import pytest

from brittlestar.checkpoints.scores import Scores, read_scores

EVERY_TENTH = np.arange(1, 11) * 100


@pytest.mark.parametrize(
    ("steps", "step", "pooled"),
    [
        (EVERY_TENTH, None, [900, 1000]),
        (EVERY_TENTH, 1024, [900, 1000]),
        (EVERY_TENTH, 450, [400]),
        (EVERY_TENTH, 50, None),
        (np.arange(1, 101) * 10, None, [960, 970, 980, 990, 1000]),
        (np.array([7]), None, [7]),
    ],
)
def test_the_last_evaluations_up_to_the_step_of_an_agent_are_pooled(steps, step, pooled):
    last = Scores(steps[:, None].astype(float), steps).last(step)
    assert (last and last.steps.tolist()) == pooled
    assert last is None or last.returns.ravel().tolist() == pooled


@pytest.mark.parametrize("steps", [{}, {"timesteps": np.array([5, 5])}, {"timesteps": np.array([1, 2, 3])}])
def test_without_usable_steps_only_the_very_last_evaluation_counts(tmp_path, steps):
    np.savez(tmp_path / "evaluations.npz", results=np.array([[0.0, 1.0], [5.0, 6.0]]), **steps)
    scores = read_scores(tmp_path / "evaluations.npz")
    assert scores.steps is None
    assert scores.last(step=3).returns.tolist() == [[5.0, 6.0]]
