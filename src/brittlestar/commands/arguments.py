"""Rewrites the arguments of a command before Hydra reads them."""

import importlib
import os
import re
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from brittlestar.commands.terminal import Parser
from brittlestar.config import GROUPS, options
from brittlestar.config.compositions import compose_words
from brittlestar.errors import UserError

_FLAGS_WITH_VALUE = {"-cd", "--config-dir", "-cp", "--config-path", "-cn", "--config-name", "-c", "--cfg", "-p",
                     "--package"}  # fmt: skip
FLAGS = _FLAGS_WITH_VALUE | {"-h", "--help", "--hydra-help", "--version", "-m", "--multirun", "-r", "--run", "-i",
                             "--info", "--resolve", "-sc", "--shell-completion", "--experimental-rerun"}  # fmt: skip
"""The flags of Hydra."""


def is_override_or_flag(word: str) -> bool:
    """Whether Hydra's parser takes a word; it takes short flags with their value, and beginnings of long flags.

    Example:
        >>> [is_override_or_flag(word) for word in ("seed=1", "-cdmine", "--multi", "--cfg=job", "--mutlirun")]
        [True, True, True, True, False]
    """
    flag = word.partition("=")[0]
    if flag.startswith("--"):
        return any(name.startswith(flag) for name in FLAGS)
    return not word.startswith("-") or word.startswith(tuple(name for name in FLAGS if name[1] != "-"))


def expand(arguments: list[str]) -> list[str]:
    """Returns arguments that Hydra understands: flags first, globs, compositions and sweepers expanded."""
    words = study_of_sweeper(flags_first(arguments))
    return [part for word in words for part in expand_list(expand_files(gate_file(word)))]


def study_of_sweeper(arguments: list[str]) -> list[str]:
    """Adds the study of a sweeper that chooses cells by their results: it has the name of the sweeper.

    Example:
        >>> study_of_sweeper(["hydra/sweeper=stress", "seed=1"]), study_of_sweeper(["hydra/sweeper=cells"])
        (['hydra/sweeper=stress', 'study=stress', 'seed=1'], ['hydra/sweeper=cells'])
    """
    if any(word.startswith("study=") for word in arguments):
        return arguments
    names = [word.partition("=")[2] if word.startswith("hydra/sweeper=") else "" for word in arguments]
    pairs = (
        [word, f"study={name}"] if name in options("study") else [word]
        for word, name in zip(arguments, names, strict=True)
    )
    return [word for pair in pairs for word in pair]


def flags_first(arguments: list[str]) -> list[str]:
    """Moves flags before overrides, because Hydra's parser rejects overrides after a flag.

    Example:
        >>> flags_first(["env=cartpole", "-m", "seed=0,1", "--config-dir", "mine"])
        ['-m', '--config-dir', 'mine', 'env=cartpole', 'seed=0,1']
    """
    if arguments[-1:] and arguments[-1] in _FLAGS_WITH_VALUE:
        # In front, it would take the first override for its value.
        raise UserError(f"`{arguments[-1]}` needs a value")
    flags, overrides = list[str](), list[str]()
    for before, word in zip(["", *arguments], arguments, strict=False):
        (flags if word.startswith("-") or before in _FLAGS_WITH_VALUE else overrides).append(word)
    return flags + overrides


def expand_files(word: str) -> str:
    """Expands `key.path=glob(*.zip)` to a list of files; Hydra's own glob matches only options of groups.

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


def gate_file(word: str) -> str:
    """Rewrites `gate=my_gate.yaml`: Hydra would look for an option of this name.

    Example:
        >>> gate_file("gate=my_gate.yaml"), gate_file("gate=none")
        ("gate.file='my_gate.yaml'", 'gate=none')
    """
    key, _, path = word.partition("=")
    if key != "gate" or not path.endswith((".yaml", ".yml")):
        return word
    return "gate.file='" + path.replace("'", "\\'") + "'"


def expand_list(word: str) -> list[str]:
    """Expands `perturbation=[a,b]` to a composition of these options in this order; the same for mitigations.

    Example:
        >>> expand_list("mitigation=[low_pass]")[-1]
        '+mitigation@mitigation.parts.low_pass=low_pass'
        >>> expand_list("seed=[1]")
        ['seed=[1]']
    """
    group, _, value = word.partition("=")
    match = re.fullmatch(r"\[([\w, ]*)\]", value) if group in ("perturbation", "mitigation") else None
    if group in GROUPS and value.startswith("{"):
        raise UserError(f"`{word}`: set one key at a time, as `{group}.KEY=VALUE`")
    if not match and group in GROUPS and "[" in value:
        raise UserError(
            f"`{word}`: sweep options by `-m {group}=a,b`; one list `[a,b]` composes perturbations or mitigations"
        )
    if not match:
        return [word]
    options = [option.strip() for option in match[1].split(",") if option.strip()]
    if not options:
        raise UserError(f"`{word}` names no option; `{group}=none` is without any")
    return compose_words(group, options)


def read_sweeps(parser: Parser) -> tuple[Namespace, list[str], dict[str, Any]]:
    """Parses sweep folders, fields of a study and `--out`; returns all options, the folders and the fields."""
    parser.add_argument("words", nargs="+", metavar="DIR", help="sweep folders; study.KEY=VALUE scores them again")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="folder of the output (default: the first DIR)")
    parser.add_argument(
        "--import", dest="module", metavar="MODULE", help="import a study of yours that the sweeps name"
    )
    options = parser.parse_intermixed_args()
    if options.module:
        _import(options.module)
    folders, settings = split_settings(options.words)
    options.out = options.out or Path(folders[0])
    return options, folders, settings


def _import(module: str) -> None:
    """Imports a module of the user, also from the working directory."""
    sys.path.append(os.getcwd())
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise UserError(f"`--import {module}`: {error}") from None


def split_settings(words: list[str]) -> tuple[list[str], dict[str, Any]]:
    """Splits arguments into sweep folders and the fields of a study, which are written `study.KEY=VALUE`.

    Example:
        >>> split_settings(["multirun/a", "study.alpha=0.01", "study.scoring=compat_1_4"])
        (['multirun/a'], {'alpha': 0.01, 'scoring': 'compat_1_4'})
    """
    import yaml  # type: ignore[import-untyped]

    folders = [word for word in words if not re.match(r"study\.\w+=", word)]
    if not folders:
        raise UserError("there is no sweep folder among the arguments")
    settings = [word.removeprefix("study.").partition("=") for word in words if word not in folders]
    return folders, {key: yaml.safe_load(value) for key, _, value in settings}
