import copy

from hydra._internal.config_search_path_impl import ConfigSearchPathImpl
from hydra.core.config_store import ConfigStore

from hydra_plugins.brittlestar_plugins.searchpath import EntryPointSearchPath


def test_ray_is_the_launcher_of_this_package_and_that_of_hydra_has_another_name(monkeypatch):
    store = ConfigStore.instance()
    monkeypatch.setattr(store, "repo", copy.deepcopy(store.repo))
    store.store(group="hydra/launcher", name="ray", node={"_target_": "hydra_plugins.hydra_ray_launcher.RayLauncher"})
    for _ in range(2):
        EntryPointSearchPath().manipulate_search_path(ConfigSearchPathImpl())
    assert "ray.yaml" not in store.list("hydra/launcher")
    assert store.load("hydra/launcher/hydra_ray.yaml").node._target_ == "hydra_plugins.hydra_ray_launcher.RayLauncher"
