"""A scripted player of Atari Pong, which reads ball and paddle from the picture."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from gymnasium import spaces

from brittlestar.checkpoints.spaces_text import Space, describe_space
from brittlestar.errors import UserError, require
from brittlestar.policies.base import Observation, Policy, Prediction, Starts
from brittlestar.randomness import LaneDraws

_SIDE, _ACTIONS = 84, 6
_UP, _DOWN, _NOTHING = 2, 3, 0
_UPS, _DOWNS = (2, 4), (3, 5)
"""Actions that move the paddle, without and with FIRE."""
_ROWS, _COLUMNS, _PADDLE = slice(14, 77), slice(12, 73), slice(73, 76)
"""The field without walls and paddles, and the columns of the own paddle."""
_BACKGROUND, _BALL, _FULL_ROW, _LENGTH = 87.0, 60.0, 126.0, 6.4
"""Brightness of the field, least brightness of a ball above it, and brightness of a row and length of the paddle."""
_HIGHEST, _LOWEST = 14.4, 76.6
"""Rows in which the ball turns round."""
_FIRST, _LAST, _MIDDLE = 12.3, 78.3, 45.5
"""Rows of the paddle's centre: first, last and middle one."""
_CONTACT = 73.0
"""Column of the ball when the paddle hits it."""
_NOW, _NEXT, _KEPT = np.array([2.28, 4.0]), np.array([4.62, 2.95]), 0.245
"""The paddle moves by `now * u + next * u' + kept * v'` rows in a step: u is 1 down and -1 up, u' and v' are command
and movement of the step before. Fitted to random commands, root mean square error 0.23. The paddle
moves in every second frame, so games with an even and an odd start differ."""
_COMMANDS = np.array([0.0, -1.0, 1.0])
_HORIZON = 4
_EFFORT, _DETOUR = np.array([0.02, 0.5]), np.array([0.1, 0.02])
"""Costs of a command and of a row on the way, with a near and with a far ball. The paddle rests while the ball is far:
otherwise it would move up and down all the time, which a network hardly learns from pictures."""
_PLANS = np.array(list(itertools.product(_COMMANDS, repeat=_HORIZON)))
"""`(plans, steps)`: all commands of the next steps."""


@dataclass
class PongPlayer(Policy):
    """Moves the paddle so that its edge hits the ball: only steep balls pass the computer.

    It needs no state of the emulator: it sees what every policy sees, and a perturbation disturbs it too.

    Args:
        edge: distance of ball and paddle's centre at the hit, in rows of the picture. Balls are steep from 2.6 on, and
            missed from 3.4 on.
        above: row above which the lower edge hits the ball, so that it goes down; elsewhere the upper edge does.

    Example:
        >>> picture = np.full((1, 84, 84, 1), 87, dtype=np.uint8)
        >>> picture[:, 60:67, 73:76] = 147
        >>> PongPlayer().predict(picture)[0].tolist()
        [2]
    """

    edge: float = 3.0
    above: float = 36.0

    def __post_init__(self) -> None:
        require(0 <= self.edge <= 4, "edge", "between 0 and 4", self.edge)
        require(0 <= self.above <= _SIDE, "above", f"between 0 and {_SIDE}", self.above)

    def bind(self, observation_space: Space, action_space: Space, draws: LaneDraws) -> None:
        if observation_space.shape != (_SIDE, _SIDE, 1):
            seen = describe_space(observation_space)
            raise UserError(f"pong_player needs grey pictures of {_SIDE} x {_SIDE} pixels (`env=pong`), got {seen}")
        if not isinstance(action_space, spaces.Discrete) or action_space.n != _ACTIONS:
            raise UserError(f"pong_player needs the {_ACTIONS} actions of Pong, got {describe_space(action_space)}")

    def predict(
        self, observation: Observation, state: Any = None, episode_start: Starts = None, deterministic: bool = True
    ) -> Prediction:
        scene = _Scene.read(np.asarray(observation)[..., 0])
        scene.follow(scene if state is None else state, episode_start)
        wait, target = self._aim(scene)
        scene.advice = _first_command(scene, wait, target)
        return np.where(scene.advice < 0, _UP, np.where(scene.advice > 0, _DOWN, _NOTHING)), scene

    def note_actions(self, actions: np.ndarray, state: Any) -> None:
        state.advice = np.isin(actions, _DOWNS) * 1.0 - np.isin(actions, _UPS) * 1.0

    def _aim(self, scene: _Scene) -> tuple[np.ndarray, np.ndarray]:
        """Returns the steps until the ball arrives, and where the paddle should be then."""
        comes = scene.ball_speed[:, 1] > 0.3
        speed = np.where(comes, scene.ball_speed[:, 1], 1.0)
        wait = np.where(comes, np.maximum((_CONTACT - scene.ball[:, 1]) / speed, 0.0), np.inf)
        span = _LOWEST - _HIGHEST
        way = scene.ball[:, 0] + scene.ball_speed[:, 0] * np.where(comes, wait, 0.0) - _HIGHEST
        arrival = _HIGHEST + span - np.abs(np.mod(way, 2 * span) - span)
        # The paddle's centre is 0.2 rows above the one that sends balls back level.
        target = arrival - 0.2 + np.where(arrival < self.above, -self.edge, self.edge)
        return wait, np.clip(np.where(comes, target, _MIDDLE), _FIRST, _LAST)


