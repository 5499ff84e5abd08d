"""The parts of a sweep in words, from their configs: environments, policies, perturbations and the rest."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from brittlestar.cells.identity import LABEL
from brittlestar.config.build import imported_class
from brittlestar.config.hints import env_option
from brittlestar.reports.option_notes import OptionNotes, class_summary, option_notes
from brittlestar.results.load import Cell, Row
from brittlestar.results.packed_cells import PackedCells

_MOST_OPTIONS, _MOST_VALUES, _MOST_LETTERS = 30, 20, 80
_STRENGTH = "The strength."
_NAMED = ("_target_", "path")
"""Keys of a policy that its name contains."""
_WHEN = {
    "any": "It counts at any step (`success_any`); success at the last step (`success_final`) is recorded beside it.",
    "final": "It counts at the last step (`success_final`); success at any step (`success_any`) is recorded beside it.",
}
_AT_END = "It is known at the end of an episode only."


def task_lines(cells: PackedCells) -> list[str]:
    """Returns Markdown on each environment: its task, time limit and success criterion."""
    lines = []
    for name, members in _by_option(cells, "env").items():
        env = members[0].config["env"]
        # An id may have a config under another name.
        notes = option_notes(str(env.get("_target_")), env_option(str(env.get("id"))).removeprefix("env="))
        known = "" if name == env.get("id") else f" (`{env.get('id')}`)"
        summary = notes.summary if notes.defaults else ""
        lines += [_item(0, name, summary, known), f"  - Time limit: {_time_limit(members)}."]
        lines += [f"  - Success: {_success(members, notes)}", *_returns(env)]
        if env.get("kwargs"):
            lines.append(f"  - Arguments of the environment: {_values([env['kwargs']])}.")
    return _cut(lines)


def policy_lines(cells: PackedCells) -> list[str]:
    """Returns Markdown on each policy, with the settings that are not the default, and on how actions are chosen."""
    lines = []
    for name, members in _by_option(cells, "policy").items():
        node = members[0].config["policy"]
        notes = option_notes(str(node.get("_target_")), members[0].choice("policy"))
        changed = {key: value for key, value in node.items() if value != notes.defaults.get(key) and key not in _NAMED}
        settings = ", ".join(f"`{key}` = {_values([value])}" for key, value in changed.items())
        # What follows a colon is how to choose the option.
        summary = notes.summary.partition(": `")[0]
        lines.append(_item(0, name, " ".join(filter(None, [summary, f"({settings})" if settings else ""]))))
    modes = {cell.setting("deterministic") is not False for cell in cells.kinds()}
    chosen = {True: "takes the most likely one", False: "samples from it"}
    both = " in some cells, and in others ".join(chosen[mode] for mode in sorted(modes, reverse=True))
    return [*_cut(lines), f"- A policy with a distribution of actions {both}."]


def part_lines(cells: PackedCells, group: str) -> list[str]:
    """Returns Markdown on each perturbation, mitigation or schedule: effect, values, and what these mean."""
    lines = []
    for name, members in _by_option(cells, group).items():
        kinds = members.kinds()
        nodes = [cell.setting(group) or {} for cell in kinds]
        notes = option_notes(str(nodes[0].get("_target_")), name)
        strength = next((cell.strength_name for cell in kinds if cell.strength_name), None)
        named = strength if group == "perturbation" else None
        lines += [_item(0, name, notes.summary), *_fields(nodes, notes, 1, named)]
    return _cut(lines)


def perturbation_names(cells: PackedCells) -> list[str]:
    """Returns the perturbations in the order of the sweep; a composition with the names of its parts."""
    names = []
    for name, members in _by_option(cells, "perturbation").items():
        parts = _parts("", members[0].config["perturbation"].get("parts"))
        names.append(f"`{name}`" + (f" of {', '.join(f'`{part}`' for part in parts)}" if parts else ""))
    return names


def _by_option(cells: PackedCells, group: str) -> dict[str, PackedCells]:
    return cells.groups(lambda cell: _name(cell, group))


def _name(cell: Cell, group: str) -> str:
    """Returns the option of a group; a policy also has the user's name for it, and a file."""
    name = cell.choice(group)
    if group == "env":
        # One option may make several environments.
        return str(cell.setting("env").get("id")) if name in ("gym", "auto") else name
    if group == "policy":
        path, label = cell.setting("policy").get("path"), cell.setting(LABEL)
        return ": ".join(filter(None, [str(label or ""), name if not path else f"{name} {path}"]))
    return name


