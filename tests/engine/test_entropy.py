import numpy as np
import pytest

from brittlestar.engine.entropy import action_entropy, count_entropy, share_entropy


@pytest.mark.parametrize(
    ("actions", "entropy"),
    [
        (np.array([0, 1, 1, 0]), 1.0),
        (np.array([3, 3]), 0.0),
        # Extremes only: whole numbers, although a float.
        (np.array([[-1.0], [1.0], [1.0], [-1.0]]), 1.0),
        # Hardly moves: cut to one whole number.
        (np.array([[0.5], [0.5004]]), 0.0),
        # Five values, each in a bin of its own of the five of ten steps.
        (np.tile([[0.1], [0.2], [0.3], [0.4], [0.5]], (2, 1)), 1.0),
        # Along the diagonal: one component moves evenly, the other one not at all.
        (np.repeat(np.linspace(0.0, 1.0, 20)[:, None], 2, axis=1), 0.5),
        (np.array([[0.3, 0.1]]), 0.0),
    ],
)
def test_entropies_are_as_computed_by_hand(actions, entropy):
    assert action_entropy(actions) == pytest.approx(entropy, abs=1e-8)


def test_entropies_of_counts_and_shares_agree(rng):
    actions = rng.integers(4, size=200)
    counts = np.bincount(actions, minlength=4)
    assert count_entropy(counts) == action_entropy(actions)
    assert share_entropy(counts[None] / 200)[0] == pytest.approx(action_entropy(actions), abs=1e-8)
    assert (share_entropy(counts[None] / 200) == share_entropy(counts[None, ::-1] / 200)).all()
