import numpy as np
import pytest

from brittlestar.errors import UserError
from brittlestar.studies.offline.candidates import named_candidates, short_names, swept_candidates


def test_words_become_policies_with_short_names(tmp_path):
    np.savez(tmp_path / "rollouts.npz", observations=np.zeros((2, 1)), actions=[0, 1], episode_ends=[2])
    members = named_candidates(["random", "mine=zoo/cartpole_ppo", str(tmp_path / "rollouts.npz")], 10).members
    assert [member.name for member in members] == ["random", "mine", str(tmp_path / "rollouts.npz")]
    assert [member.node is None for member in members] == [False, False, True]
    assert len(members[2].rollouts.episodes) == 1


def test_two_policies_with_one_name_are_refused():
    with pytest.raises(UserError, match="two policies are called `random`: name them by `--policy NAME="):
        named_candidates(["random", "random"], 10)


def test_names_keep_what_differs():
    assert short_names(["a/10/x/final/policy.zip", "a/30/x/final/policy.zip"]) == {
        "a/10/x/final/policy.zip": "10",
        "a/30/x/final/policy.zip": "30",
    }
    assert short_names(["runs/model.zip"]) == {"runs/model.zip": "runs/model.zip"}
    assert short_names(["a/b", "a/b/c"]) == {"a/b": "b", "a/b/c": "b/c"}


@pytest.fixture
def sweep(tmp_path, make_cell, save_cells):
    """Two policies under two perturbations; a strength of 0 is one cell of both."""
    cells = []
    for path, rates in {"runs/a/policy.zip": (1, 0.5, 0), "runs/b/policy.zip": (1, 1, 0.5)}.items():
        policy = {"_target_": "Sb3Policy", "path": path}
        for noise, strength, rate in (("gaussian_observation", 0.0, rates[0]), ("gaussian_observation", 0.1, rates[1]),
                                      ("delayed_action", 2.0, rates[2])):  # fmt: skip
            success = np.arange(10) < 10 * rate
            name = "sigma" if noise.startswith("gauss") else "delay_steps"
            choices = {"policy": "sb3", "perturbation": noise}
            cells.append(make_cell(success, strength=strength, name=name, choices=choices, config={"policy": policy}))
    return str(save_cells(tmp_path / "sweep", cells))


def test_a_sweep_gives_its_policies_and_their_success_at_every_level(sweep):
    found = swept_candidates(sweep, [])
    assert found.measure == "success_any" and found.env["id"] == "FetchReach-v4"
    assert [member.name for member in found.members] == ["a", "b"]
    assert [member.node["path"] for member in found.members] == ["runs/a/policy.zip", "runs/b/policy.zip"]
    rates = {level: row["success_any"] for level, row in found.members[0].levels.items()}
    assert rates == {"clean": 1.0, "gaussian_observation sigma=0.1": 0.5, "delayed_action delay_steps=2": 0.0}


def test_policies_of_a_sweep_are_chosen_by_name_or_path(sweep):
    assert [member.name for member in swept_candidates(sweep, ["b"]).members] == ["b"]
    assert [member.name for member in swept_candidates(sweep, ["runs/a/policy.zip"]).members] == ["a"]
    with pytest.raises(UserError, match="has no policy `c`; valid: a, b"):
        swept_candidates(sweep, ["c"])


def test_policies_are_in_the_order_of_the_numbers_in_their_names(tmp_path, make_cell, save_cells):
    paths = [f"runs/{count}/policy.zip" for count in (100, 30, 10)]
    nodes = [{"policy": {"_target_": "Sb3Policy", "path": path}} for path in paths]
    cells = [make_cell((1.0, 0.0), choices={"policy": "sb3"}, config=node) for node in nodes]
    folder = str(save_cells(tmp_path / "sweep", cells))
    assert [member.name for member in swept_candidates(folder, []).members] == ["10", "30", "100"]
