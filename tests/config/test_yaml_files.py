from pathlib import Path

from brittlestar.config import config_folder


def test_the_config_folder_is_found():
    assert (Path(config_folder()) / "config.yaml").is_file()
