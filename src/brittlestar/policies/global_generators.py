"""The global random generators of Python, NumPy and torch, which code of the user may draw from."""

import contextlib
import random
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

_MIX, _STEP, _WORD = 0xBF58476D1CE4E5B9, 0x9E3779B97F4A7C15, 2**64


def global_states() -> dict[str, Any]:
    """Returns the state of every global generator; that of torch only if it is imported."""
    array: Any = np.random.get_state()  # noqa: NPY002
    name, key, *rest = array
    states: dict[str, Any] = {"random": random.getstate(), "numpy.random": (name, bytes(key), *rest)}
    torch = sys.modules.get("torch")
    return states | ({"torch": bytes(torch.get_rng_state().numpy())} if torch is not None else {})


def used_generators(before: dict[str, Any]) -> list[str]:
    """Returns the names of the generators that are in another state than before; torch may be imported since."""
    now = global_states()
    if "torch" in now and "torch" not in before:
        torch = sys.modules["torch"]
        at_import = torch.Generator().manual_seed(torch.initial_seed())
        before = before | {"torch": bytes(at_import.get_state().numpy())}
    return [name for name, state in now.items() if before[name] != state]


def seed_globally(seed: int, step: int) -> None:
    """Seeds every global generator by a seed and a step, in a few microseconds."""
    mixed = ((seed + (step + 1) * _STEP) * _MIX % _WORD) >> 32
    random.seed(mixed)
    np.random.seed(mixed)  # noqa: NPY002
    torch = sys.modules.get("torch")
    if torch is not None:
        # `torch.manual_seed` also looks for other devices, which takes a hundred times longer.
        torch.default_generator.manual_seed(mixed)


@contextlib.contextmanager
def preserve_generators() -> Iterator[None]:
    """Gives the global generators the states back that they had before the block.

    Example:
        >>> before = global_states()
        >>> with preserve_generators():
        ...     seed_globally(seed=3, step=0)
        ...     number = random.random()
        >>> used_generators(before)
        []
    """
    python, array = random.getstate(), np.random.get_state()  # noqa: NPY002
    torch = sys.modules.get("torch")
    tensor = None if torch is None else torch.get_rng_state()
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(array)  # noqa: NPY002
        if torch is not None:
            torch.set_rng_state(tensor)
