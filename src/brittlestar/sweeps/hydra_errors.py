"""One line for every mistake that Hydra or OmegaConf finds in a command."""

import contextlib
import re
import sys
from collections.abc import Sequence
from typing import Any, cast

from brittlestar.config import config_folder, options
from brittlestar.config.build import flat
from brittlestar.errors import nearest

_OPEN_NODES = ("algo.options", "env.kwargs")
"""Config nodes that take new keys."""


def explain(error: BaseException, config_name: str = "config", overrides: Sequence[str] | None = None) -> str | None:
    """Returns one line about an error of Hydra, OmegaConf or the file system; None for any other error.

    `overrides` are by default the arguments of the command.
    """
    from hydra.errors import HydraException, MissingConfigException, OverrideParseException
    from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

    if isinstance(error, OSError) and error.filename is not None:
        return f"cannot write to {error.filename}: {error.strerror}"
    if isinstance(error, MissingConfigException) and error.options is not None:
        return _missing_option(str(error.missing_cfg_file), error.options)
    if isinstance(error, OverrideParseException) and "=interval(" in str(error.override):
        return f"`{error.override}`: a range is two numbers, as `interval(0,1)`"
    if isinstance(error, OverrideParseException):
        return f"`{error.override}` must have the form `key=value`: {error.message.partition(chr(10))[0]}"
    words = sys.argv[1:] if overrides is None else overrides
    if isinstance(error, ValueError) and (reason := _wrong_override(words)):
        return reason
    cause = next((e for e in (error, error.__cause__) if isinstance(e, OmegaConfBaseException)), None)
    if isinstance(cause, ConfigAttributeError | ConfigKeyError):
        key = str(cause.full_key)
        return _lacking_options(key, config_name, words) or _unknown_key(key, valid_keys(config_name, words))
    if cause is not None:
        return _wrong_value(str(cause.full_key), str(cause.msg).partition("\n")[0])
    if not any(isinstance(e, HydraException) for e in (error, error.__cause__, error.__context__)):
        return None
    valid = valid_keys(config_name, words)
    unknown = [key for key in _override_keys(words) if key not in valid]
    if unknown:
        return _lacking_options(unknown[0], config_name, words) or _unknown_key(unknown[0], valid)
    return _shorter(" ".join(str(error).split()))


def valid_keys(config_name: str, overrides: Sequence[str]) -> list[str]:
    """Returns every key and group that a command can override, with the options that its overrides choose."""
    from hydra import compose, initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from omegaconf import OmegaConf

    text = (config_folder() / f"{config_name}.yaml").read_text()
    groups = re.findall(r"^  - (\w+): ", text, re.MULTILINE)
    keys = [*groups, *re.findall(r"^(?!defaults|hydra)(\w+):", text, re.MULTILINE)]
    choice = rf"\+?({'|'.join(groups)})(@[\w.]+)?=[\w/]+"
    choices = [text for text in overrides if re.fullmatch(choice, text)]
    # A wrong choice has an error of its own; then only the groups and the keys of the file are valid.
    with contextlib.suppress(Exception):
        GlobalHydra.instance().clear()
        with initialize_config_dir(str(config_folder()), version_base="1.3"):
            container = cast("dict[str, Any]", OmegaConf.to_container(compose(config_name, choices)))
            keys += [key for key, _ in flat(container)]
    return keys


