"""A composed config as plain data."""

from collections.abc import Iterator
from typing import Any, cast

from brittlestar.config.hints import train_hint
from brittlestar.config.schema import MISSING
from brittlestar.errors import UserError


def plain_config(config: Any) -> dict[str, Any]:
    """Returns a composed config as resolved plain data; raises a `UserError` if a required value is not set."""
    from omegaconf import OmegaConf

    container = cast("dict[str, Any]", OmegaConf.to_container(config, resolve=True))
    for key in _missing(container):
        hint = train_hint(container) if key == "policy.path" else ""
        raise UserError("; ".join(filter(None, [f"`{key}` needs a value: add `{key}=...`", hint])))
    return container


def _missing(node: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in node.items():
        if isinstance(value, dict):
            yield from _missing(value, f"{prefix}{key}.")
        elif value == MISSING:
            yield f"{prefix}{key}"
