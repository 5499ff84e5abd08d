"""The client in real rollouts, against real servers on loopback."""

import re
import time
from pathlib import Path

import msgpack
import numpy as np
import pytest
import yaml
from gymnasium import spaces
from wire_bed import deaf_server, endpoint, free_port, plain_server, steer

from brittlestar.cells.known_env import shipped_envs
from brittlestar.config.build import build, load
from brittlestar.engine.evaluation import make_lanes, run_episodes
from brittlestar.engine.plan import Plan
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import HarnessError, UserError
from brittlestar.policies import MlpPolicy, RandomPolicy, as_policy
from brittlestar.policies.server import ChunkRule, ConnectionSettings, KeyMap, ServerPolicy
from brittlestar.policies.server.opening import ServerError
from brittlestar.policies.server.session import Offer
from brittlestar.randomness import LaneDraws

QUICK = ConnectionSettings(timeout_seconds=0.5, connect_seconds=5.0, reconnects=2)
TWO, SIX = spaces.Box(-1, 1, (2,)), spaces.Box(-1, 1, (6,))
CARTPOLE = EnvSpec(id="CartPole-v1", backend="gymnasium")
CHEETAH = EnvSpec(id="HalfCheetah-v5", max_steps=12)


def offer_of(spec, make):
    lanes = make_lanes(spec, 1)
    try:
        return Offer(make, lanes.observation_space, lanes.action_space)
    finally:
        lanes.close()


def rows(spec, policy, lanes, episodes=7, **plan):
    return run_episodes(spec, Parts(policy), Plan(episodes, **plan), lanes=lanes).values


def same(first, second):
    return np.array_equal(first, second, equal_nan=True)


def bound(url, observation=TWO, action=SIX, lanes=1, **options):
    policy = ServerPolicy(url, connection=options.pop("connection", QUICK), **options)
    draws = LaneDraws(0, "policy", lanes)
    policy.bind(observation, action, draws)
    return policy


@pytest.mark.parametrize("spec", [CARTPOLE, CHEETAH], ids=lambda spec: spec.id)
def test_a_policy_behind_our_server_gives_the_rows_of_the_policy_itself(spec):
    sizes = [4, 8, 2] if spec is CARTPOLE else [17, 16, 6]
    output = {"output": "argmax"} if spec is CARTPOLE else {}
    with endpoint(offer_of(spec, lambda: MlpPolicy.random(sizes, seed=1, **output)), repeatable=True) as server:
        policy = ServerPolicy(server.url)
        here = rows(spec, MlpPolicy.random(sizes, seed=1, **output), 4)
        assert all(same(here, rows(spec, policy, lanes)) for lanes in (1, 3, 16))
        assert policy.notes == []


def test_sampled_actions_and_states_are_those_of_the_policy_itself():
    class Counter:
        """Its action depends on how often it was asked in this episode."""

        def __init__(self):
            self.calls = 0

        def predict(self, observation):
            self.calls += 1
            return self.calls % 2

    for make, stateful in ((RandomPolicy, False), (lambda: as_policy(Counter()), True)):
        offer = offer_of(CARTPOLE, make)
        assert offer.describe()["stateful"] is stateful
        with endpoint(offer) as server:
            for seed in (0, 5):
                here = rows(CARTPOLE, make(), 4, seed=seed)
                assert same(here, rows(CARTPOLE, ServerPolicy(server.url), 3, seed=seed))


def test_a_server_with_a_state_cannot_be_asked_twice_in_one_step():
    class Memory:
        def predict(self, observation):
            return 0

    noise = load("perturbation", "gaussian_observation", sigma=0.1)
    refused = pytest.raises(ServerError, match="cannot be asked twice in one step: `divergence=true`")
    with endpoint(offer_of(CARTPOLE, lambda: as_policy(Memory()))) as server, refused:
        run_episodes(CARTPOLE, Parts(ServerPolicy(server.url), noise), Plan(2, divergence=True))


