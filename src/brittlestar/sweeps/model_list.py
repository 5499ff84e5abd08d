"""`models=FILE`: a yaml list of policies, each with its own file, option, environment and settings."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml  # type: ignore[import-untyped]

from brittlestar.config import HUB
from brittlestar.errors import UserError, nearest, nearest_file

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

FIELDS = ("path", "name", "policy", "env")
"""Keys of an entry. Any other key is one of its policy, or starts with `env.`."""
BY_SUFFIX = {".zip": "sb3", ".onnx": "onnx", ".pt": "torchscript", ".pth": "cleanrl", ".cleanrl_model": "cleanrl"}
"""The option of an entry that names none; a folder is `zoo_folder`."""
LISTED = ("policy", "policy.path", "model")
"""Keys that belong to the entries of a list."""
Options = Mapping[str, Collection[str] | None]
"""Options of the group `policy` and the keys of each; None for an option that other files compose."""


def models_of(overrides: Sequence[Override], loader: Any, lenient: bool = False) -> list[dict[str, str]]:
    """Returns the overrides of every model that a sweep lists, by key; a single empty dict without a list.

    `loader` is Hydra's config loader. With `lenient`, the cell of a missing file reports it.
    """
    by_key = {override.key_or_group: override for override in overrides}
    if "models" not in by_key or by_key["models"].value() is None:
        return [{}]
    models = by_key["models"]
    if models.is_sweep_override():
        raise UserError(f"`{models.input_line}`: `models` takes one file")
    if not models.value():
        raise UserError(f"`{models.input_line}` names no file: `models=my_models.yaml`, a yaml list of policies")
    for key in LISTED:
        if key in by_key:
            raise UserError(f"`{by_key[key].input_line}` and `models` contradict each other: the list has the policies")
    options = {}
    shipped = [f"zoo/{name}" for name in loader.get_group_options("policy/zoo")]
    for name in [*loader.get_group_options("policy"), *shipped]:
        file = loader.repository.load_config(f"policy/{name}")
        options[name] = None if file.defaults_list else list(file.config)
    env = {} if "env" in by_key else {"env": "env=auto"}
    return [env | model for model in read_models(str(models.value()), options, lenient)]


def without_policies(overrides: Sequence[Override], count: int) -> list[Override]:
    """Returns overrides, `count` of an experiment first, without its policies if the command line lists models."""
    if not any(override.key_or_group == "models" for override in overrides[count:]):
        return list(overrides)
    return [override for i, override in enumerate(overrides) if i >= count or override.key_or_group not in LISTED]


def check_file(path: Any) -> None:
    """Raises a `UserError` if the path of a policy does not exist."""
    if isinstance(path, str) and not _is_name(path) and not (place := Path(path).expanduser()).exists():
        raise UserError(f"there is no {place}{_suggestion(place)}")


def read_models(file: str, options: Options, lenient: bool = False) -> list[dict[str, str]]:
    """Returns the overrides of every model of a yaml list, by the key that they set.

    An entry is a path, or a dict with the keys `FIELDS`. `lenient` accepts a file that is missing or of unknown kind.
    """
    place = Path(file).expanduser()
    models: dict[str, dict[str, str]] = {}
    for number, content in enumerate(_load(place), 1):
        entry = content if isinstance(content, dict) else {"path": content}
        model = _model(_Entry(entry, f"entry {number} of {file}", place.parent, lenient), options)
        if model["model"] in models:
            first = list(models).index(model["model"]) + 1
            raise UserError(f"entry {number} of {file} has the name of entry {first}: give it another `name`")
        models[model["model"]] = model | {"models": f"models={_quoted(file)}"}
    return list(models.values())


class _Entry(NamedTuple):
    """An entry of a list: its values, its name in messages, the folder of the list, and whether files may lack."""

    values: dict[Any, Any]
    where: str
    folder: Path
    lenient: bool


def _load(place: Path) -> list[Any]:
    if place.is_dir():
        raise UserError(f"`models`: {place} is a folder, not a yaml list of policies")
    if not place.is_file():
        raise UserError(f"`models`: there is no file {place}{_suggestion(place)}")
    try:
        entries = yaml.safe_load(place.read_bytes())
    except (yaml.YAMLError, ValueError) as error:
        raise UserError(f"{place} cannot be read as yaml: {' '.join(str(error).split())}") from None
    if not isinstance(entries, list) or not entries:
        kind = f"a {type(entries).__name__}" if entries else "nothing"
        raise UserError(f"{place} must be a list of models (lines that start with `- `), got {kind}")
    return entries


def _model(entry: _Entry, options: Options) -> dict[str, str]:
    values = entry.values
    for key in FIELDS:
        if key in values and not isinstance(values[key], str):
            raise UserError(f"{entry.where}: `{key}` must be text, got {values[key]!r}")
    option = _option(entry, options)
    _check_keys(entry, option, options[option])
    model = {"policy": f"policy={option}"}
    if "env" in values:
        model["env"] = f"env={values['env']}"
    if "path" in values:
        model["policy.path"] = f"policy.path={_quoted(_locate(entry))}"
    model["model"] = f"model={_quoted(values.get('name') or values.get('path') or option)}"
    for key, value in values.items():
        if key not in FIELDS:
            model |= dict(_settings(key if key.startswith("env.") else f"policy.{key}", value))
    return model


def _option(entry: _Entry, options: Options) -> str:
    """Returns the option of the group `policy` that an entry names, or that its path implies."""
    option, path = entry.values.get("policy"), entry.values.get("path")
    if option is not None:
        if option not in options:
            raise UserError(f"{entry.where}: `policy: {option}` does not exist; {nearest(option, options)}")
        return str(option)
    if path is None:
        unknown = [f": `{key}`, {nearest(str(key), FIELDS)}" for key in entry.values if key not in FIELDS]
        raise UserError(f"{entry.where} has no `path`{''.join(unknown[:1])}")
    if path.startswith(HUB):
        return BY_SUFFIX.get(Path(path).suffix, "sb3")
    place = Path(_locate(entry))
    # The reader of zips reports why it cannot read another file.
    option = "zoo_folder" if place.is_dir() else BY_SUFFIX.get(place.suffix, "sb3" if entry.lenient else None)
    if option is None:
        valid = ", ".join(sorted(options))
        raise UserError(f"{entry.where}: the kind of {path} is unknown, add `policy:` (one of {valid})")
    return option


def _check_keys(entry: _Entry, option: str, keys: Collection[str] | None) -> None:
    if keys is None:
        return
    where, valid = entry.where, [*FIELDS, *keys]
    for key in entry.values:
        if key not in valid and not str(key).startswith("env."):
            raise UserError(f"{where}: `{key}` does not exist for `policy: {option}`; {nearest(str(key), valid)}")
    if ("path" in entry.values) != ("path" in keys):
        raise UserError(f"{where}: `policy: {option}` " + ("needs a `path`" if "path" in keys else "takes no `path`"))


def _locate(entry: _Entry) -> str:
    """Returns the path of an entry, relative to the list or to the current folder; `hub:...` as it is."""
    path = entry.values["path"]
    if _is_name(path):
        return str(path)
    places = [entry.folder / Path(path).expanduser(), Path(path).expanduser()]
    existing = [place for place in places if place.exists()]
    if not existing and not entry.lenient:
        raise UserError(f"{entry.where}: there is no {places[0]}{_suggestion(places[0])}")
    return str((existing or places)[0])


def _is_name(path: str) -> bool:
    """Whether a path is `hub:...` or `module:attribute`."""
    return path.startswith(HUB) or re.fullmatch(r"[\w.]+:[\w.]+", path) is not None


def _suggestion(place: Path) -> str:
    """Returns the name that is nearest to the first part of a path that does not exist."""
    place = place.absolute()
    while not place.parent.is_dir():
        place = place.parent
    return nearest_file(place.name, (item.name for item in place.parent.iterdir()))


def _settings(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yields a setting as overrides by key. Hydra adds new keys of a dict only one by one."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            for deeper, text in _settings(f"{key}.{name}", inner):
                yield deeper, text if text.startswith("++") else f"++{text}"
    else:
        yield key, f"{key}={_in_grammar(value)}"


def _in_grammar(value: Any) -> str:
    """Writes a value of a yaml file in Hydra's grammar.

    Example:
        >>> _in_grammar([1, True, None, "it's"])
        "[1,true,null,'it\\\\'s']"
    """
    if isinstance(value, list):
        return f"[{','.join(map(_in_grammar, value))}]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quoted(str(key))}:{_in_grammar(inner)}" for key, inner in value.items()) + "}"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value) if isinstance(value, int | float) else _quoted(str(value))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "\\'") + "'"
