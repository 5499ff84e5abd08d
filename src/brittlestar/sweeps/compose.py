"""Composes the cells of a sweep: the groups once per combination, then the values of each cell."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf, flag_override

from brittlestar.cells.job import Job
from brittlestar.config import GROUPS, Config, plain_config
from brittlestar.config.build import build
from brittlestar.errors import UserError

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override


class Composer:
    """Composes the cells of one sweep as Hydra does, but each combination of groups only once.

    Hydra takes about 0.1 s to compose a config from its groups. Most cells of a sweep differ by values only.
    """

    def __init__(self, launcher: Any) -> None:
        self._loader = launcher.hydra_context.config_loader
        self._config = launcher.config
        self._keys = {field.name for field in dataclasses.fields(Config)}
        self._parse = functools.cache(OverridesParser.create(config_loader=self._loader).parse_override)
        self._folder = Path(str(self._config.hydra.sweep.dir)).absolute()
        self._bases: dict[tuple, tuple[DictConfig, dict]] = {}

    def job(self, overrides: Sequence[str], number: int) -> Job:
        """Returns the job of one list of overrides."""
        parsed = [self._parse(text) for text in overrides]
        values = [override for override in parsed if self._is_value(override)]
        groups = [override for override in parsed if override not in values]
        if _overlap(values, groups):
            # Only Hydra knows which of two overrides of one key holds.
            values, groups = [], parsed
        # Cells with the same keys share a config: each one writes its values over those of the last.
        lines, keys = (str(override.input_line) for override in groups), (override.key_or_group for override in values)
        config, choices = self._base(tuple(lines), tuple(keys))
        for override in values:
            OmegaConf.update(config, override.key_or_group, override.value())
        return Job(plain_config(config), str(self._folder / str(number)), choices, list(overrides))

    def _is_value(self, override: Override) -> bool:
        """Whether an override sets one value of the config, and neither chooses an option nor merges a dict."""
        if override.is_add() or override.is_force_add() or override.is_delete() or override.package is not None:
            return False
        if isinstance(override.value(), dict):
            return False
        top, dot, _ = override.key_or_group.partition(".")
        return top in self._keys and (bool(dot) or top not in (*GROUPS, "study"))

    def _base(self, groups: tuple[str, ...], keys: tuple[str, ...]) -> tuple[DictConfig, dict]:
        if (groups, keys) not in self._bases:
            # Without other groups, the config of the sweep is the config of its cells.
            load = self._loader.load_sweep_config
            config = load(self._config, list(groups)) if groups else copy.deepcopy(self._config)
            choices = plain_config(config.hydra.runtime.choices)
            with flag_override(config, ["struct", "readonly"], False):
                config.pop("hydra")
            self._bases[groups, keys] = config, {k: v for k, v in choices.items() if not k.startswith("hydra/")}
        return self._bases[groups, keys]


def _overlap(values: list[Override], groups: list[Override]) -> bool:
    """Whether one of the values is also set by an override that chooses no option."""
    keys = [f"{override.key_or_group}." for override in values]
    settings = [o for o in groups if o.key_or_group not in (*GROUPS, "study") or isinstance(o.value(), dict)]
    set_keys = [f"{override.key_or_group}." for override in settings]
    return any(a.startswith(b) or b.startswith(a) for a in keys for b in set_keys)


@functools.lru_cache(maxsize=1)
def composer_of(launcher: Any) -> Composer:
    """Returns the composer of a launcher, which its sweeper uses too."""
    return Composer(launcher)


def add_extra_cells(launcher: Any, cells: list[list[str]]) -> list[list[str]]:
    """Returns the overrides of all cells of a sweep: its own, and behind them those that its study adds."""
    node = launcher.config.study
    if node is None:
        return cells
    if not isinstance(node, DictConfig):
        raise UserError(f"`study: {node}`: `study` is a config group, so choose an option by `defaults`")
    study = build(plain_config(node), "study")
    composed = (composer_of(launcher).job(overrides, number) for number, overrides in enumerate(cells))
    return [*cells, *(extra.overrides for extra in study.extra_cells(composed))]


def refuse_swept_study(overrides: Sequence[Override]) -> None:
    """Refuses several values of a key of the study: a sweep has one study."""
    for override in overrides:
        if override.key_or_group.partition(".")[0] == "study" and override.is_sweep_override():
            raise UserError(f"`{override.input_line}`: a sweep has one study; run one sweep for each value")
