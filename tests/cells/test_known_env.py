"""What is known about an environment that a user names by its id."""

import pytest

from brittlestar.cells.known_env import BY_HAND, complete_env, known_env, shipped_envs, user_settings, with_settings

SHIPPED = shipped_envs()
GYM = SHIPPED[BY_HAND]


@pytest.mark.parametrize("name", sorted(SHIPPED.keys() - {"auto", BY_HAND, "pong", "breakout", "fetch_reach_vision"}))
def test_an_id_by_hand_is_the_option_that_knows_it(name):
    env, notes = complete_env(GYM | {"id": SHIPPED[name]["id"]})
    assert env | {"lanes": 0} == SHIPPED[name] | {"lanes": 0}
    assert len(notes) == 1 and f"of `env={name}`" in notes[0]


def test_a_variant_has_the_settings_of_its_option_and_its_own():
    plain, seen = SHIPPED["fetch_reach"], SHIPPED["fetch_reach_vision"]
    assert seen["id"] == plain["id"] and seen["signals"] == plain["signals"] and "defaults" not in seen
    assert seen["pixels"]["size"] == 64 and seen["success"] == plain["success"] | {"when": "final"}
    assert known_env("FetchReach-v4")[0] == "fetch_reach"


def test_an_atari_game_by_hand_has_the_returns_but_keeps_its_frames():
    env, _ = complete_env(GYM | {"id": "PongNoFrameskip-v4"})
    assert env["returns"] == SHIPPED["pong"]["returns"]
    assert env["_target_"] == GYM["_target_"] and "frame_skip" not in env


def test_an_unknown_id_remains_as_it_is():
    env = GYM | {"id": "LunarLander-v3"}
    assert complete_env(env) == (env, [])
    assert known_env("LunarLander-v3")[0] == ""


def test_an_older_version_has_the_goals_but_not_the_returns():
    reach, _ = complete_env(GYM | {"id": "FetchReach-v1"})
    hopper, notes = complete_env(GYM | {"id": "Hopper-v3"})
    assert (
        reach["success"] == SHIPPED["fetch_reach"]["success"] and reach["signals"] == SHIPPED["fetch_reach"]["signals"]
    )
    assert hopper["returns"] == GYM["returns"] and hopper["sensor_groups"] == SHIPPED["hopper"]["sensor_groups"]
    assert notes[0].startswith("Hopper-v3 has sensor_groups of `env=hopper`")


def test_settings_of_the_user_hold():
    mine = {"success": {"_target_": "brittlestar.envs.success.ReturnAtLeast", "when": "final", "threshold": 9.0}}
    env, notes = complete_env(GYM | {"id": "CartPole-v1", "returns": {"random": None, "reference": 300.0}} | mine)
    assert env["success"] == mine["success"]
    assert env["returns"] == {"random": SHIPPED["cartpole"]["returns"]["random"], "reference": 300.0}
    assert "has returns, sensor_groups of" in notes[0]


@pytest.mark.parametrize(
    ("named", "kept"),
    [({"success"}, {"success": None}), ({"returns.random"}, {"returns": {"random": None, "reference": 475.0}})],
)
def test_a_key_that_the_command_names_holds_at_its_default(named, kept):
    env, _ = complete_env(GYM | {"id": "CartPole-v1"}, named)
    assert {key: env[key] for key in kept} == kept
    assert env["sensor_groups"]


def test_a_key_that_the_command_deletes_remains_deleted():
    without = {key: value for key, value in GYM.items() if key != "success"} | {"id": "CartPole-v1"}
    assert "success" not in complete_env(without, {"success"})[0]


@pytest.mark.parametrize("change", [{"kwargs": {"sutton_barto_reward": True}}, {"max_steps": 50}])
def test_other_rewards_are_not_measured_by_those_of_the_option(change):
    env, notes = complete_env(GYM | {"id": "CartPole-v1"} | change)
    assert (env["success"], env["returns"]) == (None, GYM["returns"])
    assert "has sensor_groups of `env=cartpole`, not its rewards, because" in notes[0]
    goals, _ = complete_env(GYM | {"id": "FetchReach-v4"} | change)
    assert goals["success"] == SHIPPED["fetch_reach"]["success"]


def test_settings_are_what_differs_from_the_option():
    option = SHIPPED["cartpole"]
    changed = option | {"max_steps": 9, "returns": option["returns"] | {"random": 1.0}}
    settings = user_settings(changed, option)
    assert settings == {"max_steps": 9, "returns": {"random": 1.0}}
    assert with_settings(option, settings) == changed
