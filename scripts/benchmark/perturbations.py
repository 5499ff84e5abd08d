"""What each perturbation adds to a HalfCheetah cell of 64 lanes."""

from __future__ import annotations

import statistics
import time

from brittlestar.api import load
from brittlestar.config import config_folder
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.lanes import Lanes
from brittlestar.perturbations import Compose, Perturbation
from brittlestar.perturbations.adversarial import AdversarialObservation
from brittlestar.policies import MlpPolicy
from brittlestar.rollout import Parts, Plan, rollout

from .figures import Figure
from .timing import clocked, take_turns

_LANES = 64


def perturbations(quick: bool) -> list[Figure]:
    """Every perturbation that HalfCheetah can have, except attacks, which ask the policy again and again.

    A robot that has fallen and one that runs cost MuJoCo unlike times, whoever felled it. So the time inside
    `Lanes.step` is taken out of what a perturbation adds, and stays in what it is compared with.
    """
    spec = load("env", "half_cheetah", max_steps=100 if quick else 150)
    lanes = {own: Lanes(spec, _LANES, own_models=own) for own in (False, True)}
    lanes[True].worlds()
    parts = Parts(MlpPolicy.random([17, 256, 256, 6]))
    figures = [_own_models(parts, rounds=3 if quick else 5)]
    for path in sorted((config_folder() / "perturbation").glob("*.yaml")):
        perturbation = _usable(path.stem, spec)
        if perturbation is not None:
            parts.perturbation = perturbation
            added = _added(lanes[perturbation.needs_world], parts, rounds=2 if quick else 3)
            several = len(perturbation.parts) if isinstance(perturbation, Compose) else 1
            name = f"{path.stem} adds" if several == 1 else f"{path.stem}, {several} parts, adds"
            figures.append(Figure(name, 100 * added, "%", at_most=10 * several))
    return figures


def _usable(name: str, spec: EnvSpec) -> Perturbation | None:
    """Returns a shipped perturbation, unless it is an attack, does nothing, or makes no sense for the environment."""
    env = spec.make()
    try:
        perturbation: Perturbation = load("perturbation", name)
        perturbation.bind(env.observation_space, env.action_space, _LANES)
        rollout(Lanes(spec, 1, own_models=True), Parts(MlpPolicy.random([17, 6]), perturbation), Plan(1))
    except UserError:
        return None
    return None if perturbation.is_identity or isinstance(perturbation, AdversarialObservation) else perturbation


def _added(lanes: Lanes, parts: Parts, rounds: int) -> float:
    """Returns what a perturbation adds to the time of a cell, as a share of it."""
    clean = Parts(parts.policy)
    rollout(lanes, parts, Plan(_LANES))
    found = take_turns(rounds, **{
        name: lambda each=each, whole=whole: _seconds(lanes, each, whole)
        for name, each, whole in (("all", clean, True), ("without", clean, False), ("with", parts, False))
    })  # fmt: skip
    turns = zip(found["with"], found["without"], found["all"], strict=True)
    return statistics.median((more - less) / whole for more, less, whole in turns)


def _seconds(lanes: Lanes, parts: Parts, whole: bool) -> float:
    """Returns the seconds of a rollout, with or without what its steps of the simulator took."""
    with clocked(lanes, "step", now=time.process_time) as inside:
        started = time.process_time()
        rollout(lanes, parts, Plan(_LANES))
        seconds = time.process_time() - started
    return seconds if whole else seconds - inside.seconds


def _own_models(parts: Parts, rounds: int) -> Figure:
    """What it costs to give every lane a model of its own, as edits of the world need it.

    In longer episodes than the others, because a reset with a model that is not in the caches takes more time.
    """
    spec = load("env", "half_cheetah", max_steps=600)
    lanes = {own: Lanes(spec, _LANES, own_models=own) for own in (False, True)}
    lanes[True].worlds()
    speed = take_turns(rounds, **{str(own): lambda own=own: _seconds(lanes[own], parts, True) for own in lanes})
    added = statistics.median(a / b - 1 for a, b in zip(speed["True"], speed["False"], strict=True))
    return Figure("a model for every lane adds", 100 * added, "%", at_most=10)
