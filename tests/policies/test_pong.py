import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.errors import UserError
from brittlestar.policies.pong import PongPlayer
from brittlestar.randomness import LaneDraws

DRAWS = LaneDraws(seed=0, stream="policy", lanes=1)
NOTHING, UP, DOWN = 0, 2, 3


def picture(paddle: float, ball: tuple[int, int] | None = None) -> np.ndarray:
    """A field with the own paddle around a row, and a ball in a row and column."""
    seen = np.full((1, 84, 84, 1), 87, dtype=np.uint8)
    seen[:, round(paddle) - 3 : round(paddle) + 4, 73:76] = 147
    if ball is not None:
        row, column = ball
        seen[:, row : row + 2, column] = 236
    return seen


def moves(paddle: float, *balls: tuple[int, int]) -> int:
    """The last action on some pictures of a paddle at rest."""
    player, state = PongPlayer(), None
    for number, ball in enumerate(balls):
        action, state = player.predict(picture(paddle, ball), state, np.array([number == 0]))
    return int(action[0])


@pytest.mark.parametrize(
    ("paddle", "balls", "expected"),
    [
        pytest.param(45, [(45, 60), (45, 58)], NOTHING, id="the ball leaves, in the middle"),
        pytest.param(65, [(45, 60), (45, 58)], UP, id="the ball leaves, below the middle"),
        pytest.param(40, [(60, 40), (60, 42)], DOWN, id="a level ball below"),
        pytest.param(70, [(40, 40), (40, 42)], UP, id="a level ball above"),
        pytest.param(70, [(70, 50), (73, 52)], UP, id="it turns round at the lower wall"),
        pytest.param(40, [(20, 40), (17, 42)], DOWN, id="it turns round at the upper wall"),
        pytest.param(50, [(47, 60), (47, 62)], NOTHING, id="the upper edge is behind the ball"),
    ],
)
def test_the_player_moves_to_where_the_ball_arrives(paddle, balls, expected):
    assert moves(paddle, *balls) == expected


def test_a_new_episode_forgets_the_ball_before_it():
    player = PongPlayer()
    _, state = player.predict(picture(45, (60, 40)), None, np.array([True]))
    action, _ = player.predict(picture(45, (60, 42)), state, np.array([True]))
    assert action.tolist() == [NOTHING], "no speed is known yet"
    assert moves(45, (60, 40), (60, 42)) == DOWN


def test_the_paddle_rests_while_the_ball_is_far():
    """Each row of a game with another command than the one before is hard to imitate."""
    player, state, actions = PongPlayer(), None, []
    for column in range(20, 40):
        action, state = player.predict(picture(50, (47, column)), state, np.array([column == 20]))
        actions.append(int(action[0]))
    assert actions[2:] == [NOTHING] * len(actions[2:])


@pytest.mark.parametrize(("action", "command"), [(0, 0), (1, 0), (UP, -1), (4, -1), (DOWN, 1), (5, 1)])
def test_the_player_learns_which_action_was_taken(action, command):
    _, state = PongPlayer().predict(picture(65), None, np.array([True]))
    PongPlayer().note_actions(np.array([action]), state)
    assert state.advice.tolist() == [command]


def test_lanes_do_not_mix():
    alone = [moves(40, (60, 40), (60, 42)), moves(70, (40, 40), (40, 42))]
    player = PongPlayer()
    first = np.concatenate([picture(40, (60, 40)), picture(70, (40, 40))])
    second = np.concatenate([picture(40, (60, 42)), picture(70, (40, 42))])
    _, state = player.predict(first, None, np.array([True, True]))
    assert player.predict(second, state, np.array([False, False]))[0].tolist() == alone


def test_a_picture_without_ball_and_paddle_gives_an_action():
    black = np.zeros((1, 84, 84, 1), dtype=np.uint8)
    action, state = PongPlayer().predict(black, None, np.array([True]))
    assert action.tolist() == [NOTHING]
    assert np.isfinite(PongPlayer().predict(np.full_like(black, 255), state, np.array([False]))[0]).all()


@pytest.mark.parametrize(
    ("seen", "acts", "message"),
    [
        (spaces.Box(0, 255, (84, 84, 4), np.uint8), spaces.Discrete(6), "needs grey pictures of 84 x 84"),
        (spaces.Box(0, 255, (84, 84, 1), np.uint8), spaces.Discrete(4), "needs the 6 actions of Pong"),
    ],
)
def test_other_games_are_refused(seen, acts, message):
    with pytest.raises(UserError, match=message):
        PongPlayer().bind(seen, acts, DRAWS)


@pytest.mark.parametrize(("name", "value"), [("edge", 5.0), ("above", -1.0)])
def test_bad_parameters_are_refused(name, value):
    with pytest.raises(ValueError, match=f"`{name}` must be between"):
        PongPlayer(**{name: value})


@pytest.mark.slow
def test_the_player_beats_the_computer():
    pytest.importorskip("ale_py", reason="ale-py is not installed: pip install brittlestar[atari]")
    from brittlestar.engine.evaluation import run_episodes
    from brittlestar.engine.plan import Plan
    from brittlestar.engine.stack import Parts
    from brittlestar.envs.atari import AtariSpec

    rows = run_episodes(AtariSpec(id="PongNoFrameskip-v4", lanes=4), Parts(PongPlayer()), Plan(4, 0))
    assert min(row["return"] for row in rows) >= 15
