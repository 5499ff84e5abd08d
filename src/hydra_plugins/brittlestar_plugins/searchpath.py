"""Adds the config folders of other packages, which name themselves by an entry point."""

from importlib.metadata import entry_points

from hydra.core.config_search_path import ConfigSearchPath
from hydra.plugins.search_path_plugin import SearchPathPlugin


class EntryPointSearchPath(SearchPathPlugin):
    """Reads `[project.entry-points."brittlestar.conf"]`: each value is a package that holds yaml files."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        for entry in entry_points(group="brittlestar.conf"):
            search_path.append(provider=entry.name, path=f"pkg://{entry.value}")
