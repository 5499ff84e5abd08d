import numpy as np
import pytest

from brittlestar.envs.success import GoalReached, InfoKey, Predicate, ReturnAtLeast, Terminated
from brittlestar.errors import UserError

ENDED = np.array([True, False])


def far(observation, info):
    return observation[0] > 1


@pytest.mark.parametrize(
    ("success", "observation", "infos", "expected"),
    [
        (GoalReached(distance=0.1),
         {"achieved_goal": np.array([[0, 0], [1, 0]]), "desired_goal": np.array([[0.05, 0], [0, 0]])},
         [{}, {}], [True, False]),
        (InfoKey(key="won"), np.zeros((2, 1)), [{"won": 0}, {"won": 1.0}], [False, True]),
        (Terminated(), np.zeros((2, 1)), [{}, {}], [True, False]),
    ],
)  # fmt: skip
def test_success_is_found_at_every_step(success, observation, infos, expected):
    assert success.at_step(observation, infos, ENDED).tolist() == expected


def test_a_predicate_of_the_user_decides():
    import sys

    sys.modules["predicate_module"] = sys.modules[__name__]
    predicate = Predicate(path="predicate_module:far")
    assert predicate.at_step(np.array([[2.0], [0.0]]), [{}, {}], ENDED).tolist() == [True, False]
    assert predicate.at_step({"x": np.zeros(1)} | {0: np.array([2.0])}, [{}], ENDED).tolist() == [True]


def test_a_return_threshold_decides_at_the_end_only():
    success = ReturnAtLeast(threshold=10)
    assert success.at_step(np.zeros((1, 1)), [{}], ENDED) is None
    assert success.at_end(10.0)
    assert not success.at_end(9.9)


def test_bad_success_definitions_are_refused():
    with pytest.raises(UserError, match="`when` cannot be 'last'; valid: any, final"):
        GoalReached(when="last")
    with pytest.raises(UserError, match="'nowhere:f' is not a `module:function`"):
        Predicate(path="nowhere:f")
    with pytest.raises(UserError, match="'won' is not in info; it has: lost"):
        InfoKey(key="won").at_step(np.zeros((1, 1)), [{"lost": 1}], ENDED)
