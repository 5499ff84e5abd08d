import re

import pytest
from hydra import compose

from brittlestar.config import config_folder

EXPERIMENTS = [path.stem for path in sorted((config_folder() / "experiment").glob("*.yaml"))]
pytestmark = pytest.mark.usefixtures("hydra")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_composes(name):
    config = compose("config", [f"experiment={name}"], return_hydra_config=True)
    # A study that chooses its cells in rounds needs no list of them.
    assert config.hydra.sweeper.params or name == "fingerprint"


def test_levels_of_the_published_studies():
    for env in ("fetch_reach", "fetch_push"):
        params = {
            study: compose("config", [f"experiment={env}_{study}"], return_hydra_config=True).hydra.sweeper.params
            for study in ("observation", "action", "low_pass")
        }
        assert params["observation"]["perturbation.sigma"] == "0,0.005,0.01,0.02,0.05,0.1,0.2"
        assert params["action"]["perturbation.sigma"] == "0,0.01,0.025,0.05,0.1,0.2,0.35,0.5"
        assert params["low_pass"]["mitigation.alpha"] == "0.3,0.5,0.7,1"


@pytest.mark.parametrize("name", ["distracting_control", "colosseum", "factor_world"])
def test_a_suite_sweeps_parts_that_it_has_from_none_to_its_range(name):
    words = [f"experiment={name}", "policy=random", "env=fetch_reach"]
    config = compose("config", words, return_hydra_config=True)
    params, parts = config.hydra.sweeper.params, set(config.perturbation.parts)
    assert params["perturbation.scale"].split(",")[0] == "0"
    chosen = set(re.findall(r"\w+", params.get("perturbation.only", "all"))) - {"all"}
    assert chosen == parts or not chosen
