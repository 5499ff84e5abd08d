"""Composed configs as plain data, and the parts of a cell from their config nodes: `_target_` and dataclass fields.

`hydra.utils.instantiate` does the same, but workers would import Hydra, and its errors do not name the valid keys.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import math
import sys
import types
import typing
from collections.abc import Iterator
from typing import Any, cast

from brittlestar.config.hints import train_hint
from brittlestar.config.imports import import_module_in_place
from brittlestar.config.schema import MISSING
from brittlestar.config.yaml_files import options, read_option
from brittlestar.errors import UserError, nearest

_PLAIN: dict[Any, tuple[type, ...]] = {float: (int, float), int: (int,), bool: (bool,), str: (str,)}


def build(node: Any, where: str) -> Any:
    """Builds a config node and everything below it: a dict with `_target_` becomes an object; messages name `where`.

    Example:
        >>> build({"_target_": "brittlestar.perturbations.GaussianObservation", "sigma": 0.1}, "perturbation")
        GaussianObservation(keys=['observation'], leak_free=False, scale='absolute', sigma=0.1)
    """
    if isinstance(node, list):
        return [build(item, f"{where}.{i}") for i, item in enumerate(node)]
    if not isinstance(node, dict):
        return node
    values = {key: build(value, f"{where}.{key}") for key, value in node.items() if key != "_target_"}
    if "_target_" not in node:
        return values
    target = locate(node["_target_"], where)
    _check_fields(target, values, where)
    try:
        return target(**values)
    except UserError as error:
        raise type(error)(f"`{where}`: {error}") from None
    except (TypeError, ValueError) as error:
        raise UserError(f"`{where}` ({node['_target_']}): {error}") from None


def locate(path: str, where: str) -> Any:
    """Imports `package.module.name`."""
    module_name, _, name = str(path).rpartition(".")
    try:
        # The import system waits for a module that another thread is just importing; a look at `sys.modules` does not.
        is_loaded = module_name in sys.modules
        module = importlib.import_module(module_name) if is_loaded else import_module_in_place(module_name)
    except ImportError as error:
        raise UserError(f"`{where}._target_` {path!r} cannot be imported: {error}") from None
    except ValueError:
        raise UserError(f"`{where}._target_` {path!r} must have the form `package.module.Class`") from None
    if not hasattr(module, name):
        public = [n for n in dir(module) if not n.startswith("_")]
        raise UserError(f"`{where}._target_`: {module_name} has no {name!r}; {nearest(name, public)}")
    return getattr(module, name)


def imported_class(path: str) -> Any:
    """Returns a class that a file of results names; None for one whose import would run the code of the file's author.

    These are allowed: brittlestar, modules that are imported already, and installed packages that add configs by the
    entry point `brittlestar.conf`.

    Example:
        >>> imported_class("brittlestar.perturbations.GaussianObservation").__name__
        'GaussianObservation'
        >>> imported_class("antigravity.geohash") is None
        True
    """
    module = str(path).rpartition(".")[0]
    package = module.partition(".")[0]
    if package == "brittlestar" or module in sys.modules or package in _config_packages():
        return locate(path, "_target_")
    return None


@functools.cache
def _config_packages() -> set[str]:
    from importlib.metadata import entry_points

    return {entry.value.partition(".")[0] for entry in entry_points(group="brittlestar.conf")}


def targets_in(node: Any) -> Iterator[str]:
    """Yields every `_target_` of a config node and of all nodes below it."""
    if isinstance(node, dict) and "_target_" in node:
        yield str(node["_target_"])
    if isinstance(node, dict | list):
        for part in node.values() if isinstance(node, dict) else node:
            yield from targets_in(part)


def load(group: str, name: str, **values: Any) -> Any:
    """Builds a shipped part by its name, with some fields changed.

    Example:
        >>> load("perturbation", "gaussian_observation", sigma=0.1)
        GaussianObservation(keys=['observation'], leak_free=False, scale='absolute', sigma=0.1)
    """
    from omegaconf import OmegaConf

    if name not in options(group):
        raise UserError(f"`{group}` has no {name!r}; {nearest(name, options(group))}")
    node = read_option(group, name)
    # `values` may set what the file leaves open.
    keys = [str(key) for key in node if key not in values]
    return build(plain_config(OmegaConf.masked_copy(node, keys)) | values, group)


def plain_config(config: Any) -> dict[str, Any]:
    """Returns a composed config as resolved plain data; raises a `UserError` if a required value is not set."""
    from omegaconf import OmegaConf

    container = cast("dict[str, Any]", OmegaConf.to_container(config, resolve=True))
    for key, value in flat(container):
        if value == MISSING:
            hint = train_hint(container) if key == "policy.path" else ""
            raise UserError("; ".join(filter(None, [f"`{key}` needs a value: add `{key}=...`", hint])))
    return container


def flat(node: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yields all keys of a nested dict, with dots between them, and their values.

    Example:
        >>> list(flat({"env": {"id": "Ant-v5"}, "seed": 0}))
        [('env', {'id': 'Ant-v5'}), ('env.id', 'Ant-v5'), ('seed', 0)]
    """
    for key, value in node.items():
        yield f"{prefix}{key}", value
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")


def _check_fields(target: Any, values: dict[str, Any], where: str) -> None:
    if not dataclasses.is_dataclass(target):
        return
    fields = {field.name: field for field in dataclasses.fields(target) if field.init}
    hints = _hints(target) if isinstance(target, type) else {}
    for key, value in values.items():
        if key not in fields:
            raise UserError(f"`{where}.{key}` does not exist; {nearest(str(key), fields)}")
        if _is_plain(hints.get(key, Any)) and not _fits(value, hints[key]):
            raise UserError(f"`{where}.{key}` must be {_in_words(hints[key])}, got {value!r}")
        if isinstance(value, float) and not math.isfinite(value):
            raise UserError(f"`{where}.{key}` must be finite, got {value}")
    for name, field in fields.items():
        if name not in values and field.default is field.default_factory is dataclasses.MISSING:
            raise UserError(f"`{where}.{name}` is missing")


@functools.cache
def _hints(target: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(target)
    except NameError:
        # A type that is only imported for type checkers.
        return {}


def _is_plain(hint: Any) -> bool:
    """Whether a type is made of numbers, strings, lists and dicts only; classes check their own objects."""
    parts = typing.get_args(hint)
    return all(_is_plain(part) for part in parts) if parts else hint in (*_PLAIN, Any, type(None))


def _fits(value: Any, hint: Any) -> bool:
    kind, parts = typing.get_origin(hint), typing.get_args(hint)
    if kind in (typing.Union, types.UnionType):
        return any(_fits(value, part) for part in parts)
    if kind is list:
        return isinstance(value, list) and all(_fits(item, parts[0]) for item in value)
    if kind is dict:
        return isinstance(value, dict) and all(_fits(item, parts[1]) for item in value.values())
    if hint in (Any, type(None)):
        return hint is Any or value is None
    return isinstance(value, _PLAIN[hint]) and (hint is bool or not isinstance(value, bool))


def _in_words(hint: Any) -> str:
    """Writes a type for a message: `a list of int or null`."""
    kind, parts = typing.get_origin(hint), typing.get_args(hint)
    if kind in (typing.Union, types.UnionType):
        return " or ".join(_in_words(part) for part in parts)
    if kind in (list, dict) and parts[-1] is not Any:
        return f"a {kind.__name__} of {_in_words(parts[-1]).partition(' ')[2]}"
    name = getattr(hint, "__name__", str(hint))
    return "null" if hint is type(None) else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
