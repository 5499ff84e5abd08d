"""Names of environments in the names of files and folders."""

from __future__ import annotations

import pytest

from brittlestar.checkpoints.env_names import env_names, settings_folder


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("CartPole-v1.zip", ["CartPole-v1"]),
        ("ppo-CartPole-v1.zip", ["CartPole-v1"]),
        ("ppo_lstm-CartPole-v1.zip", ["CartPole-v1"]),
        ("a2c_CartPole-v1_seed3.zip", ["CartPole-v1"]),
        ("agents/ppo/CartPole-v1_1/best_model.zip", ["CartPole-v1"]),
        ("agents/ppo/CartPole-v1_1/rl_model_5000_steps.zip", ["CartPole-v1"]),
        ("Hopper-v3/SAC/model.zip", ["Hopper-v3"]),
        ("Hopper-v3/SAC/best/best_model.zip", ["Hopper-v3"]),
        ("runs/CartPole-v1__ppo__1__1700000000/ppo.cleanrl_model", ["CartPole-v1"]),
        ("logs/MiniGrid-FourRooms-v0_2/model.zip", ["MiniGrid-FourRooms-v0"]),
        ("logs/ALE-Pong-v5_1/model.zip", ["ALE/Pong-v5"]),
        ("CartPole-v1/model-v2.zip", ["model-v2", "CartPole-v1"]),
        ("Deep-v9/a/b/c/model.zip", []),
        ("hub:sb3/ppo-CartPole-v1", ["CartPole-v1"]),
        ("model.zip", []),
    ],
)
def test_the_file_and_the_folders_above_it_may_name_the_environment(tmp_path, monkeypatch, path, names):
    monkeypatch.chdir(tmp_path)
    assert env_names(path) == names


def test_the_settings_of_rl_zoo_come_first(tmp_path):
    folder = tmp_path / "ppo" / "Renamed-v7_1"
    (folder / "Renamed-v7").mkdir(parents=True)
    (folder / "Renamed-v7" / "args.yml").write_text("env: CartPole-v1")
    for path in (folder, folder / "Renamed-v7.zip", folder / "best_model.zip"):
        assert env_names(str(path)) == ["CartPole-v1", "Renamed-v7"]
    assert settings_folder(folder / "best_model.zip") == folder / "Renamed-v7"
    assert settings_folder(tmp_path / "model.zip") == tmp_path
