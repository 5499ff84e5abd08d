"""Whether a training is one of a recipe of the zoo."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from brittlestar.config.build import flat
from brittlestar.errors import UserError
from brittlestar.policies.zoo.cards import recipe
from brittlestar.training.folder import settings_of
from brittlestar.training.schema import compose_training

_MOST_KEYS = 3
_NOTHING = object()


def check_recipe(
    name: str, training: Path, facts: dict[str, Any], config: dict[str, Any], overrides: Sequence[str] = ()
) -> None:
    """Raises a `UserError` that names the first different settings, for a training of another recipe."""
    # As `config` was: written and read, so that a tuple is a list.
    composed = json.loads(json.dumps(compose_training([*recipe(name), *overrides])))
    pairs = [
        ("environment", facts["env"], composed["env"]["id"]),
        ("algorithm", facts["algorithm"], composed["algo"]["name"]),
        ("seed", facts["seed"], composed["seed"]),
    ]
    unlike = [pair for pair in pairs if pair[1] != pair[2]][:1] or _differences(config, composed)
    if unlike:
        texts = [f"its {key} is {_text(value)}, not {_text(expected)}" for key, value, expected in unlike[:_MOST_KEYS]]
        more = f", and {len(unlike) - _MOST_KEYS} more" if len(unlike) > _MOST_KEYS else ""
        raise UserError(f"{training} is not a training of `{name}`: {'; '.join(texts)}{more}")


def _differences(config: dict[str, Any], composed: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """Returns key, value and expected value of all settings that differ."""
    values, expected = dict(flat(settings_of(config))), dict(flat(settings_of(composed)))
    keys = [key for key in expected | values if values.get(key, _NOTHING) != expected.get(key, _NOTHING)]
    # The keys below say what differs in the key of a group.
    return [
        (key, values.get(key, _NOTHING), expected.get(key, _NOTHING))
        for key in keys
        if not any(other.startswith(f"{key}.") for other in keys)
    ]


def _text(value: Any) -> str:
    return "null" if value in (None, _NOTHING) else str(value)
