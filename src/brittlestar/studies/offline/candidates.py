"""The policies that are measured, by words of the command line or from a finished sweep."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from brittlestar.errors import UserError, nearest
from brittlestar.results.aggregate import aggregate
from brittlestar.results.load import Cell, Row, load_cells
from brittlestar.sweeps.policy_words import policy_node
from brittlestar.training.minari_data import read_recording
from brittlestar.training.recordings import Recording

_POLICY = ("policy", "model")
"""Columns of a table that name the policy, with those that start with `policy.`."""


@dataclass
class Candidate:
    """A policy, or recorded rollouts of one, and how it did in a sweep."""

    name: str
    node: dict[str, Any] | None = None
    """The policy's config; None for recorded rollouts."""
    rollouts: Recording | None = None
    levels: dict[str, Row] = field(default_factory=dict)
    """Name of a level to the row of the sweep's curve."""


@dataclass
class Candidates:
    """All candidates, the metric that counts as success in their sweep, and the environment of the sweep."""

    members: list[Candidate]
    measure: str | None = None
    env: dict[str, Any] | None = None


def named_candidates(words: Sequence[str], most: int) -> Candidates:
    """Returns the candidates of words such as `policy`, `NAME=policy`, or a file of recorded rollouts.

    Args:
        words: an option, a file, a folder or `module:attribute` each, with a name before `=` or without.
        most: how many episodes of recorded rollouts to read.
    """
    pairs = [_split(word) for word in words]
    short = short_names([word for name, word in pairs if name is None])
    members = []
    for name, word in pairs:
        own = name or short[word]
        if Path(word).suffix == ".npz":
            members.append(Candidate(own, rollouts=read_recording(word, most)))
        else:
            members.append(Candidate(own, policy_node(word)))
    names = [member.name for member in members]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"two policies are called `{name}`: name them by `--policy NAME=...`")
    return Candidates(members)


def _split(word: str) -> tuple[str | None, str]:
    match = re.fullmatch(r"([^=/]+)=(.+)", word)
    return (match[1], match[2]) if match else (None, word)


def short_names(words: Sequence[str]) -> dict[str, str]:
    """Returns words without the folders that all of them share.

    Example:
        >>> short_names(["runs/a/final/policy.zip", "runs/b/final/policy.zip", "random"])
        {'runs/a/final/policy.zip': 'a', 'runs/b/final/policy.zip': 'b', 'random': 'random'}
    """
    paths = {word: word.split("/") for word in dict.fromkeys(words) if "/" in word}
    if len(paths) < 2:
        return {word: word for word in words}
    shortest = min(map(len, paths.values()))
    heads = next((i for i in range(shortest) if len({parts[i] for parts in paths.values()}) > 1), shortest - 1)
    tails = next((i for i in range(shortest) if len({parts[-1 - i] for parts in paths.values()}) > 1), 0)
    cut = {word: "/".join(parts[heads : len(parts) - tails]) for word, parts in paths.items()}
    return {word: cut.get(word) or word for word in words}


def swept_candidates(folder: str, words: Sequence[str]) -> Candidates:
    """Returns the policies of a finished sweep with their curves; `words` choose some of them by name.

    Args:
        folder: of the sweep.
        words: names of policies, as the table of this command prints them, or their paths; empty for all.
    """
    cells = [cell for cell in load_cells([folder], mixed=True) if cell.done and cell.role is None]
    if not cells:
        raise UserError(f"{folder} has no finished cell")
    envs = {str(cell.config["env"].get("id")) for cell in cells}
    if len(envs) > 1:
        raise UserError(f"{folder} has several environments ({', '.join(sorted(envs))}): name a sweep of one")
    tables = aggregate(cells)
    columns = tables.grouping.columns
    own = [column for column in columns if column in _POLICY or column.startswith("policy.")]
    names = _names(own, [tuple(row[column] for column in own) for row in tables.curve])
    members: dict[tuple, Candidate] = {}
    for label, cell in tables.episodes():
        key = tuple(label[column] for column in own)
        members.setdefault(key, Candidate(names[key], _node(cell)))
    rest = [column for column in columns if column not in own and column != "env"]
    varied = [column for column in rest if len({row[column] for row in tables.curve}) > 1]
    for row in tables.curve:
        level = _level(row, varied)
        members[tuple(row[column] for column in own)].levels.setdefault(level, row)
    ordered = sorted(members.values(), key=lambda member: _natural(member.name))
    chosen = _chosen(ordered, words, folder)
    return Candidates(chosen, str(cells[0].manifest["measure"]), cells[0].config["env"])


def _natural(name: str) -> list[tuple[int, str]]:
    """Orders names by the numbers in them: 30 before 100."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _node(cell: Cell) -> dict[str, Any]:
    node: dict[str, Any] = cell.config["policy"]
    return node


def _names(columns: list[str], keys: list[tuple]) -> dict[tuple, str]:
    """Names policies by what varies between them; paths without what they share."""
    keys = list(dict.fromkeys(keys))
    varied = [i for i in range(len(columns)) if len({key[i] for key in keys}) > 1]
    if "model" in columns:
        varied = [columns.index("model")]
    # A path says all that its option says.
    if len(varied) > 1 and "policy" in columns:
        without = [i for i in varied if i != columns.index("policy")]
        varied = without if len({tuple(key[i] for i in without) for key in keys}) == len(keys) else varied
    varied = varied or [columns.index("policy")]
    texts = {i: short_names([str(key[i]) for key in keys]) for i in varied}
    return {key: ", ".join(texts[i][str(key[i])] for i in varied if key[i] is not None) for key in keys}


def _level(row: Row, varied: list[str]) -> str:
    if not row["strength"]:
        others = [column for column in varied if column != "perturbation"]
        return ", ".join(["clean", *(f"{row[column]}" for column in others)])
    parts = [str(row[column]) for column in varied]
    return " ".join([*parts, f"{row['strength_name']}={row['strength']:g}"])


def _chosen(members: list[Candidate], words: Sequence[str], folder: str) -> list[Candidate]:
    if not words:
        return members
    by_word = {member.name: member for member in members}
    by_word |= {str((member.node or {}).get("path")): member for member in members}
    for word in words:
        if word not in by_word:
            raise UserError(f"{folder} has no policy `{word}`; {nearest(word, [member.name for member in members])}")
    return [by_word[word] for word in words]
