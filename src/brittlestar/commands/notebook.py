"""The Python API: evaluations and sweeps without Hydra, for notebooks and other code."""

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from brittlestar.envs import EnvSpec
from brittlestar.mitigations import Mitigation
from brittlestar.perturbations import Perturbation
from brittlestar.results.frames import Result, data_frames
from brittlestar.schedules import StressSchedule
from brittlestar.sweeps.in_memory import at_strengths, run_in_memory


def evaluate(
    env: str | EnvSpec,
    policy: Any,
    *,
    perturbation: str | Perturbation | None = None,
    mitigation: str | Mitigation | None = None,
    schedule: StressSchedule | None = None,
    episodes: int = 100,
    seeds: Iterable[int] = (0,),
) -> Result:
    """Evaluates a policy at one strength.

    Args:
        env: name of a shipped config (`"fetch_reach"`), a registered id (`"CartPole-v1"`, with success and returns of
            the shipped config that knows it), `"auto"` for that of the policy, or an `EnvSpec`.
        policy: name of a shipped config, a `Policy`, a model of Stable-Baselines3, an object with `predict`, `act` or
            `__call__`, or a function. One observation or a batch, with or without a state: it finds out, with a note.
        perturbation: name of a shipped config, an object, or None.
        mitigation: name of a shipped config, an object, or None.
        schedule: when the perturbation acts; None is always.
        episodes: number of episodes per seed.
        seeds: independent repetitions.

    Returns:
        The tables `episodes`, `cells`, `curve` and `summary`, and `notes`, which are printed to the standard error too.

    Example:
        >>> result = evaluate("CartPole-v1", lambda observation: int(observation[2] > 0), episodes=3)
        >>> len(result.episodes)
        3
    """
    parts = policy, mitigation, schedule
    return _reported(data_frames(run_in_memory(env, parts, at_strengths(perturbation, None), episodes, seeds)))


def sweep(
    env: str | EnvSpec,
    policy: Any,
    *,
    perturbation: str | Perturbation,
    strength: Sequence[float],
    mitigation: str | Mitigation | None = None,
    schedule: StressSchedule | None = None,
    episodes: int = 100,
    seeds: Iterable[int] = (0, 1, 2),
) -> Result:
    """Evaluates a policy at several strengths of one perturbation: a degradation curve.

    `strength` holds values of the perturbation's strength field, the x axis of the curve. Every strength has the same
    `episodes` per seed. The other arguments are those of `evaluate`.

    Example:
        >>> from brittlestar import load
        >>> noise = load("perturbation", "gaussian_observation")
        >>> policy = lambda observation: int(observation[2] > 0)
        >>> curve = sweep("cartpole", policy, perturbation=noise, strength=[0, 0.5], episodes=3).curve
        >>> list(curve["strength"])
        [0.0, 0.5]
    """
    parts = policy, mitigation, schedule
    return _reported(data_frames(run_in_memory(env, parts, at_strengths(perturbation, strength), episodes, seeds)))


def _reported(result: Result) -> Result:
    """Prints the notes of a result to the standard error."""
    for note in result.notes:
        sys.stderr.write(f"brittlestar: note: {note}\n")
    return result
