"""`models=FILE`: a yaml list of policies, each with its own file, option, environment and settings."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml  # type: ignore[import-untyped]

from brittlestar.config import HUB
from brittlestar.errors import UserError, nearest

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

FIELDS = ("path", "name", "policy", "env")
"""Keys of an entry; any other is a key of its policy, or starts with `env.`."""
BY_SUFFIX = {".zip": "sb3", ".onnx": "onnx", ".pt": "torchscript", ".pth": "cleanrl", ".cleanrl_model": "cleanrl"}
"""The option of an entry that names none; a folder is `zoo_folder`."""
Options = Mapping[str, Collection[str] | None]
"""Options of the group `policy` and the keys of each; None where they are not known."""


LISTED = ("policy", "policy.path", "model")
"""Keys that every entry of a list sets, or leaves out on purpose."""


def models_of(overrides: Sequence[Override], loader: Any, lenient: bool = False) -> list[dict[str, str]]:
    """Returns the overrides of every model that a sweep lists, by key; one of nothing without a list.

    Args:
        overrides: of the sweep.
        loader: Hydra's, which knows the options.
        lenient: leave it to the cell of a model to say that its file is missing.
    """
    given = {override.key_or_group: override for override in overrides}
    if "models" not in given or given["models"].value() is None:
        return [{}]
    if given["models"].is_sweep_override():
        raise UserError(f"`{given['models'].input_line}`: `models` takes one file")
    if not given["models"].value():
        raise UserError(
            f"`{given['models'].input_line}` names no file: `models=my_models.yaml`, a yaml list of policies"
        )
    for key in LISTED:
        if key in given:
            raise UserError(
                f"`{given[key].input_line}` and `models` contradict each other: the list says which policies"
            )
    options = {}
    shipped = [f"zoo/{name}" for name in loader.get_group_options("policy/zoo")]
    for name in [*loader.get_group_options("policy"), *shipped]:
        found = loader.repository.load_config(f"policy/{name}")
        options[name] = None if found.defaults_list else list(found.config)
    env = {} if "env" in given else {"env": "env=auto"}
    return [env | model for model in read_models(str(given["models"].value()), options, lenient)]


def without_policies(overrides: Sequence[Override], own: int) -> list[Override]:
    """Returns overrides without the policies that an experiment sweeps, if the command line lists models instead.

    Args:
        overrides: of a sweep.
        own: how many of them, from the first, are the experiment's.
    """
    if not any(override.key_or_group == "models" for override in overrides[own:]):
        return list(overrides)
    return [override for i, override in enumerate(overrides) if i >= own or override.key_or_group not in LISTED]


def check_file(path: Any) -> None:
    """Refuses the path of a policy where there is nothing."""
    if isinstance(path, str) and not _is_name(path) and not (place := Path(path).expanduser()).exists():
        raise UserError(f"there is no {place}{_hint(place)}")


def read_models(file: str, options: Options, lenient: bool = False) -> list[dict[str, str]]:
    """Reads a list of models.

    Args:
        file: yaml, a list of paths or of dicts with the keys `FIELDS`.
        options: what an entry may choose.
        lenient: take an entry whose file is missing, or does not tell what it is.

    Returns:
        For every model its overrides by the key that they set.
    """
    place = Path(file).expanduser()
    entries = [entry if isinstance(entry, dict) else {"path": entry} for entry in _load(place)]
    folder = Folder(place.parent, lenient)
    models = [_model(entry, f"entry {i} of {file}", folder, options) for i, entry in enumerate(entries, 1)]
    names = [model["model"] for model in models]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise UserError(
                f"entry {i + 1} of {file} is called as entry {names.index(name) + 1}: give it another `name`"
            )
    return [model | {"models": f"models={_quoted(file)}"} for model in models]


class Folder(NamedTuple):
    """Where a list lies, and whether a file that is not there stands in no way."""

    place: Path
    lenient: bool


def _load(place: Path) -> list[Any]:
    if place.is_dir():
        raise UserError(f"`models`: {place} is a folder, not a yaml list of policies")
    if not place.is_file():
        raise UserError(f"`models`: there is no file {place}{_hint(place)}")
    try:
        entries = yaml.safe_load(place.read_bytes())
    except (yaml.YAMLError, ValueError) as error:
        raise UserError(f"{place} is no yaml: {' '.join(str(error).split())}") from None
    if not isinstance(entries, list) or not entries:
        raise UserError(f"{place} must be a list of models (lines that start with `- `), got {_kind(entries)}")
    return entries


def _model(entry: dict[Any, Any], where: str, folder: Folder, options: Options) -> dict[str, str]:
    for key in FIELDS:
        if key in entry and not isinstance(entry[key], str):
            raise UserError(f"{where}: `{key}` must be text, got {entry[key]!r}")
    option = _option(entry, where, folder, options)
    _check_keys(entry, where, option, options[option])
    model = {"policy": f"policy={option}"}
    if "env" in entry:
        model["env"] = f"env={entry['env']}"
    if "path" in entry:
        model["policy.path"] = f"policy.path={_quoted(_locate(entry['path'], where, folder))}"
    model["model"] = f"model={_quoted(entry.get('name') or entry.get('path') or option)}"
    for key, value in entry.items():
        if key not in FIELDS:
            model |= dict(_settings(key if key.startswith("env.") else f"policy.{key}", value))
    return model


def _option(entry: dict[Any, Any], where: str, folder: Folder, options: Options) -> str:
    """Returns the option of the group `policy` that an entry asks for, or that its path tells."""
    option, path = entry.get("policy"), entry.get("path")
    if option is not None:
        if option not in options:
            raise UserError(f"{where}: `policy: {option}` does not exist; {nearest(option, options)}")
        return str(option)
    if path is None:
        unknown = [str(key) for key in entry if key not in FIELDS]
        raise UserError(
            f"{where} has no `path`" + (f": `{unknown[0]}`, {nearest(unknown[0], FIELDS)}" if unknown else "")
        )
    if path.startswith(HUB):
        return BY_SUFFIX.get(Path(path).suffix, "sb3")
    place = Path(_locate(path, where, folder))
    option = "zoo_folder" if place.is_dir() else BY_SUFFIX.get(place.suffix)
    if option is None and folder.lenient:
        # Any reader of files will say why it cannot read this one.
        return "sb3"
    if option is None:
        raise UserError(
            f"{where}: {path} does not tell what it is, add `policy:` (one of {', '.join(sorted(options))})"
        )
    return option


def _check_keys(entry: dict[Any, Any], where: str, option: str, keys: Collection[str] | None) -> None:
    if keys is None:
        return
    valid = [*FIELDS, *keys]
    for key in entry:
        if key not in valid and not str(key).startswith("env."):
            raise UserError(f"{where}: `{key}` does not exist for `policy: {option}`; {nearest(str(key), valid)}")
    if ("path" in entry) != ("path" in keys):
        raise UserError(f"{where}: `policy: {option}` " + ("needs a `path`" if "path" in keys else "takes no `path`"))


def _locate(path: str, where: str, folder: Folder) -> str:
    """Returns a path as seen from here; `hub:...` and `module:attribute` stay as they are."""
    if _is_name(path):
        return path
    given = Path(path).expanduser()
    for place in (folder.place / given, given):
        if place.exists():
            return str(place)
    place = folder.place / given
    if folder.lenient:
        return str(place)
    raise UserError(f"{where}: there is no {place}{_hint(place)}")


def _is_name(path: str) -> bool:
    """Whether a path is `hub:...` or `module:attribute`."""
    return path.startswith(HUB) or re.fullmatch(r"[\w.]+:[\w.]+", path) is not None


def _hint(place: Path) -> str:
    """Says which name is nearest to the first part of a path that does not exist."""
    place = place.absolute()
    while not place.parent.is_dir():
        place = place.parent
    names = [item.name for item in place.parent.iterdir()]
    return f"; {nearest(place.name, names)}" if names else ""


def _settings(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """Writes a setting as overrides; a dict key by key, because Hydra adds no new keys otherwise."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            for deeper, text in _settings(f"{key}.{name}", inner):
                yield deeper, text if text.startswith("++") else f"++{text}"
    else:
        yield key, f"{key}={_written(value)}"


def _written(value: Any) -> str:
    """Writes a value of a yaml file in Hydra's grammar.

    Example:
        >>> _written([1, True, None, "it's"])
        "[1,true,null,'it\\\\'s']"
    """
    if isinstance(value, list):
        return f"[{','.join(map(_written, value))}]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quoted(str(key))}:{_written(inner)}" for key, inner in value.items()) + "}"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value) if isinstance(value, int | float) else _quoted(str(value))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "\\'") + "'"


def _kind(value: Any) -> str:
    return "nothing" if not value else f"a {type(value).__name__}"
