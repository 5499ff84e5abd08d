"""What is done to the words of a command before Hydra sees them."""

from __future__ import annotations

import os
import re
from typing import Any

from brittlestar.errors import UserError

_VALUED = {"-cd", "--config-dir", "-cp", "--config-path", "-cn", "--config-name", "-c", "--cfg", "-p", "--package"}


def expanded(arguments: list[str]) -> list[str]:
    """Returns the arguments as Hydra takes them: flags first, files and compositions written out."""
    return [part for word in flags_first(arguments) for part in expand_list(expand_files(word))]


def flags_first(arguments: list[str]) -> list[str]:
    """Moves flags before overrides, because Hydra's parser gives up on overrides behind a flag.

    Example:
        >>> flags_first(["env=cartpole", "-m", "seed=0,1", "--config-dir", "mine"])
        ['-m', '--config-dir', 'mine', 'env=cartpole', 'seed=0,1']
    """
    flags: list[str] = []
    overrides: list[str] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        (flags if word.startswith("-") else overrides).append(word)
        if word in _VALUED and rest:
            flags.append(rest.pop(0))
    return flags + overrides


def expand_files(word: str) -> str:
    """Writes `key.path=glob(*.zip)` as a list of the files; Hydra's own glob knows options of groups only.

    Example:
        >>> expand_files("policy=glob(*)")
        'policy=glob(*)'
    """
    pattern = re.fullmatch(r"([\w.]+\.path)=glob\((.+)\)", word)
    if not pattern:
        return word
    import glob

    files = sorted(glob.glob(os.path.expanduser(pattern[2].strip("'\"")), recursive=True))
    if not files:
        raise UserError(f"`{word}` matches no file in {os.getcwd()}")
    return f"{pattern[1]}=" + ",".join("'" + file.replace("'", "\\'") + "'" for file in files)


def expand_list(word: str) -> list[str]:
    """Writes `perturbation=[a,b]` as a composition of these options, in this order; the same for mitigations.

    Example:
        >>> expand_list("mitigation=[low_pass]")[-1]
        '+mitigation@mitigation.parts.low_pass=low_pass'
        >>> expand_list("seed=[1]")
        ['seed=[1]']
    """
    several = re.fullmatch(r"(perturbation|mitigation)=\[([\w, ]*)\]", word)
    if not several and re.match(r"(env|policy|perturbation|mitigation|stress_schedule)=.*\[", word):
        group = word.partition("=")[0]
        raise UserError(
            f"`{word}`: sweep options by `-m {group}=a,b`; one list `[a,b]` composes perturbations or mitigations"
        )
    if not several:
        return [word]
    group, options = several[1], [option.strip() for option in several[2].split(",") if option.strip()]
    if not options:
        raise UserError(f"`{word}` names no option; `{group}=none` is none")
    import yaml  # type: ignore[import-untyped]

    from brittlestar.config import config_folder

    shipped = yaml.safe_load((config_folder() / group / "compose.yaml").read_text())["parts"]
    words = [f"{group}=compose", *(f"~{group}.parts.{name}" for name in shipped)]
    for place, option in enumerate(options):
        # The second of two is called by its number.
        before = options[:place].count(option)
        words.append(f"+{group}@{group}.parts.{option}{f'_{before + 1}' if before else ''}={option}")
    return words


def split_settings(words: list[str]) -> tuple[list[str], dict[str, Any]]:
    """Returns the folders among some words, and the fields of a study that others set by `study.KEY=VALUE`.

    Example:
        >>> split_settings(["multirun/a", "study.alpha=0.01", "study.scoring=compat_1_4"])
        (['multirun/a'], {'alpha': 0.01, 'scoring': 'compat_1_4'})
    """
    import yaml

    folders = [word for word in words if not re.match(r"study\.\w+=", word)]
    settings = [word.removeprefix("study.").partition("=") for word in words if word not in folders]
    return folders, {key: yaml.safe_load(value) for key, _, value in settings}
