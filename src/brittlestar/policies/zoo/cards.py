"""The shipped policies: `recipes.yaml` states how each is trained, its folder holds network, statistics and card."""

import functools
import json
from pathlib import Path
from typing import Any

from brittlestar.checkpoints.file_names import POLICY, STATISTICS
from brittlestar.errors import UserError, nearest

HOME = Path(__file__).parent
"""Folder of the policies, with one folder for each."""
CARD = "card.json"
TARGET = "brittlestar.policies.zoo.ZooPolicy"
"""The class behind `policy=zoo/<name>`."""


@functools.cache
def recipes() -> dict[str, list[str]]:
    """Returns how each policy is trained: name to overrides of `brittlestar train`.

    Example:
        >>> recipes()["cartpole_ppo"]
        ['env=cartpole', 'algo=ppo', 'seed=0']
    """
    import yaml  # type: ignore[import-untyped]

    return dict(yaml.safe_load((HOME / "recipes.yaml").read_text()))


def recipe(name: str) -> list[str]:
    """Returns the overrides of one policy; the error for an unknown name suggests the nearest.

    Example:
        >>> recipe("cartpole_pop")
        Traceback (most recent call last):
        brittlestar.errors.UserError: the zoo has no `cartpole_pop`; did you mean `cartpole_ppo`?
    """
    if name not in recipes():
        raise UserError(f"the zoo has no `{name}`; {nearest(name, recipes())}")
    return recipes()[name]


def choice(name: str, key: str) -> str | None:
    """Returns the value of a key in a recipe; None is the default.

    Example:
        >>> choice("cartpole_ppo", "env"), choice("cartpole_ppo", "perturbation")
        ('cartpole', None)
    """
    return dict(text.split("=", 1) for text in recipe(name)).get(key)


def is_shipped(name: str, home: Path = HOME) -> bool:
    """Returns whether a policy has been trained and adopted."""
    return (home / name / CARD).is_file()


def read_card(name: str, home: Path = HOME) -> dict[str, Any]:
    """Returns the card of a policy; for one that is not trained yet, the error names the command."""
    recipe(name)
    if not is_shipped(name, home):
        raise UserError(f"the zoo's `{name}` is not trained yet: `brittlestar zoo train {name}`")
    return dict(json.loads((home / name / CARD).read_text()))


def files(folder: Path) -> list[Path]:
    """Returns the files that determine the actions of a policy; empty for one that is not trained yet."""
    return [path for path in (folder / POLICY, folder / STATISTICS) if path.is_file()]
