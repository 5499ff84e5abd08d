"""`policy=zoo/<name>`: the policies that the package ships."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brittlestar.checkpoints.file_names import POLICY
from brittlestar.policies.base import DelegatingPolicy, RecordedReturn
from brittlestar.policies.sb3 import Sb3Policy
from brittlestar.policies.zoo import cards as zoo


@dataclass
class ZooPolicy(DelegatingPolicy):
    """A policy that this project trained; `brittlestar zoo` lists them."""

    name: str
    adapter: str | None = None
    """Adapter to another environment than that of the training, as for `zoo_folder`; null refuses other ones."""

    def __post_init__(self) -> None:
        card = zoo.read_card(self.name)
        self.path = f"zoo/{self.name}"
        self.trained_in: str = card["env"]
        self.env_option = zoo.choice(self.name, "env")
        clean = card["clean"]
        self.record = RecordedReturn(clean["return"]["mean"], clean["return"]["std"], clean["episodes"])
        self._policy = Sb3Policy(str(zoo.HOME / self.name / POLICY), adapter=self.adapter)

    @staticmethod
    def config_files(node: dict[str, Any]) -> list[Path]:
        """Returns the files behind a config node of this class, which are part of a cell's hash."""
        return zoo.files(zoo.HOME / str(node.get("name")))

    @staticmethod
    def trained_env(node: dict[str, Any]) -> str:
        """Returns the id of the environment that `env=auto` means for a config node of this class."""
        return str(zoo.read_card(node["name"])["env"])

    @staticmethod
    def trained_option(node: dict[str, Any]) -> str | None:
        """Returns the option of the group `env` in the recipe, which may have cameras."""
        return zoo.choice(node["name"], "env")