def _wrong_override(words: Sequence[str]) -> str:
    """Returns the reason for which Hydra raises a plain `ValueError` about an override; empty for none."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import QuotedString
    from hydra.errors import HydraException

    for word in words:
        try:
            override = OverridesParser.create().parse_override(word)
        except HydraException:
            continue
        except ValueError as error:
            # A number with more digits than Python reads.
            return f"`{word}`: {str(error).partition(';')[0]}"
        group, values = override.key_or_group, getattr(override.value(), "list", [override.value()])
        if not group:
            return f"`{word}` must have the form `key=value`"
        wrong = [str(value) for value in values if not isinstance(value, str | list | QuotedString)]
        if wrong and options(group):
            return f"`{word}`: `{group}` takes the name of an option; {nearest(wrong[0], options(group))}"
    return ""


def _missing_option(file: str, valid: Sequence[str]) -> str:
    group, _, name = file.rpartition("/") if file.startswith("hydra/") else file.partition("/")
    return f"`{group}={name}` does not exist; {nearest(name, [*valid, *options(group)])}"


def _lacking_options(key: str, config_name: str, words: Sequence[str]) -> str:
    """Returns a line on a key that only some of the swept options of its group have; empty for any other key."""
    group = key.partition(".")[0]
    swept = next((word.partition("=")[2].split(",") for word in words if word.startswith(f"{group}=")), [])
    others = [word for word in words if not word.startswith(f"{group}=")]
    lacking = [name for name in swept if key not in valid_keys(config_name, [*others, f"{group}={name}"])]
    if lacking in ([], swept):
        return ""
    several = f"{group}={','.join(swept)}"
    return f"`{key}` does not exist in `{group}={lacking[0]}`, but `{several}` needs keys that all of them have"


def _unknown_key(key: str, valid: Sequence[str]) -> str:
    if key.rpartition(".")[0] in _OPEN_NODES:
        return f"`{key}` is not in the config yet: add it by `+{key}=VALUE`"
    if key.startswith("hydra.launcher."):
        return f"`{key}` does not exist; {nearest(key, _group_keys('hydra/launcher', 'hydra.launcher'))}"
    group = key.partition(".")[0]
    if key in valid:
        return f"`{key}` does not exist in every option of `{group}` that the command chooses"
    if [k for k in valid if k.startswith(f"{group}.")] == [f"{group}._target_"]:
        return f"`{key}` does not exist: the chosen `{group}` has no settings; choose another by `{group}=NAME`"
    if {k for k in valid if k.startswith("study.")} <= {"study._target_"}:
        valid = [*valid, *(_group_keys("study", "study") if "study" in valid else ())]
    if "." not in key:
        # `sigma` is a key without its group, and any other name a mistyped key or group.
        valid = [k for k in valid if k.endswith(f".{key}")] or [k for k in valid if "." not in k]
    return f"`{key}` does not exist; {nearest(key, valid)}"


def _shorter(message: str) -> str:
    """Returns one sentence in place of a list of Hydra's."""
    if match := re.match(r"(?:Ambiguous value for argument|Sweep parameters) '(.+?)' (1\. To|requires -)", message):
        return f"`{match[1]}` has several values: add `-m` to sweep them"
    if match := re.match(r"Multiple values for (\S+)\. To override", message):
        return f"`{match[1]}` has a value already: leave out the `+` in front of `{match[1]}=`"
    if match := re.match(r"You must specify '(.+?)'", message):
        return f"`{match[1]}` is missing: choose one by `{match[1]}=NAME`; `brittlestar list {match[1]}` lists them"
    return message


def _group_keys(group: str, prefix: str) -> list[str]:
    """Returns the keys of all options of a group, chosen or not."""
    lines = [line for file in options(group).values() for line in file.read_text().splitlines()]
    return [f"{prefix}.{line.partition(':')[0]}" for line in lines if re.match(r"[a-z]\w*:", line)]


def _wrong_value(key: str, reason: str) -> str:
    if key == "models":
        return f"`models` takes one file, a yaml list of policies: `models=my_models.yaml` ({reason})"
    return f"`{key}`: {reason}"


def _override_keys(words: Sequence[str]) -> list[str]:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    keys = []
    for word in words:
        with contextlib.suppress(HydraException):
            override = OverridesParser.create().parse_override(word)
            key, adds = override.key_or_group, override.is_add() or override.is_force_add()
            is_new = adds and key.rpartition(".")[0] in _OPEN_NODES
            keys += [] if override.is_hydra_override() or is_new else [key]
    return keys
