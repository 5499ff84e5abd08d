"""An environment: its id, success, reference returns and signals."""

import dataclasses
import warnings
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
from gymnasium import spaces

from brittlestar.envs.backends import BACKENDS, choose_backend, package_version
from brittlestar.envs.batches import ARRAY_SPACES
from brittlestar.envs.fast import accelerate
from brittlestar.envs.gl import draw_without_screen
from brittlestar.envs.ids import register_id, split_id
from brittlestar.envs.model_sharing import share_model
from brittlestar.envs.mujoco_timer import stop_timer
from brittlestar.envs.pixels import Pixels
from brittlestar.envs.refusals import one_line, refusal
from brittlestar.envs.success import Success
from brittlestar.errors import UserError, nearest, require, require_choice


@dataclass
class Returns:
    """The two fixed returns that a normalised return lies between."""

    random: float | None = None
    reference: float | None = None

    @property
    def is_complete(self) -> bool:
        """Whether a return can be normalised."""
        return self.random is not None and self.reference is not None

    def normalise(self, value: float) -> float:
        """Returns 0 at the random return and 1 at the reference return.

        Example:
            >>> Returns(random=10.0, reference=110.0).normalise(60.0)
            0.5
        """
        assert self.random is not None and self.reference is not None
        return (value - self.random) / (self.reference - self.random)


@dataclass
class Signals:
    """Where the environment shows its motion, progress and collisions; None where it does not."""

    position_key: str | None = None
    """Entry of a dict observation; None with indices for a plain observation."""
    position_indices: list[int] | None = None
    completion_key: str | None = None
    collision_key: str | None = None


@dataclass
class EnvSpec:
    """A registered environment id with its success definition.

    Example:
        >>> EnvSpec(id="CartPole-v1").make().action_space
        Discrete(2)
    """

    id: str
    kwargs: dict[str, Any] = field(default_factory=dict)
    max_steps: int | None = None
    """Time limit in steps; None for the registered one."""
    success: Success | None = None
    returns: Returns = field(default_factory=Returns)
    signals: Signals = field(default_factory=Signals)
    default_action: float | list[float] | None = None
    """The action of perturbations that drop commands; None leaves it to them."""
    sensor_groups: dict[str, list[int]] | None = None
    """Sensors that fail together: name to indices in the observation, or in its entry `observation`."""
    lanes: int = 16
    """How many copies run side by side; changes the speed, never the result."""
    backend: str = "auto"
    """What steps the copies: `gymnasium`, `envpool`, or `auto` for EnvPool where it is the same environment."""
    module: str | None = None
    """Module to import first, which registers the id; `module:Id` as the id does the same."""
    pixels: Pixels = field(default_factory=Pixels)
    """What a policy sees in place of the state."""

    def __post_init__(self) -> None:
        require_choice("env.backend", self.backend, BACKENDS)
        module, self.id = split_id(self.id)
        self.module = module or self.module
        if isinstance(self.success, str | int | float | list | dict):
            raise UserError(f"`env.success` must be null or have a `_target_`, got {self.success!r}")
        self.returns = _record(Returns, self.returns, "env.returns")
        self.signals = _record(Signals, self.signals, "env.signals")
        self.pixels = _record(Pixels, self.pixels, "env.pixels")
        require(self.max_steps is None or self.max_steps >= 1, "env.max_steps", "at least 1", self.max_steps)

    @property
    def measure(self) -> str:
        """Name of the column that the curve shows."""
        if self.success is not None:
            return f"success_{self.success.when}"
        return "normalised_return" if self.returns.is_complete else "return"

    def simulator(self, consecutive: bool = False, needs_model: bool = False) -> dict[str, str]:
        """Returns the backend that steps the lanes, see `choose_backend`, and versions of its packages."""
        # A subclass makes its environments in its own way, which EnvPool does not know.
        if type(self) is not EnvSpec:
            return {"backend": "gymnasium"}
        if self.pixels.cameras and self.backend == "envpool":
            raise UserError(
                "cameras see MuJoCo and Gymnasium only: `env.backend` must be auto or gymnasium, got envpool"
            )
        needs_model = needs_model or bool(self.pixels.cameras)
        backend = choose_backend(self.backend, self.id, self.kwargs, consecutive=consecutive, needs_model=needs_model)
        return {"backend": backend} | ({"envpool": package_version("envpool")} if backend == "envpool" else {})

    def register(self) -> None:
        """Imports what registers the id."""
        register_id(self.id, self.module)

    def make(self, like: gym.Env | None = None) -> gym.Env:
        """Makes one environment with Gymnasium, whatever the backend; it shares the MuJoCo model of `like`, if any."""
        self.register()
        if self.pixels.is_rendered:
            draw_without_screen()
        try:
            with warnings.catch_warnings(), share_model(like):
                # Warnings about older ids: published studies use them, and the manifest records the id.
                warnings.simplefilter("ignore")
                kwargs = self.kwargs | ({"render_mode": "rgb_array"} if self.pixels.is_rendered else {})
                env = gym.make(self.id, disable_env_checker=True, max_episode_steps=self.max_steps, **kwargs)
        except (gym.error.Error, ImportError) as error:
            raise refusal(self.id, error) from None
        except TypeError as error:
            raise UserError(f"`env.kwargs` do not fit {self.id}: {one_line(error)}") from None
        accelerate(env)
        stop_timer()
        return env


def check_spaces(env: Any) -> None:
    """Refuses observation and action types that no lane can hold."""
    observed = env.observation_space
    parts = observed.spaces.values() if isinstance(observed, spaces.Dict) else [observed]
    for space in [*parts, env.action_space]:
        if not isinstance(space, ARRAY_SPACES):
            raise UserError(f"{type(space).__name__} spaces are not supported, got {space}")


def _record(kind: type, value: Any, name: str) -> Any:
    if isinstance(value, kind):
        return value
    valid = [f.name for f in dataclasses.fields(kind)]
    for key in value or {}:
        if key not in valid:
            raise UserError(f"`{name}.{key}` does not exist; {nearest(str(key), valid)}")
    return kind(**(value or {}))
