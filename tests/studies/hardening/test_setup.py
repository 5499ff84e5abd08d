"""What is hardened: its levels and mistakes in its config."""

import pytest
from omegaconf import OmegaConf

from brittlestar.cells.job import resolve
from brittlestar.cells.known_env import shipped_envs
from brittlestar.config import config_folder
from brittlestar.config.build import load
from brittlestar.errors import UserError
from brittlestar.studies.hardening.setup import default_levels, prepare

PENDULUM = {"_target_": "brittlestar.policies.zoo.ZooPolicy", "name": "pendulum_sac", "adapter": None}


def test_every_perturbation_has_a_default_grid_that_it_accepts():
    for path in sorted((config_folder() / "perturbation").glob("*.yaml")):
        resolved = OmegaConf.to_container(OmegaConf.load(path), resolve=True)
        node = {key: "length" if value == "???" else value for key, value in resolved.items()}
        values = {key: value for key, value in node.items() if key != "_target_" and key != "parts"}
        name = load("perturbation", path.stem, **values).strength_field
        if name is None:
            continue
        levels = default_levels(node, name)
        assert levels[0] == 0 and node[name] in levels and len(levels) >= 4, path.stem
        assert [abs(level) for level in levels] == sorted({abs(level) for level in levels}), path.stem


def config(**changes):
    node = {"_target_": "brittlestar.perturbations.GaussianObservation", "sigma": 0.05}
    env = {"_target_": "brittlestar.envs.EnvSpec", "id": "CartPole-v1"}
    defaults = {"share": 0.9, "checkpoint": "best", "seeds": [0], "levels": None, "train_level": None, "measure": None}
    others = {
        "mitigation": {},
        "stress_schedule": {},
        "episodes": 5,
        "deterministic": True,
        "store": "s",
        "folder": "x",
    }
    return {"env": env, "policy": {}, "perturbation": node} | others | defaults | changes


def test_levels_are_sorted_and_start_at_zero():
    assert prepare(config(levels=[0.2, 0.1, 0.1]), {}).levels == [0, 0.1, 0.2]
    with_change = {"_target_": "brittlestar.perturbations.Gravity", "change": -0.2}
    assert prepare(config(perturbation=with_change, levels=[-0.4, -0.1]), {}).levels == [0, -0.1, -0.4]


def test_an_id_by_hand_has_success_of_the_option_that_knows_it():
    env = shipped_envs()["gym"] | {"id": "CartPole-v1"}
    setup = prepare(config(env=env), {"env": "gym"}, ["env=gym", "env.id=CartPole-v1"])
    assert (setup.measure, setup.choices["env"]) == ("success_final", "CartPole-v1")
    raw = prepare(config(env=env), {"env": "gym"}, ["env=gym", "env.success=null", "env.returns=null"])
    assert raw.measure == "return"
    for cell in raw.cells():
        assert resolve(cell).config["env"] == raw.config["env"]
        assert resolve(cell).notes == raw.notes != []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"policy": PENDULUM}, "zoo/pendulum_sac was trained in Pendulum-v1, not in CartPole-v1"),
        ({"levels": "0.1"}, "`levels` must be a list of numbers"),
        ({"levels": [0.1, float("nan")]}, "`levels` must be a list of numbers"),
        ({"levels": [-0.1, 0.1]}, "must go one way from 0"),
        ({"levels": [0]}, "needs a level other than 0"),
        ({"levels": [0, -1]}, "`sigma` must be at least 0"),
        ({"seeds": []}, "`seeds` must be different whole numbers"),
        ({"seeds": [0, 0]}, "`seeds` must be different whole numbers"),
        ({"seeds": [0.5]}, "`seeds` must be different whole numbers"),
        ({"share": 0}, "`share` must be above 0 and at most 1, got 0"),
        ({"checkpoint": "bset"}, "did you mean `best`"),
        ({"measure": "success_any"}, "`measure` cannot be 'success_any'"),
        ({"train_level": -1}, "`sigma` must be at least 0"),
        ({"perturbation": {"_target_": "brittlestar.perturbations.Perturbation"}}, "has no strength to harden against"),
        ({"perturbation": config()["perturbation"] | {"sigma": 0}}, "give `levels="),
    ],
)
def test_a_mistake_is_an_error_before_anything_is_computed(changes, message):
    with pytest.raises(UserError, match=message):
        prepare(config(**changes), {}, ["env=cartpole"])
