import dataclasses

import pytest
from hydra import compose

from brittlestar.config import Config, plain_config

pytestmark = pytest.mark.usefixtures("hydra")


def test_the_top_level_is_typed():
    assert set(plain_config(compose("config"))) == {field.name for field in dataclasses.fields(Config)}


def test_names_that_other_rooms_use():
    config = compose("config", return_hydra_config=True)
    assert config.store == "outputs/store"
    assert config.lanes == config.env.lanes
    assert {"episodes", "seed", "lanes", "store"} <= set(config)
    assert "dir" in config.hydra.sweep
