"""What the code of a policy or an environment can change for the cells that come after it in the same process."""

import contextlib
import os
from collections.abc import Iterator

from brittlestar.policies.global_generators import preserve_generators, seed_globally


@contextlib.contextmanager
def own_process_state(seed: int, new_variables: bool = False) -> Iterator[None]:
    """Seeds the global random generators for a cell, and undoes changes of folder, variables and generators behind it.

    `new_variables` remain, for code that imports modules: they may set variables that they need, and do so only once.

    brittlestar draws from no global generator. A policy or an environment that does gets the same numbers whatever
    cells its process ran before.

    Example:
        >>> import random
        >>> with own_process_state(seed=0):
        ...     first = random.random()
        >>> with own_process_state(seed=0):
        ...     print(random.random() == first)
        True
    """
    folder, variables = os.getcwd(), dict(os.environ)
    try:
        with preserve_generators():
            seed_globally(seed, step=0)
            yield
    finally:
        os.chdir(folder)
        for name in [] if new_variables else [name for name in os.environ if name not in variables]:
            del os.environ[name]
        for name, value in variables.items():
            os.environ[name] = value