def _fields(nodes: list[Row], notes: OptionNotes, depth: int, strength: str | None = None) -> Iterator[str]:
    """Yields a line for each field, and for each part of a composition; `strength` names the field that is it."""
    for key in dict.fromkeys(key for node in nodes for key in node if key != "_target_"):
        values = [node[key] for node in nodes if key in node]
        meaning = notes.keys.get(key, "")
        parts = _parts(key, values[0])
        if parts:
            for name, part in parts.items():
                inner = option_notes(str(part.get("_target_")))
                yield _item(depth, name, inner.summary)
                yield from _fields([part], inner, depth + 1)
            continue
        # A field that is not used has no meaning, unless its comment explains what null is.
        if any(value is not None for value in values) or "null" in meaning or not meaning:
            is_strength = key == strength if strength in nodes[0] else _STRENGTH in meaning
            marked = " (the strength)" * is_strength
            line = f"{'  ' * depth}- `{key}` = {_values(values)}{marked}."
            yield " ".join(filter(None, [line, meaning.replace(_STRENGTH, "").strip()]))


def _parts(key: str, value: Any) -> dict[str, Row]:
    """Returns the parts that a field holds: one, or several by name."""
    if isinstance(value, dict) and "_target_" in value:
        return {key: value}
    items = dict(enumerate(value)) if isinstance(value, list) else value
    if isinstance(items, dict) and items and all(isinstance(v, dict) and "_target_" in v for v in items.values()):
        return {str(name): part for name, part in items.items()}
    return {}


def _values(values: Iterable[Any]) -> str:
    """Writes the values of a field, each once; numbers by size."""
    listed = list(values)
    if all(type(value) in (int, float) for value in listed):
        listed.sort()
    texts = list(dict.fromkeys(map(_value, listed)))
    more = f" and {len(texts) - _MOST_VALUES} more" if len(texts) > _MOST_VALUES else ""
    return ", ".join(texts[:_MOST_VALUES]) + more


def _value(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, list):
        written = f"[{', '.join(map(_value, value))}]"
    elif isinstance(value, dict):
        written = f"{{{', '.join(f'{key}: {_value(item)}' for key, item in value.items())}}}"
    else:
        written = f"{value:g}" if isinstance(value, float) else str(value)
    return written if len(written) <= _MOST_LETTERS else f"{written[:_MOST_LETTERS]} …"


def _item(depth: int, name: str, summary: str, suffix: str = "") -> str:
    return f"{'  ' * depth}- **{name}**{suffix}" + (f": {summary}" if summary else "")


def _cut(lines: list[str]) -> list[str]:
    """Leaves out options beyond the first ones; a line without indent starts an option."""
    starts = [i for i, line in enumerate(lines) if line.startswith("- ")]
    if len(starts) <= _MOST_OPTIONS:
        return lines
    return [*lines[: starts[_MOST_OPTIONS]], f"- and {len(starts) - _MOST_OPTIONS} more, which the tables list"]


def _time_limit(cells: PackedCells) -> str:
    """Returns the time limit: that of the config, the registered one, or that of an episode that it ended."""
    kinds = cells.kinds()
    limits = [cell.setting("env").get("max_steps") for cell in kinds]
    if any(limits):
        return f"{_values(limits)} steps (`env.max_steps`)"
    limit = next((cell.manifest["registered_steps"] for cell in kinds if "registered_steps" in cell.manifest), None)
    if limit is None:
        from brittlestar.envs.ids import registered_limit

        limit = registered_limit(str(cells[0].config["env"].get("id")))
    if limit is not None:
        return f"{limit} steps"
    for cell in (cell for cell in cells if cell.done):
        ended = cell.column("length")[cell.column("truncated") == 1]
        if len(ended):
            return f"{int(ended.max())} steps, as the episodes show"
    return "none that is registered"


def _success(cells: PackedCells, notes: OptionNotes) -> str:
    nodes = [node for node in (cell.setting("env").get("success") for cell in cells.kinds()) if node]
    if not nodes:
        return "not defined."
    target = str(nodes[0].get("_target_"))
    settings = []
    for key in (key for key in nodes[0] if key not in ("_target_", "when")):
        unit = notes.keys.get(f"success.{key}", "").rstrip(".").lower()
        settings.append(f"`{key}` = {_values(node.get(key) for node in nodes)}" + (f" ({unit})" if unit else ""))
    rule = class_summary(target) or f"{target.rpartition('.')[2]}."
    when = _AT_END if _is_known_at_end(target) else _WHEN.get(str(nodes[0].get("when")), "")
    return " ".join(filter(None, [rule, f"{', '.join(settings)}." if settings else "", when]))


def _is_known_at_end(target: str) -> bool:
    from brittlestar.envs.success import Success

    with contextlib.suppress(Exception):
        return getattr(imported_class(target), "at_step", None) is Success.at_step
    return False


def _returns(env: Row) -> list[str]:
    returns = env.get("returns") or {}
    low, high = returns.get("random"), returns.get("reference")
    if low is None or high is None:
        return []
    return [f"  - Normalised return: 0 is a return of {_value(low)} (random actions), 1 is {_value(high)} (reference)."]