@pytest.mark.parametrize(("chunk", "play"), [(1, None), (5, None), (5, 2)])
def test_chunks_are_played_per_lane_and_episode_whatever_the_lanes(chunk, play):
    with plain_server(steer(chunk)) as server:
        policy = ServerPolicy(server.url, chunks=ChunkRule(length=chunk, play=play))
        one = rows(CHEETAH, policy, 1, episodes=5)
        asked = len(server.requests)
        assert asked == 5 * -(-12 // (play or chunk))
        assert same(one, rows(CHEETAH, policy, 4, episodes=5))
        # Lanes without an episode ask for nothing but their first action.
        assert asked <= len(server.requests) - asked <= asked + 3
        assert "does not announce that it is repeatable" in policy.notes[0]


def test_lanes_that_wait_ask_once():
    with plain_server(steer()) as server:
        policy = bound(server.url, lanes=2)
        observation, state = np.ones((2, 2), np.float32), None
        for start in ([True, True], [True, False], [True, False]):
            policy._draws.at(np.array([9, 0]), np.array([0, 0]))
            actions, state = policy.predict(observation, state, np.array(start))
        assert len(server.requests) == 4
        assert actions.shape == (2, 6)


def test_keys_images_and_prompts_are_sent_as_the_config_says():
    space = spaces.Dict({"image_0": spaces.Box(0, 255, (8, 16, 3), np.uint8), "observation": spaces.Box(-1, 1, (2,)),
                         "desired_goal": spaces.Box(-1, 1, (3,))})  # fmt: skip
    keys = KeyMap({"observation/image": "image_0", "observation/state": ["observation", "desired_goal"]},
                  image_size=[32, 32], prompt="push it", actions="plan", columns=[0, 2])  # fmt: skip
    with plain_server(lambda number, request: {"plan": np.array([[1.0, 9.0, 3.0], [4.0, 9.0, 6.0]])}) as server:
        policy = bound(server.url, space, spaces.Box(-9, 9, (2,)), keys=keys)
        seen = {"image_0": np.full((1, 8, 16, 3), 200, np.uint8), "observation": np.ones((1, 2)),
                "desired_goal": np.zeros((1, 3))}  # fmt: skip
        first, state = policy.predict(seen, None, np.array([True]))
        second, _ = policy.predict(seen, state, np.array([False]))
    (request,) = server.requests
    image = request["observation/image"]
    assert {*request} == {"observation/image", "observation/state", "prompt"} and request["prompt"] == "push it"
    assert image.shape == (32, 32, 3) and image[:8].max() == 0 and image[8:24].min() == 200 and image[24:].max() == 0
    assert request["observation/state"].tolist() == [1, 1, 0, 0, 0]
    assert first.tolist() == [[1, 3]] and second.tolist() == [[4, 6]]


def test_an_unknown_entry_is_an_error_with_the_nearest_name():
    keys = KeyMap({"observation/image": "imge_0"})
    space = spaces.Dict({"image_0": spaces.Box(0, 255, (8, 8, 3), np.uint8)})
    with plain_server(steer()) as server:
        with pytest.raises(UserError, match="the observation has no entry `imge_0` .*; did you mean `image_0`?"):
            bound(server.url, space, keys=keys)
        with pytest.raises(UserError, match="no entry `state` .*valid: observation"):
            bound(server.url, keys=KeyMap({"state": "state"}))


ANSWERS = {
    "shape (6,), expected (chunk, 6)": {"actions": np.zeros(6)},
    "shape (1, 5), expected (chunk, 6)": {"actions": np.zeros((1, 5))},
    "shape (0, 6), expected (chunk, 6)": {"actions": np.zeros((0, 6))},
    "has no `actions` (`policy.keys.actions`); did you mean `action`?": {"action": np.zeros((1, 6))},
    "`actions` of the answer is a list": {"actions": [[0.0] * 6]},
    "answered with a list": b"\x90",
    "no msgpack message": b"\xc1",
    "reports an error: ValueError: no": "Traceback\n  ...\nValueError: no",
    "reports an error: KeyError: ?[31mred? ??": "KeyError: \x1b[31mred\x07 \u202e\x9b",
    f"reports an error: {'x' * 297}...": "x" * 10**6,
    "did you mean `actions?`?": {"actions\x1b": np.zeros((1, 6))},
    "dtype '|O': only numbers": msgpack.packb(
        {"actions": {b"__ndarray__": True, b"data": b"", b"dtype": "|O", b"shape": [0]}}
    ),
    "did not answer within 0.5 s": TimeoutError,
    "closed the connection before it answered; 2 new connections failed, too": ConnectionError,
}  # fmt: skip


@pytest.mark.parametrize("message", ANSWERS)
def test_a_wrong_answer_is_one_line_that_names_the_server(message):
    with plain_server(lambda number, request: ANSWERS[message]) as server:
        policy = bound(server.url)
        with pytest.raises(HarnessError) as error:
            policy.predict(np.zeros((1, 2)), None, np.array([True]))
        text = str(error.value)
        assert message in text and server.url in text and text.isprintable()


@pytest.mark.parametrize("number", ["\x1b[31m", np.zeros((3, 3)), [[]] * 999, None])
def test_a_batch_with_another_number_is_one_line(number):
    answer = {"request": number, "actions": np.zeros((1, 1, 6))}
    with plain_server(lambda *_: answer, {"brittlestar/batch": 1}) as server:
        with pytest.raises(ServerError, match="answered request .* in place of 1$") as error:
            bound(server.url).predict(np.zeros((1, 2)), None, np.array([True]))
        assert str(error.value).isprintable()


def test_a_server_that_reads_nothing_blocks_no_request():
    space = spaces.Box(0, 255, (2000, 2000, 3), np.uint8)
    with deaf_server() as url:
        policy, started = bound(url, space), time.monotonic()
        with pytest.raises(ServerError, match="did not read a request of 12 MB in time"):
            policy.predict(np.zeros((1, 2000, 2000, 3), np.uint8), None, np.array([True]))
        assert time.monotonic() - started < 10


def test_a_chunk_of_another_length_is_an_error():
    with plain_server(steer(3)) as server:
        for rule, message in ((ChunkRule(length=5), "3 steps, expected"), (ChunkRule(play=4), "fewer than")):
            with pytest.raises(ServerError, match=message):
                bound(server.url, chunks=rule).predict(np.zeros((1, 2)), None, np.array([True]))


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_actions_that_are_no_numbers_fail_the_cell(number):
    failed = pytest.raises(HarnessError, match="is not in Box.* at episode 0, step 0")
    with plain_server(lambda _, request: {"actions": np.full((1, 6), number)}) as server, failed:
        rows(CHEETAH, ServerPolicy(server.url), 1, episodes=1)


def test_a_choice_that_does_not_exist_fails_the_cell():
    failed = pytest.raises(HarnessError, match=r"7 is not in Discrete\(2\)")
    with plain_server(lambda number, request: {"actions": np.array([[7]])}) as server, failed:
        rows(CARTPOLE, ServerPolicy(server.url), 1, episodes=1)


def test_a_lost_connection_is_opened_again_and_nothing_is_lost():
    sound = steer()
    with plain_server(lambda number, request: ConnectionError if number % 3 == 1 else sound(number, request)) as broken:
        policy = ServerPolicy(broken.url, connection=QUICK)
        cut = rows(CHEETAH, policy, 2, episodes=2)
        assert broken.connections > 3 and policy.remote["reconnects"] == broken.connections - 1
    with plain_server(sound) as whole:
        assert same(cut, rows(CHEETAH, ServerPolicy(whole.url), 2, episodes=2))


def test_a_server_that_became_another_one_is_refused():
    with plain_server(steer(), {"digest": "a"}) as server:
        policy = bound(server.url)
        server.metadata, server.reply = {"digest": "b"}, lambda number, request: ConnectionError
        with pytest.raises(ServerError, match=r"announces other metadata than before \(digest\)"):
            policy.predict(np.zeros((1, 2)), None, np.array([True]))


def test_a_frame_that_was_not_asked_for_is_never_taken_for_an_answer():
    answer, extra = {"actions": np.zeros((1, 6))}, {"actions": np.ones((1, 6))}
    with plain_server(lambda number, request: answer if number else [answer, extra]) as server:
        policy, start = bound(server.url), np.array([True])
        policy.predict(np.zeros((1, 2)), None, start)
        time.sleep(0.5)
        with pytest.raises(ServerError, match="that no request asked for"):
            policy.predict(np.zeros((1, 2)), None, start)
        assert policy.predict(np.zeros((1, 2)), None, start)[0].max() == 0


def test_a_server_that_died_costs_a_line_within_the_time_of_its_reconnects():
    url = f"ws://127.0.0.1:{free_port()}"
    started = time.monotonic()
    with pytest.raises(ServerError, match="nothing listens"):
        bound(url)
    assert time.monotonic() - started < 5


def test_latency_is_measured_per_request_of_the_last_pass():
    with plain_server(
        lambda number, request: {**steer()(number, request), "server_timing": {"infer_ms": 2.5}}
    ) as server:
        policy = ServerPolicy(server.url)
        for _ in range(2):
            rows(CHEETAH, policy, 1, episodes=1)
        latency = policy.remote["latency"]
    assert latency["requests"] == 12 and latency["server_median_ms"] == 2.5
    assert 0 < latency["median_ms"] <= latency["p95_ms"] <= latency["max_ms"]


def test_the_mapping_on_the_page_of_servers_runs_in_its_environment():
    page = (Path(__file__).parents[3] / "docs/server.md").read_text()
    node = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[0])
    spec = build(shipped_envs()["fetch_reach_vision"] | {"max_steps": 6}, "env")
    with plain_server(lambda number, request: {"actions": np.zeros((10, 7), np.float32)}) as server:
        rows(spec, build(node | {"url": server.url}, "policy"), 1, episodes=1)
    assert len(server.requests) == 2 and {*server.requests[0]} == {*node["keys"]["observation"], "prompt"}
    assert {server.requests[0][name].shape for name in node["keys"]["observation"]} == {(224, 224, 3), (3,)}
