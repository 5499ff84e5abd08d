"""Makes the parts of a cell from their config nodes: `_target_` and dataclass fields, nothing else.

This is what `hydra.utils.instantiate` does, without importing Hydra in every worker, and with errors that
name the key, the value and what is valid.
"""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any

from brittlestar.errors import UserError, nearest

_PLAIN = {"float": (int, float), "int": (int,), "bool": (bool,), "str": (str,)}


def build(node: Any, where: str) -> Any:
    """Builds a config node and everything below it.

    Args:
        node: a plain value, list or dict; a dict with `_target_` becomes an object.
        where: the node's key in the config, for error messages.

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
        raise UserError(f"`{where}`: {error}") from None
    except (TypeError, ValueError) as error:
        raise UserError(f"`{where}` ({node['_target_']}): {error}") from None


def locate(path: str, where: str) -> Any:
    """Imports `package.module.name`."""
    module_name, _, name = str(path).rpartition(".")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise UserError(f"`{where}._target_` {path!r} cannot be imported: {error}") from None
    except ValueError:
        raise UserError(f"`{where}._target_` {path!r} is no `package.module.Class`") from None
    if not hasattr(module, name):
        public = [n for n in dir(module) if not n.startswith("_")]
        raise UserError(f"`{where}._target_`: {module_name} has no {name!r}; {nearest(name, public)}")
    return getattr(module, name)


def _check_fields(target: Any, values: dict[str, Any], where: str) -> None:
    if not dataclasses.is_dataclass(target):
        return
    fields = {field.name: field for field in dataclasses.fields(target) if field.init}
    for key, value in values.items():
        if key not in fields:
            raise UserError(f"`{where}.{key}` does not exist; {nearest(str(key), fields)}")
        _check_type(fields[key], value, f"{where}.{key}")
    for name, field in fields.items():
        if name not in values and field.default is field.default_factory is dataclasses.MISSING:
            raise UserError(f"`{where}.{name}` is missing")


def _check_type(field: dataclasses.Field, value: Any, where: str) -> None:
    declared = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", "")
    base = declared.removesuffix(" | None")
    if base not in _PLAIN or (value is None and base != declared):
        return
    wrong_bool = isinstance(value, bool) and base != "bool"
    if wrong_bool or not isinstance(value, _PLAIN[base]):
        raise UserError(f"`{where}` must be a {base}, got {value!r}")
