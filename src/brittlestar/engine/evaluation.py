"""The one call that evaluates a policy: lanes, rollout, and lanes closed again."""

from collections.abc import Callable
from contextlib import closing

from brittlestar.engine.envpool_lanes import PoolLanes
from brittlestar.engine.lanes import Lanes, even_lanes
from brittlestar.engine.plan import Plan, Rows
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.engine.watcher import Watcher
from brittlestar.envs import EnvSpec
from brittlestar.perturbations.context import Calibration


def make_lanes(
    spec: EnvSpec, count: int, threads: int = 1, *, consecutive: bool = False, needs_model: bool = False
) -> Lanes | PoolLanes:
    """Makes lanes on the backend that the environment asks for."""
    if spec.simulator(consecutive, needs_model)["backend"] == "envpool":
        return PoolLanes(spec, count, threads)
    return Lanes(spec, count, threads, own_models=needs_model)


def run_episodes(
    env: EnvSpec | Lanes | PoolLanes,
    parts: Parts,
    plan: Plan,
    *,
    lanes: int | None = None,
    threads: int | None = None,
    calibration: Calibration | None = None,
    on_episode: Callable[[int], None] = lambda done: None,
    watcher: Watcher | None = None,
) -> Rows:
    """Runs the planned episodes; the rows depend on the environment, the parts and the plan alone.

    The lanes of an environment are made here, and closed even on an error; open lanes remain open. There are at most
    `lanes` of them (`spec.lanes` by default), stepped by `threads` (1 by default). `calibration`
    replaces the clean pass of the policy. `on_episode` gets the number of finished episodes after each one. A `watcher`
    looks on.

    Example:
        >>> from brittlestar.policies import RandomPolicy
        >>> rows = run_episodes(EnvSpec(id="CartPole-v1", max_steps=5), Parts(RandomPolicy()), Plan(episodes=3))
        >>> rows.column("return").tolist()
        [5.0, 5.0, 5.0]
    """
    spec = env if isinstance(env, EnvSpec) else env.spec
    count = even_lanes(lanes or spec.lanes, plan.episodes)
    if isinstance(env, EnvSpec):
        needs_model = parts.perturbation.needs_world
        made = make_lanes(env, count, threads or 1, consecutive=plan.consecutive, needs_model=needs_model)
        with closing(made):
            return rollout(made, parts, plan, on_episode, calibration, watcher)
    env.resize(count)
    if threads is not None:
        env.use_threads(threads)
    return rollout(env, parts, plan, on_episode, calibration, watcher)
