import math

import numpy as np
import pytest

from brittlestar.engine.behaviour import Layout
from brittlestar.studies.stress.compat_channels import compat_channels
from brittlestar.studies.stress.scoring import thirds

VECTORS = Layout(size=2)


def plain_channels(trajectories, phases):
    """The formulas of version 1.4 for vectors, episode by episode, in double precision."""
    ema, last, anchor, mean, squares, count, scores = 0.0, None, [], None, 0.0, 0, []
    for (actions, _, rewards, (violation, regret)), phase in zip(trajectories, phases, strict=True):
        actions, steps, total = actions.astype(float), len(actions), rewards.sum()
        jerk = np.mean([np.linalg.norm(actions[t] - 2 * actions[t - 1] + actions[t - 2]) for t in range(2, steps)])
        signature = np.array([*actions.mean(0), *actions.std(0), jerk, rewards.mean(), rewards.std()])
        competence = 1 / (1 + math.exp(-abs(6 * (total - ema) / 500)))
        ema = 0.95 * ema + 0.05 * total
        continuity = 1.0 if last is None else math.exp(-np.linalg.norm(signature - last))
        last = signature
        if phase == "pre":
            anchor.append(signature)
        integrity = math.exp(-np.linalg.norm(signature - np.mean(anchor, axis=0)))
        if violation == 0 == regret:
            centred = actions - actions.mean(0)
            axes = np.linalg.eigh(centred.T @ centred)[1]
            entropy = np.mean([plain_entropy(centred @ axis) for axis in axes.T])
            if phase == "pre":
                count, before = count + 1, entropy if mean is None else mean
                mean = 0.9 * before + 0.1 * entropy
                squares += (entropy - before) * (entropy - mean)
                meaning = 1.0
            else:
                slope = math.log(20) / (1.645 * math.sqrt(squares / (count - 1))) if count >= 5 else 3.0
                meaning = math.exp(-slope * max(0.0, entropy - mean))
        else:
            meaning = math.exp(-4 * violation / steps) * math.exp(-regret / max(1, abs(total), steps))
        scores.append([competence, math.exp(-2 * jerk), continuity, integrity, meaning])
    return np.array(scores)


def plain_entropy(values):
    bins = min(10, len(values) // 2)
    shares = np.histogram(values, bins)[0] / len(values)
    return -sum(share * math.log(share) for share in shares if share > 0) / math.log(bins)


@pytest.mark.parametrize("episodes", [9, 12, 15, 30])
def test_vectors_as_in_the_formulas(table, make_vectors, rng, episodes):
    trajectories, phases = make_vectors(rng, episodes, noise=0.2), thirds(episodes)
    shock = phases.index("shock")
    trajectories[shock] = (*trajectories[shock][:3], (3.0, 20.0))
    got = compat_channels(table(VECTORS, trajectories), phases, proxy=True)
    np.testing.assert_allclose(got, plain_channels(trajectories, phases), atol=2e-6)
    assert got[:, 4].min() < 0.9
