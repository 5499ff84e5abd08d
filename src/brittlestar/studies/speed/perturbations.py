"""What each perturbation adds to a HalfCheetah cell of 64 lanes."""

import copy
import statistics
import time

from brittlestar.config import config_folder
from brittlestar.config.build import load
from brittlestar.engine.evaluation import evaluate
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

from .timing import Figure, Turns, clocked, side_by_side

_LANES = 64
Pair = tuple[Lanes, Lanes]
"""For a disturbed cell, and for a clean one beside it."""


def perturbations(quick: bool) -> list[Figure]:
    """Every perturbation that HalfCheetah can have, except attacks, which query the policy many times a step.

    MuJoCo takes other times for a robot that has fallen than for one that runs. So the time inside `Lanes.step` is no
    part of what a perturbation adds, but part of what it is compared with.
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
        # The most expensive case, and so without a bar: another edit in every lane at every step.
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
    try:
        perturbation: Perturbation = load("perturbation", name)
        evaluate(spec, Parts(MlpPolicy.random([17, 6]), perturbation), Plan(1))
    except UserError:
        return None
    return None if perturbation.is_identity or isinstance(perturbation, AdversarialObservation) else perturbation


def _added(pair: Pair, parts: Parts, rounds: int) -> float:
    """Returns what a perturbation adds to the time of a cell, as a share of it; both take turns every five steps."""
    disturbed, clean = pair
    runs = {"with": (disturbed, parts), "without": (clean, Parts(copy.copy(parts.policy)))}
    for lanes, each in runs.values():
        rollout(lanes, each, Plan(_LANES))
    rollouts = {
        name: (lanes, lambda lanes=lanes, each=each: rollout(lanes, each, Plan(_LANES)))
        for name, (lanes, each) in runs.items()
    }
    shares = []
    for _ in range(rounds):
        now = time.thread_time
        with clocked(disturbed, "step", now=now) as more, clocked(clean, "step", now=now) as less:
            seconds = side_by_side(5, **rollouts)
        outside = seconds["with"] - more.seconds - (seconds["without"] - less.seconds)
        shares.append(outside / seconds["without"])
    return statistics.median(shares)


def _own_models(policy: MlpPolicy, rounds: int) -> list[Figure]:
    """The cost of a model for every lane, which edits of the world need.

    Unlike the others in whole episodes and with all of MuJoCo's time, because the reads at every step and reset count.
    """
    spec = load("env", "half_cheetah")
    # A small change, so that the robots run alike for a while.
    drawn = {name: load("perturbation", name, change=1e-6, draw="uniform") for name in ("gravity", "body_mass")}
    cases = {"shared": Perturbation(), "a model for every lane": Perturbation()}
    cases |= {f"{name}, drawn per episode,": each for name, each in drawn.items()}
    lanes = {name: Lanes(spec, _LANES, own_models=name != "shared") for name in cases}
    for name in list(cases)[1:]:
        lanes[name].worlds()
    parts = {name: Parts(copy.copy(policy), each) for name, each in cases.items()}
    runs = {name: (lanes[name], lambda name=name: rollout(lanes[name], parts[name], Plan(_LANES))) for name in cases}
    turns = Turns([side_by_side(10, **runs) for _ in range(rounds)])
    return [_figure(name, turns.ratio(name, "shared") - 1, 10) for name in list(cases)[1:]]
