"""What distinguishes cells, from their manifests: derived once for all cells that share it."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

from brittlestar.cells.identity import NEUTRAL
from brittlestar.config import GROUPS
from brittlestar.sweeps.layers import GONE, Base, Layered, flatten

Layers = tuple[dict[str, Any], dict[str, Any]]
_WITH_SEED = ("seed", "env.lanes", "policy.training")
"""Keys that distinguish no curves: seeds, the trainings that `policy.training=${seed}` chooses, and lanes."""


def derived(manifest: Mapping[str, Any], name: Any, derive: Callable[[Mapping[str, Any]], Any]) -> Any:
    """Returns what a function makes of a manifest, from the first manifest with the same changes."""
    if not isinstance(manifest, Layered):
        return derive(manifest)
    memo = manifest.shared.memo
    if name not in memo:
        memo[name] = derive(manifest)
    return memo[name]


def facts_of(manifest: Mapping[str, Any]) -> tuple[bool, float, str | None]:
    """Returns whether a cell has a result, the value of its strength, and the name of the strength field."""
    strength = manifest.get("strength", {})
    return manifest["status"] == "done", strength.get("value") or 0.0, strength.get("name")


def choice_of(manifest: Mapping[str, Any], group: str) -> str:
    """Returns the option chosen in a config group, or the class name where there is no Hydra."""
    chosen = manifest.get("choices", {}).get(group)
    if chosen:
        return chosen
    part = manifest.setting(group) if isinstance(manifest, Layered) else manifest["config"].get(group)
    return str((part or {}).get("_target_", "none")).rpartition(".")[2]


def layers_of(manifest: Mapping[str, Any]) -> Layers:
    """Returns options and config values by dotted key: those of many cells, and those of few cells."""
    if not isinstance(manifest, Layered):
        return {}, _kept(flatten(manifest["config"])) | _choices(manifest)
    own = _kept(manifest.shared.flat_config)
    return _shared_values(manifest.base), own | (_choices(manifest) if "choices" in manifest.shared.values else {})


def hash_of_layers(manifest: Mapping[str, Any]) -> int:
    """Returns a hash of the values of `layers_of`, whatever their parts."""
    shared, own = layers_of(manifest)
    total = _hash_of_shared(manifest.base) if isinstance(manifest, Layered) else 0
    for key, value in own.items():
        if key in shared:
            total -= hash((key, shared[key]))
        if value is not GONE:
            total += hash((key, value))
    return total


def _kept(flat: dict[str, Any]) -> dict[str, Any]:
    """Returns the values that distinguish curves."""
    return {key: value for key, value in flat.items() if key not in _WITH_SEED and key.partition(".")[0] not in NEUTRAL}


def _choices(manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {name: choice_of(manifest, name) for name in GROUPS}


@functools.lru_cache(maxsize=4096)
def _shared_values(base: Base) -> dict[str, Any]:
    return _kept(base.flat) | _choices(base.manifest)


@functools.lru_cache(maxsize=4096)
def _hash_of_shared(base: Base) -> int:
    return sum(map(hash, _shared_values(base).items()))
