"""`policy=glob(zoo/*)`: options in a folder of a group, which Hydra's own glob does not match."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

from brittlestar.errors import UserError
from brittlestar.policies.zoo import cards as zoo

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override


def expand_options(overrides: Sequence[Override], loader: Any) -> list[Override]:
    """Returns the parsed overrides of a sweep, with every glob over a folder of a group as a list of its options."""
    return [_expanded(override, loader) if _folders(override) else override for override in overrides]


def choose_options(names: Iterable[str], include: Sequence[str], exclude: Sequence[str] = ()) -> list[str]:
    """Returns the options that match a glob, without policies of the zoo that are not trained yet.

    Example:
        >>> choose_options(["zoo/cartpole_ppo", "zoo/never_trained", "random"], ["zoo/*"])
        ['zoo/cartpole_ppo']
    """
    # As in a shell, `zoo/*` leaves out what is in folders of the zoo: single trainings, as `zoo/cartpole_ppo/1`.
    matches = [name for name in names if any(_matches(name, pattern) for pattern in include)]
    matches = [name for name in matches if not any(fnmatch(name, pattern) for pattern in exclude)]
    return [name for name in matches if not name.startswith("zoo/") or zoo.is_shipped(name.removeprefix("zoo/"))]


def _expanded(override: Override, loader: Any) -> Override:
    from hydra.core.override_parser.overrides_parser import OverridesParser

    glob: Any = override.value()
    group = override.key_or_group
    options = list(loader.get_group_options(group))
    for folder in _folders(override):
        options += [f"{folder}/{name}" for name in loader.get_group_options(f"{group}/{folder}")]
    names = choose_options(options, glob.include, glob.exclude)
    if not names:
        raise UserError(f"`{override.input_line}` matches no option of `{group}`")
    return OverridesParser.create(config_loader=loader).parse_override(f"{group}={','.join(names)}")


def _folders(override: Override) -> list[str]:
    """Returns the folders in the patterns of a glob; none for any other override."""
    from hydra.core.override_parser.types import Glob

    value = override.value()
    if not isinstance(value, Glob):
        return []
    return list(dict.fromkeys(pattern.rpartition("/")[0] for pattern in value.include if "/" in pattern))


def _matches(name: str, pattern: str) -> bool:
    return fnmatch(name, pattern) and name.count("/") == pattern.count("/")
