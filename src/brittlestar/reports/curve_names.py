"""Short names for curves: the fewest columns that distinguish them."""

from collections.abc import Iterable, Sequence

from brittlestar.cells.identity import LABEL
from brittlestar.results.format import text

_BARE = (LABEL, "env", "policy", "policy.path", "perturbation")
"""Columns whose values need no word before them."""

MOST_LETTERS = 80
"""Of a name in a picture; longer ones are cut in the middle."""


def curve_names(columns: Sequence[str], keys: Iterable[tuple], most: int | None = None) -> dict[tuple, str]:
    """Names curves by the fewest columns that distinguish them, and paths by their last parts.

    Names of more than `most` characters are cut in the middle; those that become the same one are numbered.

    Example:
        >>> curve_names(["env", "policy", "mitigation.alpha"], [("a", "b", 0.1), ("a", "b", 0.3)])
        {('a', 'b', 0.1): 'alpha 0.1', ('a', 'b', 0.3): 'alpha 0.3'}
    """
    keys = list(keys)
    places = _needed(columns, keys)
    texts = {i: _short_texts({text(key[i]) for key in keys}) for i in places}
    words = {i: "" if columns[i] in _BARE else f"{columns[i].rpartition('.')[2]} " for i in places}
    names = {key: ", ".join(words[i] + texts[i][text(key[i])] for i in places if key[i] is not None) for key in keys}
    return names if most is None else dict(zip(names, _distinct(names.values(), most), strict=True))


def cut_middle(name: str, most: int) -> str:
    """Returns a name of at most so many characters: what differs is usually at its start or at its end.

    Example:
        >>> cut_middle("runs/2026/first/model.zip", 15), cut_middle("short", 15)
        ('runs/20…del.zip', 'short')
    """
    tail = (most - 1) // 2
    return name if len(name) <= most else f"{name[: most - 1 - tail]}…{name[len(name) - tail :]}"


def _distinct(names: Iterable[str], most: int) -> list[str]:
    """Returns names that are cut; a number follows where several would be the same."""
    short: dict[str, list[str]] = {}
    numbered = []
    for name in names:
        same = short.setdefault(cut_middle(name, most), [])
        same += [name] if name not in same else []
        numbered.append((cut_middle(name, most), same.index(name)))
    return [f"{name} ({number + 1})" if len(short[name]) > 1 else name for name, number in numbered]


def _needed(columns: Sequence[str], keys: list[tuple]) -> list[int]:
    """Returns the columns to name: of all that vary, those that the others do not make redundant."""
    needed = [i for i in range(len(columns)) if len({key[i] for key in keys}) > 1]
    for i in sorted(needed, key=lambda i: _worth(columns[i])):
        fewer = [j for j in needed if j != i]
        labels = {tuple(key[j] for j in fewer) for key in keys}
        if len(labels) == len(keys) and all(any(value is not None for value in label) for label in labels):
            needed = fewer
    # A model is called by its name, also where it is alone; one of several files is called by its path.
    names = [i for i, column in enumerate(columns) if column == LABEL]
    return needed or names or [i for i, column in enumerate(columns) if column.startswith("policy.")]


def _worth(column: str) -> int:
    """Returns which columns to keep in names: a model before its policy, a policy before its environment."""
    return 3 if column == LABEL else {"env": 0, "policy": 1}.get(column.partition(".")[0], 2)


def _short_texts(values: Iterable[str]) -> dict[str, str]:
    """Writes paths by their last parts: two, or as many as distinguish them."""
    parts = {value: value.split("/") for value in values}
    short = {}
    for value, names in parts.items():
        ends = (n for n in range(2, len(names)) if sum(path[-n:] == names[-n:] for path in parts.values()) == 1)
        short[value] = "/".join(names[-next(ends, len(names)) :])
    return short
