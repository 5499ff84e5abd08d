"""Whether a sweep has a gate, and its files: for the start of a sweep, so this module imports nothing heavy."""

from pathlib import Path
from typing import Any

GATE_JSON, GATE_XML, GATE_MD = "gate.json", "gate.xml", "gate.md"


def has_gate(node: Any) -> bool:
    """Returns whether the config node `gate` has requirements.

    Example:
        >>> has_gate({"file": None, "require": []}), has_gate({"require": ["auc >= 0.1"]})
        (False, True)
    """
    return node is not None and bool(node.get("file") or node.get("require"))


def forget_gate(folder: Path) -> None:
    """Removes the files of an earlier gate from a folder whose sweep starts again."""
    for name in (GATE_JSON, GATE_XML, GATE_MD):
        (folder / name).unlink(missing_ok=True)
