"""The server's side of one connection: a policy, the state of its lanes, requests in and answers out."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from brittlestar.checkpoints.spaces_text import Space
from brittlestar.errors import UserError
from brittlestar.policies.base import Policy
from brittlestar.policies.server.key_map import PLAIN
from brittlestar.policies.server.metadata import BATCH, BATCH_VERSION
from brittlestar.policies.server.policy import REQUEST
from brittlestar.randomness import LaneDraws

START = "episode_start"
"""Key of a request without lanes that starts a new episode; so does a new connection."""
_MOST_LANES = 4096
_LARGEST_SEED = 2**63


@dataclass(frozen=True)
class Offer:
    """A policy that a server offers: how to make it, its spaces, and what is announced of it."""

    make: Callable[[], Policy]
    observation_space: Space
    action_space: Space
    time_limit: int | None = None
    """Registered steps of an episode."""
    deterministic: bool = True
    """For requests that do not state it."""

    def describe(self) -> dict[str, Any]:
        """Returns the metadata that follow from the policy, after one trial of it."""
        session = PolicySession(self)
        rows = {name: np.zeros((1, *(part.shape or ())), part.dtype) for name, part in session.entries.items()}
        session.act(rows, _Place.alone(0, 0, True, self.deterministic))
        entries = {name: [list(part.shape or ()), np.dtype(part.dtype).str] for name, part in session.entries.items()}
        action = [list(self.action_space.shape or ()), np.dtype(self.action_space.dtype).str]
        facts = {BATCH: BATCH_VERSION, "chunk": 1, "stateful": session.state is not None, "observation": entries}
        return facts | {"action": action, "action_space": " ".join(str(self.action_space).split())}


@dataclass(frozen=True)
class _Place:
    """Where in their episodes the lanes of a request are."""

    seed: int
    episodes: np.ndarray
    steps: np.ndarray
    starts: np.ndarray
    deterministic: bool

    @classmethod
    def alone(cls, episode: int, step: int, start: bool, deterministic: bool) -> "_Place":
        return cls(0, np.array([episode]), np.array([step]), np.array([start]), deterministic)


class PolicySession:
    """The policy of one connection.

    Example:
        >>> from brittlestar.policies import ConstantPolicy
        >>> box = spaces.Box(-1.0, 1.0, (2,))
        >>> session = PolicySession(Offer(lambda: ConstantPolicy(0.5), box, box))
        >>> session.answer({"observation": np.zeros(2, np.float32)})["actions"].tolist()
        [[0.5, 0.5]]
    """

    def __init__(self, offer: Offer) -> None:
        self._offer = offer
        space = offer.observation_space
        self.entries: dict[str, Any] = dict(space.items()) if isinstance(space, spaces.Dict) else {PLAIN: space}
        self.state: Any = None
        self._policy: Policy | None = None
        self._bound: tuple[int, int] | None = None
        self._episode, self._step = -1, 0

    def answer(self, request: Any) -> dict[str, Any]:
        """Returns the answer to a request; raises a `UserError` for one that is wrong."""
        started = time.perf_counter()
        # Numbers that are not finite are for the client to judge: a warning per request would fill the log.
        with np.errstate(all="ignore"):
            answer = self._actions_for(request)
        return answer | {"server_timing": {"infer_ms": 1000 * (time.perf_counter() - started)}}

    def _actions_for(self, request: Any) -> dict[str, Any]:
        if not isinstance(request, dict):
            raise UserError(f"the request is a {type(request).__name__}, expected a map of observations")
        if BATCH in request:
            facts = request[BATCH]
            place = self._read_place(facts)
            actions = self.act(self._read_rows(request, len(place.starts)), place)[:, None]
            extra = {REQUEST: facts.get(REQUEST)}
        else:
            place = self._next_place(request)
            actions, extra = self.act(self._read_rows(request, None), place), {}
        return extra | {"actions": actions}

    def act(self, rows: dict[str, np.ndarray], place: _Place) -> np.ndarray:
        """Returns the actions of some rows, and keeps the state of the policy."""
        policy = self._bind(place)
        self._draws.at(place.episodes, place.steps)
        observation = rows if isinstance(self._offer.observation_space, spaces.Dict) else rows[PLAIN]
        actions, self.state = policy.predict(observation, self.state, place.starts, place.deterministic)
        return np.asarray(actions)

    def _bind(self, place: _Place) -> Policy:
        key = place.seed, len(place.starts)
        if self._policy is None:
            self._policy = self._offer.make()
            self._policy.learn_time_limit(self._offer.time_limit)
        if self._bound != key:
            if self._bound is not None and not place.starts.all():
                raise UserError("another seed or number of lanes than before needs new episodes in all lanes")
            self._bound, self.state = key, None
            self._draws = LaneDraws(place.seed, "policy", key[1])
            self._policy.bind(self._offer.observation_space, self._offer.action_space, self._draws)
        return self._policy

    def _next_place(self, request: dict) -> _Place:
        starts = self._episode < 0 or bool(np.any(request.get(START, False)))
        self._episode, self._step = self._episode + starts, 0 if starts else self._step + 1
        return _Place.alone(self._episode, self._step, starts, self._offer.deterministic)

    def _read_place(self, facts: Any) -> _Place:
        if not isinstance(facts, dict):
            raise UserError(f"`{BATCH}` is a {type(facts).__name__}, expected a map")
        seed, deterministic = facts.get("seed", 0), facts.get("deterministic", self._offer.deterministic)
        if type(seed) is not int or not 0 <= seed < _LARGEST_SEED or not isinstance(deterministic, bool):
            raise UserError(f"`{BATCH}` needs a whole `seed` from 0 on and a boolean `deterministic`")
        starts, episodes, steps = (_vector(facts, name, kind) for name, kind in _VECTORS.items())
        if not 1 <= len(starts) <= _MOST_LANES or not len(starts) == len(episodes) == len(steps):
            raise UserError(f"`{BATCH}` needs `starts`, `episodes` and `steps` of 1 to {_MOST_LANES} lanes")
        return _Place(seed, episodes.astype(np.int64), steps.astype(np.int64), starts, deterministic)

    def _read_rows(self, request: dict, lanes: int | None) -> dict[str, np.ndarray]:
        """Returns the checked entries of an observation with a lane axis; `lanes` is None if the request has none."""
        rows = {}
        for name, space in self.entries.items():
            if name not in request:
                names = [str(key) for key in request if key != BATCH]
                raise UserError(f"the observation has no `{name}`; it has: {', '.join(names) or 'nothing'}")
            shape = (*(() if lanes is None else (lanes,)), *(space.shape or ()))
            rows[name] = _checked_array(name, request[name], shape, np.dtype(space.dtype))
            rows[name] = rows[name][None] if lanes is None else rows[name]
        return rows


_VECTORS = {"starts": "b", "episodes": "iu", "steps": "iu"}


def _vector(facts: dict, name: str, kinds: str) -> np.ndarray:
    array = facts.get(name)
    if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind not in kinds:
        raise UserError(
            f"`{BATCH}` needs `{name}` as an array with one {'boolean' if kinds == 'b' else 'number'} per lane"
        )
    if kinds != "b" and len(array) and array.min() < 0:
        raise UserError(f"`{name}` of `{BATCH}` must be at least 0")
    return array


def _checked_array(name: str, value: Any, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    if not isinstance(value, np.ndarray | np.generic | bool | int | float):
        raise UserError(f"`{name}` is a {type(value).__name__}, expected an array of shape {shape}")
    array = np.asarray(value)
    if array.shape != shape:
        raise UserError(f"`{name}` has the shape {array.shape}, expected {shape}")
    whole, given = dtype.kind in "biu", array.dtype.kind in "biu"
    if whole and not given:
        raise UserError(f"`{name}` has the dtype {array.dtype}, expected {dtype}")
    if dtype == np.uint8 and array.dtype != np.uint8 and array.size and not (array.min() >= 0 and array.max() <= 255):
        raise UserError(f"`{name}` has the dtype {array.dtype} and values outside of 0 to 255, expected {dtype}")
    return array.astype(dtype, copy=False)
