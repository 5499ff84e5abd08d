import pytest
from hydra import initialize_config_dir

from brittlestar.config import config_folder, register


@pytest.fixture(scope="module")
def hydra():
    """The config folder is open for `compose`."""
    register()
    with initialize_config_dir(str(config_folder()), version_base="1.3"):
        yield
