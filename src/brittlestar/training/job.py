"""A training that another machine may run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar


@dataclass
class TrainingJob:
    """A training: its resolved config, and what must be the same wherever it runs."""

    noun: ClassVar[str] = "trainings"
    number: ClassVar[int] = 0

    config: dict[str, Any]
    folder: Path
    """Absolute, on the machine of the user."""
    name: str
    """The overrides of the call that needs it."""
    simulator: dict[str, str]
    """What steps its environment, see `EnvSpec.simulator`."""

    @property
    def cell(self) -> str:
        """What identifies it: its folder, whose name depends on everything that decides the result."""
        return str(self.folder)
