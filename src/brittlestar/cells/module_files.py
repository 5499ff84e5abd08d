"""The source files of a module of the user, and of the modules that it imports."""

from __future__ import annotations

import ast
import functools
import importlib.util
import os
import site
import sys
import sysconfig
from collections.abc import Iterator

_OWN = "brittlestar"
_PACKAGE = "__init__.py"


def module_files(module: str) -> list[str]:
    """Returns the file of a module of another package, and those of all modules of the user that it imports.

    The import statements of the source are read, also those inside of functions. Modules of Python and of installed
    packages are left out, except for `module` itself.
    """
    if not module or module.partition(".")[0] == _OWN:
        return []
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return []
    if not spec or not spec.origin or not os.path.isfile(spec.origin):
        return []
    return [spec.origin] if is_installed(spec.origin) else _closure(spec.origin, module)


def is_installed(path: str) -> bool:
    """Whether a file or folder belongs to Python or to an installed package."""
    return os.path.join(path, "").startswith(_installed_places())


@functools.cache
def _installed_places() -> tuple[str, ...]:
    places = [sysconfig.get_path("stdlib"), *site.getsitepackages(), site.getusersitepackages()]
    return tuple(os.path.join(place, "") for place in places)


def _closure(path: str, module: str) -> list[str]:
    """Returns the file of a module and those of its imports."""
    roots = [folder for folder in dict.fromkeys(map(os.path.abspath, sys.path)) if not is_installed(folder)]
    # Python runs the packages around a module, too.
    names = {path: module, **dict(_located(module, roots))}
    waiting = list(names)
    while waiting:
        path = waiting.pop()
        for name in _imports(path, names[path]):
            found = {file: part for file, part in _located(name, roots) if file not in names}
            names |= found
            waiting += found
    return list(names)


def _located(module: str, roots: list[str]) -> Iterator[tuple[str, str]]:
    """Yields the files of a module and of the packages around it, with the name of each."""
    parts = module.split(".")
    for count in range(1, len(parts) + 1 if parts[0] != _OWN else 0):
        name = ".".join(parts[:count])
        for root in roots:
            place = os.path.join(root, *parts[:count])
            file = next((file for file in (os.path.join(place, _PACKAGE), f"{place}.py") if os.path.isfile(file)), "")
            if file:
                yield file, name
                break


def _imports(path: str, module: str) -> Iterator[str]:
    """Yields the names that a file imports, of modules and of what may be one."""
    package = module if os.path.basename(path) == _PACKAGE else module.rpartition(".")[0]
    stat = os.stat(path)
    for level, base, name in _statements(path, stat.st_size, stat.st_mtime_ns):
        around = package.split(".")[: len(package.split(".")) - level + 1] if level else []
        yield ".".join(filter(None, [*around, base, name]))


@functools.lru_cache(maxsize=4096)
def _statements(path: str, size: int, changed: int) -> tuple[tuple[int, str, str], ...]:
    """Returns the imports of a file, as level, module and name; none of a file that is no source of Python."""
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return ()
    statements = dict[tuple[int, str, str], None]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            statements |= {(0, alias.name, ""): None for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            statements |= {(node.level, node.module or "", alias.name): None for alias in node.names}
    return tuple(statements)
