"""Which simulator runs an environment: Gymnasium's own, or EnvPool's copy of it in C++."""

import functools
import importlib.metadata
import importlib.util
import re
from collections.abc import Iterable

from brittlestar.errors import UserError, require_choice

BACKENDS = ("auto", "gymnasium", "envpool")

INSTALL_ENVPOOL = "`pip install brittlestar[envpool]`"

# Compared step by step from the same state: the same physics, rewards and ends. Gymnasium runs everything else, and
# Fetch, HalfCheetah, Hopper and Walker2d too: `brittlestar.envs.fast` steps them as fast, without making pools.
_SAME = {
    "CartPole-v1", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1", "FrozenLake-v1",
    "FrozenLake8x8-v1", "Ant-v5", "Swimmer-v5", "Humanoid-v5", "Reacher-v5", "InvertedPendulum-v5",
    "InvertedDoublePendulum-v5",
}  # fmt: skip

# Ids that Gymnasium registers but can no longer make, because they need mujoco-py.
_OLD = re.compile(
    r"(Ant|HalfCheetah|Hopper|Humanoid|Swimmer|Walker2d)-v3"
    r"|(HumanoidStandup|InvertedDoublePendulum|InvertedPendulum|Pusher|Reacher)-v2"
    r"|Fetch(Reach|Push|Slide|PickAndPlace)(Dense)?-v1"
)

# Arguments of `gymnasium.make` that have the same meaning in EnvPool.
_SAME_ARGUMENTS = {
    "forward_reward_weight", "ctrl_cost_weight", "contact_cost_weight", "healthy_reward",
    "terminate_when_unhealthy", "reset_noise_scale", "exclude_current_positions_from_observation",
}  # fmt: skip
_WITH_ARGUMENTS = ("Ant-v5", "Swimmer-v5")


@functools.cache
def envpool_available() -> bool:
    """Returns whether EnvPool is installed, without importing it."""
    return importlib.util.find_spec("envpool") is not None


@functools.cache
def package_version(name: str) -> str:
    """Returns the installed version of a package, or `absent`."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


def is_old(env_id: str) -> bool:
    """Returns whether an id needs EnvPool, because Gymnasium no longer makes it.

    Example:
        >>> is_old("HalfCheetah-v3"), is_old("HalfCheetah-v5")
        (True, False)
    """
    return _OLD.fullmatch(env_id) is not None


def choose_backend(
    backend: str, env_id: str, arguments: Iterable[str] = (), *, consecutive: bool = False, needs_model: bool = False
) -> str:
    """Returns `gymnasium` or `envpool`.

    Args:
        backend: one of them, or `auto`: EnvPool where it is installed and has the same environment.
        env_id: the registered id.
        arguments: names of the arguments of the environment.
        consecutive: whether the reset seeds are those of a published table, which need Gymnasium's streams.
        needs_model: whether a part edits or draws the simulator's model, which EnvPool does not show.

    Example:
        >>> choose_backend("auto", "FetchReach-v4")
        'gymnasium'
    """
    require_choice("env.backend", backend, BACKENDS)
    if backend == "envpool" and needs_model:
        raise UserError("`env.backend=envpool` does not show the model that this cell needs: take `gymnasium`")
    if needs_model and is_old(env_id):
        raise UserError(
            f"only EnvPool runs {env_id}, and it does not show the model that this cell needs: take a newer id, where "
            "an agent of this one needs `policy.adapter`"
        )
    if backend != "auto":
        return backend
    if not envpool_available() or needs_model:
        return "gymnasium"
    valid = _SAME_ARGUMENTS if env_id in _WITH_ARGUMENTS else set()
    same = env_id in _SAME and valid.issuperset(arguments) and not consecutive
    return "envpool" if same or is_old(env_id) else "gymnasium"
