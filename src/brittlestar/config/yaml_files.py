"""The folder of yaml files, and the options of a config group."""

import re
from pathlib import Path
from typing import Any


def config_folder() -> Path:
    """Returns the folder of yaml files: inside an installed package, or next to `src` in a checkout."""
    installed = Path(__file__).parents[1] / "conf"
    return installed if installed.is_dir() else Path(__file__).parents[3] / "conf"


def shipped_targets(group: str) -> set[str]:
    """Returns the classes that the shipped options of a group name.

    Example:
        >>> "brittlestar.studies.base.Study" in shipped_targets("study")
        True
    """
    texts = [path.read_text() for path in options(group).values()]
    return {target for text in texts for target in re.findall(r"_target_: ([\w.]+)", text)}


def read_option(group: str, name: str) -> Any:
    """Returns the file of an option, with what it takes from options of the same group; other `defaults` are left out.

    Example:
        >>> read_option("env", "fetch_reach_vision").id
        'FetchReach-v4'
    """
    from omegaconf import OmegaConf

    node: Any = OmegaConf.load(options(group)[name])
    bases = [base for base in node.pop("defaults", ()) if isinstance(base, str) and base != "_self_"]
    return OmegaConf.merge(*(read_option(group, base) for base in bases), node)


def options(group: str, folder: Path | None = None) -> dict[str, Path]:
    """Returns the options of a group and their files; the name of an option includes its subfolder.

    Example:
        >>> {"sb3", "zoo/cartpole_ppo"} <= set(options("policy"))
        True
    """
    place = (folder or config_folder()) / group
    return {path.relative_to(place).with_suffix("").as_posix(): path for path in sorted(place.rglob("*.yaml"))}
