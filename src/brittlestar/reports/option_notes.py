"""What the yaml of an option says: its first line is the effect, and comments above a key explain the key."""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import itertools
import re
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from brittlestar.config import GROUPS, config_folder, options
from brittlestar.config.build import imported_class

_GROUPS = (*GROUPS, "study")


@dataclass(frozen=True)
class OptionNotes:
    """The effect of an option, and the meaning of its keys, which units belong to; nested keys have dots."""

    summary: str = ""
    keys: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)


def option_notes(target: str, option: str = "") -> OptionNotes:
    """Returns the notes in the yaml of an option, or in the only yaml of its class; else the docstrings of the class.

    Example:
        >>> option_notes("brittlestar.perturbations.GaussianAction").keys["sigma"]
        'Standard deviation, in units of the action. The strength.'
    """
    files = _files((config_folder(), *package_folders(), *_sweep_folders())).get(target, {})
    if option not in files and len(files) != 1:
        # The notes of another option of the same class could be wrong.
        return OptionNotes(class_summary(target), _field_docs(target))
    return read_notes(files.get(option) or next(iter(files.values())))


def read_notes(text: str) -> OptionNotes:
    """Reads the comments of a yaml file.

    Example:
        >>> notes = read_notes("# Noise.\\n_target_: a.B\\n# Metres.\\nsigma: 1\\n")
        >>> notes.summary, notes.keys
        ('Noise.', {'sigma': 'Metres.'})
    """
    import yaml  # type: ignore[import-untyped]

    keys: dict[str, str] = {}
    comments: list[str] = []
    path: list[str] = []
    for line in text.splitlines():
        words = line.strip()
        key = re.match(r"( *)([A-Za-z]\w*):", line)
        if key:
            path = [*path[: len(key[1]) // 2], key[2]]
            keys[".".join(path)] = " ".join(comments)
        comments = [*comments, words.lstrip("# ")] if words.startswith("#") else []
    return OptionNotes(option_summary(text), keys, yaml.safe_load(text) or {})


def option_summary(text: str) -> str:
    """Returns the effect of an option: the first comment of its yaml file."""
    comments = (line for line in text.splitlines() if line.startswith("#") and "@package" not in line)
    return next(comments, "").lstrip("# ")


def class_summary(target: str) -> str:
    """Returns the first line of the docstring of a class; empty for one that `imported_class` does not return."""
    with contextlib.suppress(Exception):
        kind = imported_class(target)
        return "" if kind is None else str(kind.__doc__ or "").strip().partition("\n")[0]
    return ""


@functools.cache
def package_folders() -> tuple[Path, ...]:
    """Returns the config folders of other packages, which name themselves by an entry point."""
    from importlib.metadata import entry_points
    from importlib.util import find_spec

    specs = [find_spec(entry.value) for entry in entry_points(group="brittlestar.conf")]
    return tuple(Path(place) for spec in specs if spec for place in spec.submodule_search_locations or ())


def _sweep_folders() -> list[Path]:
    """Returns the config folders of the sweep that runs in this process, with those of `--config-dir`."""
    if "hydra" not in sys.modules:
        return []
    from hydra.core.global_hydra import GlobalHydra

    hydra = GlobalHydra.instance()
    sources = hydra.config_loader().get_sources() if hydra.is_initialized() else []
    return [Path(source.path) for source in sources if source.scheme() == "file" and Path(source.path).is_dir()]


def _field_docs(target: str) -> dict[str, str]:
    """Returns the docstrings of the fields of a class and its bases; empty where there is no source."""
    docs: dict[str, str] = {}
    with contextlib.suppress(Exception):
        for base in reversed(inspect.getmro(imported_class(target))[:-1]):
            (node,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
            for field, doc in itertools.pairwise(getattr(node, "body", ())):
                if (
                    isinstance(field, ast.AnnAssign)
                    and isinstance(doc, ast.Expr)
                    and isinstance(doc.value, ast.Constant)
                ):
                    docs[ast.unparse(field.target)] = " ".join(str(doc.value.value).split())
    return docs


@functools.cache
def _files(folders: tuple[Path, ...]) -> dict[str, dict[str, str]]:
    """Returns the texts of all yaml files of parts: by class, then by option."""
    texts: dict[str, dict[str, str]] = {}
    for folder in folders:
        for name, path in ((name, path) for group in _GROUPS for name, path in options(group, folder).items()):
            text = path.read_text()
            target = re.search(r"^_target_: (\S+)$", text, re.MULTILINE)
            if target:
                texts.setdefault(target[1], {})[name] = text
    return texts
