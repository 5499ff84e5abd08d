"""Composes the cells of a sweep: the groups once per combination, then the values of each cell."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf, flag_override, open_dict
from omegaconf.errors import OmegaConfBaseException

from brittlestar.cells.job import Job
from brittlestar.config import GROUPS, MISSING, SWEEP_GROUPS, Config, plain_config
from brittlestar.config.build import build, flat
from brittlestar.errors import UserError
from brittlestar.sweeps.layers import difference, merge

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

_REFERENCE = re.compile(r"\$\{[a-z][\w.]*\}")
"""An interpolation that is one value of the config, and no more."""


class Composer:
    """Composes the cells of one sweep as Hydra does, but each combination of groups, and each value, only once.

    Hydra takes about 0.1 s to compose a config from its groups, and OmegaConf milliseconds to resolve one. Most cells
    of a sweep differ by values that others of its cells have too. Configs share what does not differ.
    """

    def __init__(self, launcher: Any) -> None:
        self._loader = launcher.hydra_context.config_loader
        self._config = launcher.config
        self._keys = {field.name for field in dataclasses.fields(Config)}
        self._parse = functools.cache(OverridesParser.create(config_loader=self._loader).parse_override)
        self._is_value = functools.cache(self._sets_one_value)
        self._bases: dict[tuple[str, ...], _Base] = {}
        self._plans: dict[tuple, _Base | None] = {}

    def job(self, overrides: Sequence[str], number: int) -> Job:
        """Returns the job of one list of overrides."""
        values = [text for text in overrides if self._is_value(text)]
        groups = tuple(text for text in overrides if not self._is_value(text))
        gaps = self._base(groups).gaps
        if gaps:
            # A value that must be set, as the path of a policy, is the same for many cells.
            groups += tuple(text for text in values if self._parse(text).key_or_group in gaps)
            values = [text for text in values if text not in groups]
        base = self._base_of(groups, values)
        if base is None:
            # Only Hydra knows which of two overrides of one key holds.
            values, base = [], self._base(tuple(overrides))
        config = base.with_values([self._parse(text) for text in values])
        return Job(config, base.choices, list(overrides), number)

    def _sets_one_value(self, text: str) -> bool:
        """Whether an override sets one value of the config, and neither chooses an option nor merges a dict."""
        override = self._parse(text)
        if override.is_add() or override.is_force_add() or override.is_delete() or override.package is not None:
            return False
        if isinstance(override.value(), dict):
            return False
        top, dot, _ = override.key_or_group.partition(".")
        return top in self._keys and (bool(dot) or top not in (*GROUPS, *SWEEP_GROUPS))

    @functools.cached_property
    def _own_groups(self) -> tuple[str, ...] | None:
        """The overrides of the sweep that hold for all cells, and are no values; None if only Hydra resolves them."""
        # Reading an item of the list would resolve it.
        texts = cast("list[str]", OmegaConf.to_container(self._config.hydra.overrides.task))
        if any("${" in text for text in texts):
            return None
        own = [text for text in texts if not self._parse(text).is_sweep_override()]
        return tuple(text for text in own if not self._is_value(text))

    def _base_of(self, groups: tuple[str, ...], values: Sequence[str]) -> _Base | None:
        """Returns the config that values are set in; None if two overrides set one of them."""
        keys = tuple(self._parse(text).key_or_group for text in values)
        if (groups, keys) not in self._plans:
            settings = _settings([self._parse(text) for text in groups])
            twice = any(_related(a, b) for i, a in enumerate(keys) for b in (*keys[:i], *settings))
            self._plans[groups, keys] = None if twice else self._base(groups)
        return self._plans[groups, keys]

    def _base(self, groups: tuple[str, ...]) -> _Base:
        if groups not in self._bases:
            # The config of the sweep has its overrides of one value, so a cell without other groups need not be loaded.
            load, is_own = self._loader.load_sweep_config, groups in ((), self._own_groups)
            config = copy.deepcopy(self._config) if is_own else load(self._config, list(groups))
            choices = plain_config(config.hydra.runtime.choices)
            with flag_override(config, ["struct", "readonly"], False):
                config.pop("hydra")
            self._bases[groups] = _Base(config, {k: v for k, v in choices.items() if not k.startswith("hydra/")})
        return self._bases[groups]


class _Base:
    """A composed config, and what single values change in it."""

    def __init__(self, config: DictConfig, choices: dict[str, Any]) -> None:
        self.choices = choices
        self._config = config
        self._scratch: dict[tuple[str, ...], DictConfig] = {}
        self._effects: dict[str, dict[str, Any] | None] = {}
        raw = list(flat(cast("dict[str, Any]", OmegaConf.to_container(config))))
        self.gaps = {key for key, value in raw if value == MISSING}
        texts = [value for _, value in raw if isinstance(value, str) and "${" in value]
        self._references = [text[2:-1] for text in texts]
        # Interpolations that combine several values are resolved for each cell.
        is_simple = all(map(_REFERENCE.fullmatch, texts))
        self._plain = self._plain_or_none(config) if is_simple else None

    def with_values(self, values: Sequence[Override]) -> dict[str, Any]:
        """Returns the config as plain data with some values set."""
        changes: dict[str, Any] = {}
        for override in values:
            effect = self._effect(override)
            if effect is None or not _add_disjoint(changes, effect):
                return plain_config(self._set(values))
        return merge(self._plain, changes) if self._plain is not None else plain_config(self._set(values))

    def _effect(self, override: Override) -> dict[str, Any] | None:
        """Returns what one value changes, also through interpolations; None if that depends on other values."""
        text = str(override.input_line)
        if text not in self._effects:
            known = self._plain is not None and "${" not in text
            self._effects[text] = self._find_effect(override) if known else None
        return self._effects[text]

    def _find_effect(self, override: Override) -> dict[str, Any] | None:
        config, key = self._set([override]), override.key_or_group
        if any(_related(key, reference) for reference in self._references):
            plain = self._plain_or_none(config)
            return None if plain is None or self._plain is None else difference(self._plain, plain)
        value = OmegaConf.select(config, key)
        effect: Any = OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value
        if effect == MISSING:
            return None
        for part in reversed(key.split(".")):
            effect = {part: effect}
        return effect

    def _set(self, values: Sequence[Override]) -> DictConfig:
        """Sets values in a config that only cells with the same keys use: each writes over those of the last."""
        keys = tuple(override.key_or_group for override in values)
        if keys not in self._scratch:
            self._scratch[keys] = copy.deepcopy(self._config)
        for override in values:
            OmegaConf.update(self._scratch[keys], override.key_or_group, override.value())
        return self._scratch[keys]

    @staticmethod
    def _plain_or_none(config: DictConfig) -> dict[str, Any] | None:
        """Returns a config as plain data; None if it has a gap that an override must fill."""
        with contextlib.suppress(UserError, OmegaConfBaseException):
            return plain_config(config)
        return None


def _add_disjoint(changes: dict[str, Any], more: dict[str, Any]) -> bool:
    """Adds nested changes to others, and returns whether none of their values was set before."""
    for key, value in more.items():
        if key not in changes:
            changes[key] = copy.deepcopy(value) if isinstance(value, dict) else value
        elif not (isinstance(value, dict) and isinstance(changes[key], dict) and _add_disjoint(changes[key], value)):
            return False
    return True


def _settings(groups: list[Override]) -> list[str]:
    """Returns the keys of overrides that choose no option."""
    chosen = [o for o in groups if o.key_or_group not in (*GROUPS, *SWEEP_GROUPS) or isinstance(o.value(), dict)]
    return [override.key_or_group for override in chosen]


def _related(a: str, b: str) -> bool:
    """Whether two dotted keys are the same, or one of them is inside of the other."""
    return f"{a}.".startswith(f"{b}.") or f"{b}.".startswith(f"{a}.")


@functools.lru_cache(maxsize=1)
def composer_of(launcher: Any) -> Composer:
    """Returns the composer of a launcher, which its sweeper uses too."""
    return Composer(launcher)


def compose_call(launcher: Any, overrides: Sequence[str], number: int) -> DictConfig:
    """Returns the config, with that of Hydra, of one call of a command that is no cell: a training or a hardening."""
    config = launcher.hydra_context.config_loader.load_sweep_config(launcher.config, list(overrides))
    with open_dict(config):
        config.hydra.job.id = config.hydra.job.num = number
    return config


def study_of(launcher: Any) -> Any:
    """Returns the study of a sweep; None without one."""
    node = launcher.config.study
    if node is None:
        return None
    if not isinstance(node, DictConfig):
        raise UserError(f"`study: {node}`: `study` is a config group, so choose an option by `defaults`")
    return build(plain_config(node), "study")


def add_extra_cells(launcher: Any, cells: list[list[str]]) -> list[list[str]]:
    """Returns the overrides of all cells of a sweep: its own, and behind them those that its study adds."""
    study = study_of(launcher)
    if study is None:
        return cells
    composed = (composer_of(launcher).job(overrides, number) for number, overrides in enumerate(cells))
    return [*cells, *(extra.overrides for extra in study.extra_cells(composed))]


def refuse_swept_study(overrides: Sequence[Override]) -> None:
    """Refuses several values of a key of the study, the gate or the tracker: a sweep has one of each."""
    for override in overrides:
        group = override.key_or_group.partition(".")[0]
        if group in SWEEP_GROUPS and override.is_sweep_override():
            raise UserError(f"`{override.input_line}`: a sweep has one {group}; run one sweep for each value")


def refuse_empty_dicts(overrides: Sequence[Override], config: DictConfig) -> None:
    """Refuses `study.axes={}`: Hydra merges dictionaries, so that it would remove nothing."""
    for override in overrides:
        key = override.key_or_group
        if key.partition(".")[0] in SWEEP_GROUPS and not override.is_sweep_override() and override.value() == {}:
            names = OmegaConf.select(config, key)
            if names:
                raise UserError(
                    f"`{override.input_line}` removes nothing, because dictionaries are merged; "
                    f"`{key}.{next(iter(names))}=null` leaves one entry out"
                )
