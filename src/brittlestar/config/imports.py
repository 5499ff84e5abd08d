"""Imports modules that a config names, without letting their code move this process."""

import importlib
import os
from types import ModuleType


def import_module_in_place(name: str) -> ModuleType:
    """Imports a module; a change of the working directory by its code is undone.

    Paths of the config, of the store and of the tables are relative to the folder that the command started in.

    Example:
        >>> import_module_in_place("json").__name__
        'json'
    """
    folder = os.getcwd()
    try:
        return importlib.import_module(name)
    finally:
        os.chdir(folder)
