"""`policy=zoo/<name>`: the policies that the package ships."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brittlestar.checkpoints.file_names import POLICY
from brittlestar.errors import require
from brittlestar.policies.base import DelegatingPolicy, RecordedReturn
from brittlestar.policies.sb3 import Sb3Policy
from brittlestar.policies.zoo import cards as zoo


@dataclass
class ZooPolicy(DelegatingPolicy):
    """A policy that this project trained; `brittlestar zoo` lists them."""

    name: str
    adapter: str | None = None
    """Adapter to another environment than that of the training, as for `zoo_folder`; null refuses other ones."""
    training: int | None = None
    """Number of the training, where the recipe has several; `${seed}` gives every seed of a sweep its own."""

    def __post_init__(self) -> None:
        require(self.training is None or self.training >= 0, "training", "null or at least 0", self.training)
        name = zoo.training_name(self.name, self.training)
        card = zoo.read_card(name)
        self.path = f"zoo/{name}"
        self.trained_in: str = card["env"]
        self.env_option = zoo.choice(name, "env")
        clean = card["clean"]
        self.record = RecordedReturn(clean["return"]["mean"], clean["return"]["std"], clean["episodes"])
        self._policy = Sb3Policy(str(zoo.HOME / name / POLICY), adapter=self.adapter)

    @staticmethod
    def config_files(node: dict[str, Any]) -> list[Path]:
        """Returns the files behind a config node of this class, which are part of a cell's hash."""
        return zoo.files(zoo.HOME / zoo.training_name(str(node.get("name")), node.get("training")))

    @staticmethod
    def trained_env(node: dict[str, Any]) -> str:
        """Returns the id of the environment that `env=auto` means for a config node of this class."""
        return str(zoo.read_card(node["name"])["env"])

    @staticmethod
    def trained_option(node: dict[str, Any]) -> str | None:
        """Returns the option of the group `env` in the recipe, which may have cameras."""
        return zoo.choice(node["name"], "env")
