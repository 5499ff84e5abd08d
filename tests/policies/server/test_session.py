import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.errors import UserError
from brittlestar.policies import ConstantPolicy, RandomPolicy, as_policy
from brittlestar.policies.server.metadata import BATCH
from brittlestar.policies.server.session import Offer, PolicySession

BOX = spaces.Box(-1.0, 1.0, (2,), np.float32)
DICT = spaces.Dict({"image": spaces.Box(0, 255, (4, 4, 3), np.uint8), "state": BOX})


def session(space=BOX, make=lambda: ConstantPolicy(0.5), action=BOX, **options):
    return PolicySession(Offer(make, space, action, **options))


def batch(lanes, **facts):
    place = {"starts": np.ones(lanes, bool), "episodes": np.arange(lanes), "steps": np.zeros(lanes, np.int64)}
    return {"observation": np.zeros((lanes, 2)), BATCH: {"seed": 0, "request": 1} | place | facts}


def test_an_answer_has_a_chunk_of_one_action():
    answer = session().answer({"observation": np.zeros(2), "prompt": "ignored"})
    assert answer["actions"].shape == (1, 2) and answer["server_timing"]["infer_ms"] >= 0
    assert session().answer(batch(3))["actions"].shape == (3, 1, 2)
    image = {"image": np.zeros((4, 4, 3), np.uint8), "state": np.zeros(2)}
    assert session(DICT).answer(image)["actions"].shape == (1, 2)


def test_choices_and_scalars_have_no_further_axes():
    corridor = session(spaces.Discrete(5), lambda: as_policy(lambda state: int(state) % 2), spaces.Discrete(2))
    assert corridor.answer({"observation": 3})["actions"].tolist() == [1]
    assert corridor.answer({"observation": np.int64(2)})["actions"].tolist() == [0]


@pytest.mark.parametrize(
    ("space", "request_", "message"),
    [
        (BOX, [1], "the request is a list"),
        (BOX, {}, "has no `observation`; it has: nothing"),
        (BOX, {"state": np.zeros(2), "prompt": "x"}, "has no `observation`; it has: state, prompt"),
        (BOX, {"observation": np.zeros(3)}, r"has the shape (3,), expected (2,)"),
        (BOX, {"observation": np.zeros((1, 2))}, "has the shape (1, 2), expected (2,)"),
        (BOX, {"observation": "text"}, "is a str, expected an array"),
        (DICT, {"image": np.zeros((4, 4, 3)), "state": np.zeros(2)}, "`image` has the dtype float64, expected uint8"),
        (DICT, {"image": np.full((4, 4, 3), 999), "state": np.zeros(2)}, "values outside of 0 to 255"),
        (BOX, batch(2) | {BATCH: 3}, "is a int, expected a map"),
        (BOX, batch(2, starts=np.ones(3, bool)), "of 1 to 4096 lanes"),
        (BOX, batch(2, starts=np.ones(2)), "needs `starts` as an array with one boolean per lane"),
        (BOX, batch(2, steps=np.array([-1, 0])), "must be at least 0"),
        (BOX, batch(2, seed=-1), "a whole `seed` from 0 on"),
        (BOX, batch(2, seed=2**64), "a whole `seed` from 0 on"),
        (BOX, batch(2, deterministic="no"), "a boolean `deterministic`"),
        (BOX, batch(0), "of 1 to 4096 lanes"),
        (BOX, batch(2) | {"observation": np.zeros((3, 2))}, "has the shape (3, 2), expected (2, 2)"),
    ],
)
def test_a_wrong_request_is_refused_in_one_line(space, request_, message):
    with pytest.raises(UserError) as error:
        session(space).answer(request_)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_plain_client_starts_episodes_by_a_key_or_by_a_connection():
    class Counter:
        def __init__(self):
            self.calls = 0

        def predict(self, observation):
            self.calls += 1
            return np.full(2, self.calls / 10, np.float64)

    counting = session(make=lambda: as_policy(Counter()))
    seen = {"observation": np.zeros(2)}
    starts = [False, False, True, False]
    answers = [counting.answer(seen | {"episode_start": start})["actions"][0, 0] for start in starts]
    np.testing.assert_allclose(answers, [0.1, 0.2, 0.1, 0.2])


def test_random_actions_depend_on_seed_episode_and_step_alone():
    first, second = session(make=RandomPolicy), session(make=RandomPolicy)
    second.answer(batch(2, seed=9))
    assert np.array_equal(first.answer(batch(2))["actions"], second.answer(batch(2))["actions"])
    assert not np.array_equal(first.answer(batch(2))["actions"], first.answer(batch(2, seed=1))["actions"])
    with pytest.raises(UserError, match="another seed or number of lanes"):
        first.answer(batch(3, starts=np.array([True, False, True])))


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan, 1e300])
def test_numbers_that_are_not_finite_give_an_answer_without_a_warning(number):
    scaled = session(make=lambda: as_policy(lambda seen: np.clip(seen - seen * np.float32(1e30), -1, 1)))
    assert scaled.answer({"observation": np.full(2, number)})["actions"].shape == (1, 2)
