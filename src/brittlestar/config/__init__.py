"""The config of a cell: its typed top level, the yaml files, and the objects that they describe.

Contents:
    schema: the typed top level.
    yaml_files: the folder of yaml files, and the options of a group.
    build: composed configs become plain data, and config nodes become objects.
    hints: overrides that messages suggest.
"""

from brittlestar.config.build import plain_config
from brittlestar.config.schema import GROUPS, HUB, MISSING, SWEEP_GROUPS, Config, ServeConfig, check_values, register
from brittlestar.config.yaml_files import config_folder, options

__all__ = [
    "GROUPS", "HUB", "MISSING", "SWEEP_GROUPS", "Config", "ServeConfig", "check_values", "config_folder", "options",
    "plain_config", "register",
]  # fmt: skip
