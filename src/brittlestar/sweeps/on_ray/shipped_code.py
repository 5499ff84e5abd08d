"""The code that travels to the nodes: this package with its configs, and the modules of the user's folder."""

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import brittlestar
from brittlestar.cells.module_files import is_installed
from brittlestar.config import config_folder
from brittlestar.errors import UserError

MOST_MODULES = 5000
"""Python files of a user's folder that travel: a home folder is no project."""
MODULES = "user_modules"
"""Folder of the user's modules: the last place where a node looks for a module, as on the user's machine."""
PACKAGE_FOLDER = Path(brittlestar.__file__).parent
"""What it holds is on every node."""
_SKIPPED = ("outputs", "multirun", "node_modules", "site-packages", "__pycache__")


def stage_code(target: Path, sources: Iterable[str], extra: Sequence[str] = ()) -> None:
    """Copies all code that the nodes need into a folder, from which they import.

    `sources` are files of modules that configs name, `extra` further files and folders below the working directory.
    """
    shutil.copytree(PACKAGE_FOLDER, target / PACKAGE_FOLDER.name, ignore=shutil.ignore_patterns("__pycache__", "conf"))
    shutil.copytree(config_folder(), target / PACKAGE_FOLDER.name / "conf")
    folder, target = Path.cwd(), target / MODULES
    # The target itself may be below the folder.
    for path in list(_modules(folder, target.parent.resolve())):
        _copy(path, target / path.relative_to(folder))
    for name in extra:
        path = Path(os.path.abspath(name))
        if not path.is_relative_to(folder) or not path.exists():
            raise UserError(f"`hydra.launcher.extra_files` must name files and folders below {folder}, got {name}")
        _copy(path, target / path.relative_to(folder))
    for path in {_top(Path(source)) for source in sources if not is_installed(source)}:
        if not path.is_relative_to(folder):
            _copy(path, target / path.name)


def _modules(folder: Path, target: Path) -> Iterator[Path]:
    """Yields the Python files below a folder, except those of results, environments and hidden folders."""
    count = 0
    for root, folders, files in os.walk(folder):
        here = Path(root)
        folders[:] = [name for name in folders if not _is_skipped(here / name) and here / name != target]
        for name in files:
            if name.endswith(".py"):
                count += 1
                yield here / name
        if count > MOST_MODULES:
            raise UserError(
                f"{folder} has more than {MOST_MODULES} Python files, too many to travel to the nodes: "
                "start in the folder of your project, or set `hydra.launcher.ship_code=false`"
            )


def _is_skipped(folder: Path) -> bool:
    is_environment = (folder / "pyvenv.cfg").exists()
    return folder.name in _SKIPPED or folder.name.startswith(".") or is_environment or folder == PACKAGE_FOLDER


def _top(source: Path) -> Path:
    """Returns the outermost package of a module, or the module itself."""
    path = source
    while (path.parent / "__init__.py").exists():
        path = path.parent
    return path


def _copy(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        shutil.copytree(path, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copyfile(path, target)
