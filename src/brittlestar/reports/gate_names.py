"""The files of a gate. A sweep removes them when it starts, so this module imports nothing heavy."""

from pathlib import Path

GATE_JSON, GATE_XML, GATE_MD = "gate.json", "gate.xml", "gate.md"


def forget_gate(folder: Path) -> None:
    """Removes the files of an earlier gate from a folder whose sweep starts again."""
    for name in (GATE_JSON, GATE_XML, GATE_MD):
        (folder / name).unlink(missing_ok=True)
