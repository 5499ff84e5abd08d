"""What each perturbation adds to a HalfCheetah cell of 64 lanes."""

from __future__ import annotations

import copy
import statistics
import time

from brittlestar.config import config_folder
from brittlestar.config.build import load
from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.perturbations import ComposedPerturbation, Perturbation
from brittlestar.perturbations.adversarial import AdversarialObservation
from brittlestar.policies import MlpPolicy
from brittlestar.schedules import Linear

from .timing import Figure, clocked, median_ratio, side_by_side

_LANES = 64
Pair = tuple[Lanes, Lanes]
"""For a disturbed cell, and for a clean one beside it."""


def perturbations(quick: bool) -> list[Figure]:
    """Every perturbation that HalfCheetah can have, except attacks, which ask the policy again and again.

    A robot that has fallen and one that runs cost MuJoCo unlike times, whoever felled it. So the time inside
    `Lanes.step` is taken out of what a perturbation adds, and stays in what it is compared with.
    """
    spec = load("env", "half_cheetah", max_steps=100 if quick else 150)
    pairs = {own: _pair(spec, own) for own in (False, True)}
    policy, rounds = MlpPolicy.random([17, 256, 256, 6]), 3 if quick else 5
    figures = _own_models(policy, rounds=3 if quick else 5)
    for path in sorted((config_folder() / "perturbation").glob("*.yaml")):
        perturbation = _usable(path.stem, spec)
        if perturbation is None:
            continue
        several = len(perturbation.parts) if isinstance(perturbation, ComposedPerturbation) else 1
        name = path.stem if several == 1 else f"{path.stem}, {several} parts,"
        used, bar = pairs[perturbation.needs_world], 10.0 * several
        figures.append(_figure(name, _added(used, Parts(policy, perturbation), rounds), bar))
        if perturbation.needs_world and several == 1:
            # Another strength at every step, and so another edit.
            ramped = Parts(policy, perturbation, schedule=Linear(warmup_steps=spec.max_steps or 1000))
            figures.append(_figure(f"{name}, ramped,", _added(used, ramped, rounds), bar))
    for name in ("gravity", "body_mass"):
        # The dearest there is, and so without a bar: another edit in every lane at every step.
        drawn = load("perturbation", name, draw="uniform")
        ramped = Parts(policy, drawn, schedule=Linear(warmup_steps=spec.max_steps or 1000))
        figures.append(_figure(f"{name}, drawn per episode and ramped,", _added(pairs[True], ramped, rounds), None))
    return figures


def _pair(spec: EnvSpec, own_models: bool) -> Pair:
    pair = Lanes(spec, _LANES, own_models=own_models), Lanes(spec, _LANES, own_models=own_models)
    for lanes in pair if own_models else ():
        lanes.worlds()
    return pair


def _figure(name: str, added: float, bar: float | None) -> Figure:
    return Figure(f"{name} adds", 100 * added, "%", at_most=bar)


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


def _added(pair: Pair, parts: Parts, rounds: int) -> float:
    """Returns what a perturbation adds to the time of a cell, as a share of it; both take turns every five steps."""
    disturbed, clean = pair
    runs = {"with": (disturbed, parts), "without": (clean, Parts(copy.copy(parts.policy)))}
    for lanes, each in runs.values():
        rollout(lanes, each, Plan(_LANES))
    shares = []
    for _ in range(rounds):
        with (
            clocked(disturbed, "step", now=time.thread_time) as more,
            clocked(clean, "step", now=time.thread_time) as less,
        ):
            seconds = side_by_side(5, **{
                name: (lanes, lambda lanes=lanes, each=each: rollout(lanes, each, Plan(_LANES)))
                for name, (lanes, each) in runs.items()
            })  # fmt: skip
        outside = seconds["with"] - more.seconds - (seconds["without"] - less.seconds)
        shares.append(outside / seconds["without"])
    return statistics.median(shares)


def _own_models(policy: MlpPolicy, rounds: int) -> list[Figure]:
    """What it costs to give every lane a model of its own, as edits of the world need it, and to step with all of them.

    In whole episodes and with all of MuJoCo's time, unlike the others, because what is read at every step and reset
    decides. The cells take turns every ten steps.
    """
    spec = load("env", "half_cheetah")
    # Small: the robots run alike for a while. Later each goes its own way, and that is in the figure, too.
    drawn = {name: load("perturbation", name, change=1e-6, draw="uniform") for name in ("gravity", "body_mass")}
    cases = {"shared": Perturbation(), "a model for every lane": Perturbation()}
    cases |= {f"{name}, drawn per episode,": each for name, each in drawn.items()}
    lanes = {name: Lanes(spec, _LANES, own_models=name != "shared") for name in cases}
    for name in list(cases)[1:]:
        lanes[name].worlds()
    parts = {name: Parts(copy.copy(policy), each) for name, each in cases.items()}
    found: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        seconds = side_by_side(10, **{
            name: (lanes[name], lambda name=name: rollout(lanes[name], parts[name], Plan(_LANES))) for name in cases
        })  # fmt: skip
        for name in cases:
            found[name].append(seconds[name])
    return [_figure(name, median_ratio(found[name], found["shared"]) - 1, 10) for name in list(cases)[1:]]
