"""What each perturbation adds to a HalfCheetah cell of 64 lanes."""

import copy
import functools
import statistics
import time
from collections.abc import Iterator

from brittlestar.config import config_folder
from brittlestar.config.build import load
from brittlestar.engine.evaluation import run_episodes
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
_Pair = tuple[Lanes, Lanes]
"""For a disturbed cell, and for a clean one that takes turns with it."""


def perturbations(quick: bool) -> list[Figure]:
    """Every perturbation that HalfCheetah can have, except attacks, which query the policy many times a step.

    MuJoCo takes other times for a robot that has fallen than for one that runs. So the time inside `Lanes.step` is not
    part of what a perturbation adds, but part of what it is compared with.
    """
    steps, rounds = (100, 3) if quick else (150, 5)
    spec, policy = load("env", "half_cheetah", max_steps=steps), MlpPolicy.random([17, 256, 256, 6])
    pairs = {own_models: (_lanes(spec, own_models), _lanes(spec, own_models)) for own_models in (False, True)}
    figures = _own_models(policy, rounds)
    for name, parts, bar in _cases(spec, policy):
        figures.append(_figure(name, _added(pairs[parts.perturbation.needs_world], parts, rounds), bar))
    return figures


def _cases(spec: EnvSpec, policy: MlpPolicy) -> Iterator[tuple[str, Parts, float | None]]:
    """Yields name, parts and bar of every case; the strength of a ramped one changes at every step."""
    ramp = Linear(warmup_steps=spec.max_steps or 1000)
    for path in sorted((config_folder() / "perturbation").glob("*.yaml")):
        perturbation = _usable(path.stem, spec)
        if perturbation is None:
            continue
        if isinstance(perturbation, ComposedPerturbation):
            count = len(perturbation.parts)
            yield f"{path.stem}, {count} parts,", Parts(policy, perturbation), 10.0 * count
            continue
        yield path.stem, Parts(policy, perturbation), 10.0
        if perturbation.needs_world:
            yield f"{path.stem}, ramped,", Parts(policy, perturbation, schedule=ramp), 10.0
    for name in ("gravity", "body_mass"):
        # The most expensive case, and so without a bar: another edit in every lane at every step.
        drawn = Parts(policy, load("perturbation", name, draw="uniform"), schedule=ramp)
        yield f"{name}, drawn per episode and ramped,", drawn, None


def _lanes(spec: EnvSpec, own_models: bool) -> Lanes:
    lanes = Lanes(spec, _LANES, own_models=own_models)
    if own_models:
        lanes.worlds()
    return lanes


def _figure(name: str, added: float, bar: float | None) -> Figure:
    return Figure(f"{name} adds", 100 * added, "%", at_most=bar)


def _usable(name: str, spec: EnvSpec) -> Perturbation | None:
    """Returns a shipped perturbation, unless it is an attack, does nothing, or makes no sense for the environment."""
    try:
        perturbation: Perturbation = load("perturbation", name)
        run_episodes(spec, Parts(MlpPolicy.random([17, 6]), perturbation), Plan(1))
    except UserError:
        return None
    return None if perturbation.is_identity or isinstance(perturbation, AdversarialObservation) else perturbation


def _added(pair: _Pair, parts: Parts, rounds: int) -> float:
    """Returns what a perturbation adds to the time of a cell, as a share of it; both take turns every five steps."""
    disturbed, clean = pair
    runs = {"with": (disturbed, parts), "without": (clean, Parts(copy.copy(parts.policy)))}
    rollouts = {name: (run[0], functools.partial(rollout, *run, Plan(_LANES))) for name, run in runs.items()}
    for _, warm_up in rollouts.values():
        warm_up()
    shares = []
    for _ in range(rounds):
        now = time.thread_time
        with clocked(disturbed, "step", now=now) as stepping, clocked(clean, "step", now=now) as clean_stepping:
            seconds = side_by_side(5, **rollouts)
        outside = seconds["with"] - stepping.seconds - (seconds["without"] - clean_stepping.seconds)
        shares.append(outside / seconds["without"])
    return statistics.median(shares)


def _own_models(policy: MlpPolicy, rounds: int) -> list[Figure]:
    """The cost of a model for every lane, which edits of the world need.

    Unlike the others in whole episodes and with all of MuJoCo's time, because the reads at every step and reset count.
    """
    spec = load("env", "half_cheetah")
    # The change is small, so that the robots run alike for a while.
    cases = {"shared": Perturbation(), "a model for every lane": Perturbation()}
    for name in ("gravity", "body_mass"):
        cases[f"{name}, drawn per episode,"] = load("perturbation", name, change=1e-6, draw="uniform")
    runs = {}
    for name, perturbation in cases.items():
        lanes, parts = _lanes(spec, own_models=name != "shared"), Parts(copy.copy(policy), perturbation)
        runs[name] = lanes, functools.partial(rollout, lanes, parts, Plan(_LANES))
    turns = Turns([side_by_side(10, **runs) for _ in range(rounds)])
    return [_figure(name, turns.ratio(name, "shared") - 1, 10) for name in list(cases)[1:]]
