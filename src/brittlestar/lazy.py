"""Packages whose names are imported on use."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def lazily(package: str, homes: dict[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Returns `__getattr__` and `__dir__` of a package.

    Args:
        package: its name.
        homes: module of the package to the names that are imported from it, with spaces between them.

    Example:
        >>> get, names = lazily("brittlestar", {"errors": "UserError nearest"})
        >>> get("nearest").__name__, names()
        ('nearest', ['UserError', 'nearest'])
    """
    found = {name: module for module, names in homes.items() for name in names.split()}

    def get(name: str) -> Any:
        if name not in found:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{found[name]}"), name)

    return get, lambda: sorted(found)
