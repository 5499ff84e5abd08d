"""Adds the config folders of other packages, which name themselves by an entry point."""

from importlib.metadata import entry_points

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.plugins.search_path_plugin import SearchPathPlugin

_SHARED_NAMES = ("ray",)
"""Launchers of this package that have the name of a launcher in a package of Hydra."""


class EntryPointSearchPath(SearchPathPlugin):
    """Reads `[project.entry-points."brittlestar.conf"]`: each value is a package that holds yaml files."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        for entry in entry_points(group="brittlestar.conf"):
            search_path.append(provider=entry.name, path=f"pkg://{entry.value}")
        _rename_launchers_of_hydra()


def _rename_launchers_of_hydra() -> None:
    """Renames `ray` of hydra-ray-launcher to `hydra_ray`: Hydra would check our launcher of that name by its fields."""
    launchers = ConfigStore.instance().repo["hydra"]["launcher"]
    for name in _SHARED_NAMES:
        if f"{name}.yaml" in launchers:
            launchers[f"hydra_{name}.yaml"] = launchers.pop(f"{name}.yaml")