@dataclass
class _Scene:
    """What pictures show, one row per lane."""

    ball: np.ndarray
    """`(lanes, 2)`: row and column; nan where there is none."""
    centre: np.ndarray
    """Row of the paddle's middle, as it appears; nan where there is none."""
    length: np.ndarray
    """Rows of the paddle, as it appears: a picture shows the maximum of two frames."""
    cut: np.ndarray
    """-1 where the upper wall hides a part of the paddle, 1 where the lower one does, else 0."""

    def __post_init__(self) -> None:
        lanes = len(self.centre)
        self.row, self.ball_speed = self._rows()[:, 0], np.zeros((lanes, 2))
        self.speed, self.command, self.late, self.advice = np.zeros((4, lanes))

    @classmethod
    def read(cls, pictures: np.ndarray) -> Self:
        """Finds ball and paddle in `(lanes, rows, columns)`."""
        light = np.maximum(pictures[:, _ROWS].astype(np.float64) - _BACKGROUND, 0.0)
        rows, columns = np.arange(_SIDE)[_ROWS], np.arange(_SIDE)[_COLUMNS]
        field = np.where(light[:, :, _COLUMNS] > 3.0, light[:, :, _COLUMNS] - 3.0, 0.0)
        ball = np.stack([_mean(field.sum(axis=2), rows, _BALL), _mean(field.sum(axis=1), columns, _BALL)], axis=1)
        paddle = np.clip(light[:, :, _PADDLE].sum(axis=2) / _FULL_ROW, 0.0, 1.0)
        cut = (paddle[:, -1] > 0.9) * 1.0 - (paddle[:, 0] > 0.9) * 1.0
        return cls(ball, _mean(paddle, rows, 1.0), paddle.sum(axis=1), cut)

    def follow(self, before: Self, first: Starts) -> None:
        """Derives what one picture does not show from the scene before: speeds, and the last command."""
        begins = np.full(len(self.centre), before is self)
        begins = begins if first is None else begins | first
        last_row = np.where(begins, self._rows()[:, 0], before.row)
        last_speed, last_command, self.late = (
            np.where(begins, 0.0, part) for part in (before.speed, before.command, before.late)
        )
        now, following = self.response
        coast = last_row + following * last_command + _KEPT * last_speed
        expected = np.clip(coast[:, None] + now[:, None] * _COMMANDS, _FIRST, _LAST)
        # Where the paddle moved between the two frames of a picture, only its past shows which end is the later one.
        gaps = np.abs(self._rows()[:, :, None] - expected[:, None])
        # A perturbation may have changed the action.
        gaps += 1.5 * (before.advice[:, None] != _COMMANDS)[:, None]
        best = gaps.reshape(len(gaps), -1).argmin(axis=1)
        self.row = np.take_along_axis(self._rows(), best[:, None] // len(_COMMANDS), axis=1)[:, 0]
        self.row = np.where(np.isnan(self.centre), np.clip(coast, _FIRST, _LAST), self.row)
        self.command = np.where(begins, 0.0, _COMMANDS[best % len(_COMMANDS)])
        self.speed = np.where(begins, 0.0, self.row - last_row)
        self._find_kind()
        self.ball_speed = np.nan_to_num(np.where(begins[:, None], np.nan, self.ball - before.ball))

    def _find_kind(self) -> None:
        """Notes which kind of game it is, where the picture shows it: a moving paddle is longer in one of them."""
        # The ball would lengthen the paddle.
        clear = (self.cut == 0) & (self.ball[:, 1] < 68.0)
        smear = self.length - _LENGTH
        self.late = np.where(clear & (smear > 1.2), 1.0, self.late)
        self.late = np.where(clear & (smear < 0.5) & (np.abs(self.speed) > 6.0), 0.0, self.late)

    def _rows(self) -> np.ndarray:
        """Returns `(lanes, 2)`: the paddle's middle in the two frames, which the picture does not order."""
        smear = np.clip(self.length - _LENGTH, 0.0, 6.0) / 2
        centre = np.where(np.isnan(self.centre), _MIDDLE, self.centre)
        centre = np.where(self.cut < 0, _ROWS.start + self.length - smear - 3.7, centre)
        centre = np.where(self.cut > 0, _ROWS.stop - self.length + smear + 2.7, centre)
        return np.stack([centre - smear, centre + smear], axis=1)

    @property
    def response(self) -> tuple[np.ndarray, np.ndarray]:
        """How far a command moves the paddle in its step, and in the next."""
        kind = self.late.astype(np.int64)
        return _NOW[kind], _NEXT[kind]


def _mean(weights: np.ndarray, places: np.ndarray, least: float) -> np.ndarray:
    """Returns the mean place in each lane; nan where the sum of weights is below `least`."""
    total = weights.sum(axis=1)
    return np.where(total >= least, (weights * places).sum(axis=1) / np.maximum(total, 1e-9), np.nan)


def _first_command(scene: _Scene, wait: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Returns the first command of the plan that brings the paddle nearest to the target when the ball arrives."""
    path, rest = _paths(scene)
    step = np.clip(np.floor(wait), 0, _HORIZON - 1).astype(np.int64)
    share = np.clip(wait - step, 0.0, 1.0)[:, None]
    lanes = np.arange(len(step))
    arrived = path[lanes, :, step] * (1 - share) + path[lanes, :, step + 1] * share
    place = np.where(wait[:, None] > _HORIZON, rest, arrived)
    far = (wait > _HORIZON).astype(np.int64)[:, None]
    # A little weight on the way there: otherwise it would wait as long as the plan is.
    counts = np.arange(1, _HORIZON + 1) <= np.maximum(wait, 1.0)[:, None]
    detour = (np.abs(path[:, :, 1:] - target[:, None, None]) * counts[:, None]).sum(axis=2)
    cost = np.abs(place - target[:, None]) + _DETOUR[far] * detour + _EFFORT[far] * np.abs(_PLANS).sum(axis=1)
    return _PLANS[cost.argmin(axis=1), 0]


def _paths(scene: _Scene) -> tuple[np.ndarray, np.ndarray]:
    """Returns where each plan brings the paddle, `(lanes, plans, steps + 1)`, and where it comes to rest after it."""
    now, following = (part[:, None] for part in scene.response)
    row, speed, command = (
        np.repeat(part[:, None], len(_PLANS), axis=1) for part in (scene.row, scene.speed, scene.command)
    )
    path = [row]
    for commands in _PLANS.T:
        aim = np.clip(row + now * commands + following * command + _KEPT * speed, _FIRST, _LAST)
        row, speed, command = aim, aim - row, np.broadcast_to(commands, row.shape)
        path.append(row)
    rest = np.clip(row + (following * command + _KEPT * speed) / (1 - _KEPT), _FIRST, _LAST)
    return np.stack(path, axis=2), rest
