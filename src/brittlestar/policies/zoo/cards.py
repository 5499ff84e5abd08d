"""The shipped policies: `recipes.yaml` states how each is trained, its folder holds network, statistics and card."""

import functools
import json
import re
from pathlib import Path
from typing import Any

from brittlestar.checkpoints.file_names import POLICY, STATISTICS
from brittlestar.errors import UserError, nearest

HOME = Path(__file__).parent
"""Folder of the policies, with one folder for each."""
CARD = "card.json"
TARGET = "brittlestar.policies.zoo.ZooPolicy"
"""The class behind `policy=zoo/<name>`."""
_NEEDED = {
    "env",
    "env_config",
    "settings",
    "training",
    "seed",
    "steps",
    "seconds",
    "perturbation",
    "clean",
    "disturbed",
    "bytes",
    "sha256",
}
"""Keys of every card."""
_SEVERAL = re.compile(r"seed=(\d+)\.\.(\d+)")
"""Several trainings of one recipe, which differ in the seed."""
_NUMBERED = re.compile(r"(.+)_(\d+)")


@functools.cache
def recipes() -> dict[str, list[str]]:
    """Returns how each policy is trained: name to overrides of `brittlestar train`.

    A line with `seed=0..4` is five trainings: `name` has the first seed, `name_1` the second.

    Example:
        >>> recipes()["cartpole_ppo"], recipes()["cartpole_ppo_3"]
        (['env=cartpole', 'algo=ppo', 'seed=0'], ['env=cartpole', 'algo=ppo', 'seed=3'])
    """
    return {name: words for line in _lines().items() for name, words in _trainings(*line).items()}


@functools.cache
def _lines() -> dict[str, list[str]]:
    import yaml  # type: ignore[import-untyped]

    return dict(yaml.safe_load((HOME / "recipes.yaml").read_text()))


def _trainings(name: str, words: list[str]) -> dict[str, list[str]]:
    bounds = next((match for match in map(_SEVERAL.fullmatch, words) if match), None)
    if bounds is None:
        return {name: words}
    first, last = map(int, bounds.groups())
    return {
        name if seed == first else f"{name}_{seed}": [f"seed={seed}" if word == bounds[0] else word for word in words]
        for seed in range(first, last + 1)
    }


@functools.cache
def zoo_options() -> dict[str, str]:
    """Returns the options `policy=zoo/...`: to the name of a policy.

    Every line of `recipes.yaml` is one, and every training of several is one by its number.

    Example:
        >>> zoo_options()["cartpole_ppo"], zoo_options()["cartpole_ppo/0"], zoo_options()["cartpole_ppo/4"]
        ('cartpole_ppo', 'cartpole_ppo', 'cartpole_ppo_4')
        >>> zoo_options()["fetch_reach_sac/1"]
        'fetch_reach_sac_1'
    """
    names = {name: name for name in _lines()}
    for line, words in _lines().items():
        several = list(_trainings(line, words))
        if len(several) > 1:
            names |= {f"{line}/{number}": name for number, name in enumerate(several)}
        elif match := _NUMBERED.fullmatch(line):
            names[f"{match[1]}/{match[2]}"] = line
    return names


def training_name(name: str, number: int | None, home: Path = HOME) -> str:
    """Returns the policy of one of several trainings of a line, counted modulo those that are trained.

    None, and a policy with one training, is the policy of the name itself.

    Example:
        >>> training_name("cartpole_ppo", None), training_name("fetch_reach_sac_0", 2)
        ('cartpole_ppo', 'fetch_reach_sac_0')
    """
    if number is None or name not in _lines():
        return name
    several = [member for member in _trainings(name, _lines()[name]) if is_shipped(member, home)]
    return several[number % len(several)] if several else name


def recipe(name: str) -> list[str]:
    """Returns the overrides of one policy; the error for an unknown name suggests the nearest.

    Example:
        >>> recipe("cartpole_pop")
        Traceback (most recent call last):
        brittlestar.errors.UserError: the zoo has no `cartpole_pop`; did you mean `cartpole_ppo`?
    """
    return recipes()[policy_name(name)]


def policy_name(word: str) -> str:
    """Returns the name of a policy from its name or its option; the error for an unknown one suggests the nearest.

    Example:
        >>> policy_name("cartpole_ppo/2"), policy_name("cartpole_ppo")
        ('cartpole_ppo_2', 'cartpole_ppo')
    """
    name = zoo_options().get(word, word)
    if name not in recipes():
        raise UserError(f"the zoo has no `{word}`; {nearest(word, recipes())}")
    return name


def choice(name: str, key: str) -> str | None:
    """Returns the value of a key in a recipe; None is the default.

    Example:
        >>> choice("cartpole_ppo", "env"), choice("cartpole_ppo", "perturbation")
        ('cartpole', None)
    """
    return dict(text.split("=", 1) for text in recipe(name)).get(key)


def is_shipped(name: str, home: Path = HOME) -> bool:
    """Returns whether a policy, or that of an option, has been trained and adopted."""
    return (home / zoo_options().get(name, name) / CARD).is_file()


def read_card(name: str, home: Path = HOME) -> dict[str, Any]:
    """Returns the card of a policy; for one that is not trained yet, the error names the command."""
    name = policy_name(name)
    if not is_shipped(name, home):
        raise UserError(f"the zoo's `{name}` is not trained yet: `brittlestar zoo train {name}`")
    path = home / name / CARD
    try:
        card = json.loads(path.read_text())
    except (ValueError, OSError):
        card = None
    if not isinstance(card, dict) or not card.keys() >= _NEEDED:
        raise UserError(f"{path} is damaged: `git checkout` or an installation brings it back")
    return card


def files(folder: Path) -> list[Path]:
    """Returns the files that determine the actions of a policy; empty for one that is not trained yet."""
    return [path for path in (folder / POLICY, folder / STATISTICS) if path.is_file()]
