"""Copies of an object of the user, one per episode, so that its state never passes from one episode to another."""

import io
import pickle
import random
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces

_BY_REFERENCE = (types.FunctionType, types.ModuleType, type, np.ufunc)
_MOST_BYTES = 64 << 20


class EpisodeCopies:
    """Makes copies of an object, each as the object was at the start.

    - Functions, weights of torch and models of Stable-Baselines3 are shared, because they have no state.
    - Random generators and spaces are seeded anew, because copies with one seed would repeat each other.
    - Attributes that cannot be copied are shared; `shared` names them.

    Example:
        >>> copies = EpisodeCopies({"integral": [0.0]})
        >>> copies.make(seed=0)["integral"].append(1.0)
        >>> copies.make(seed=1)
        {'integral': [0.0]}
    """

    def __init__(self, thing: Any) -> None:
        self._thing, self._links = thing, list[Any]()
        self.shared: list[str] = []
        self._content = None if isinstance(thing, _BY_REFERENCE) else self._pack(thing)

    @property
    def are_copies(self) -> bool:
        """Whether `make` returns a new object."""
        return self._content is not None

    def make(self, seed: int) -> Any:
        """Returns a copy whose random generators depend on `seed`, or the object itself if it cannot be copied."""
        return self._thing if self._content is None else _unpack(self._content, self._links, seed)

    def clone(self, thing: Any) -> Any:
        """Returns a copy of an object that `make` returned, with its present state."""
        links = [_attributes(thing)[name] for name in self.shared if name in _attributes(thing)]
        content = _packed(thing, links, seeds=False) if self.are_copies else None
        return thing if content is None else _unpack(content, links, None)

    def _pack(self, thing: Any) -> bytes | None:
        attributes = _attributes(thing)
        for opaque in ([], [name for name, value in attributes.items() if _packed(value, []) is None]):
            links: list[Any] = [attributes[name] for name in opaque]
            content = _packed(thing, links)
            if content is not None and _opens(content, links):
                self._links, self.shared = links, opaque
                return content
        self.shared = ["all of it"]
        return None


class _Packer(pickle.Pickler):
    """Pickles an object; what copies share or seed anew is kept in `links`, which may hold shared parts at first."""

    def __init__(self, file: Any, links: list[Any], seeds: bool) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._links, self._seeds = links, seeds
        self._places = {id(link): place for place, link in enumerate(links)}

    def persistent_id(self, obj: Any) -> int | None:
        if id(obj) in self._places:
            return self._places[id(obj)]
        if not _is_shared(obj) and not (self._seeds and _seeder(obj)):
            return None
        self._links.append(obj)
        return self._places.setdefault(id(obj), len(self._links) - 1)


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: Any, links: list[Any], seed: int | None) -> None:
        super().__init__(file)
        self._links, self._seed, self._made = links, seed, dict[int, Any]()

    def persistent_load(self, pid: Any) -> Any:
        seed = None if self._seed is None else _seeder(self._links[pid])
        if seed is None:
            return self._links[pid]
        if pid not in self._made:
            self._made[pid] = seed(self._links[pid], self._seed + pid)
        return self._made[pid]


def _attributes(thing: Any) -> dict[str, Any]:
    """Returns the attributes of an object, or of the one that a method belongs to."""
    return getattr(getattr(thing, "__self__", thing), "__dict__", {})


def _packed(thing: Any, links: list[Any], seeds: bool = True) -> bytes | None:
    file = io.BytesIO()
    try:
        _Packer(file, links, seeds).dump(thing)
    except Exception:  # Objects of the user may raise anything.
        return None
    return file.getvalue() if file.tell() <= _MOST_BYTES else None


def _unpack(content: bytes, links: list[Any], seed: int | None) -> Any:
    return _Unpacker(io.BytesIO(content), links, seed).load()


def _opens(content: bytes, links: list[Any]) -> bool:
    try:
        _unpack(content, links, 0)
    except Exception:  # Objects of the user may raise anything.
        return False
    return True


def _is_shared(thing: Any) -> bool:
    torch, sb3 = sys.modules.get("torch"), sys.modules.get("stable_baselines3.common.base_class")
    return (
        isinstance(thing, _BY_REFERENCE)
        or (torch is not None and isinstance(thing, torch.nn.Parameter))
        or (sb3 is not None and isinstance(thing, sb3.BaseAlgorithm))
    )


def _seeder(thing: Any) -> Callable[[Any, int], Any] | None:
    """Returns how to make an equal random source with another seed; None for anything else."""
    if isinstance(thing, np.random.Generator):
        return lambda source, seed: np.random.Generator(type(source.bit_generator)(seed))
    if isinstance(thing, np.random.RandomState | random.Random):
        return lambda source, seed: type(source)(seed % 2**32)
    if isinstance(thing, spaces.Space):
        return _seeded_space
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(thing, torch.Generator):
        return lambda source, seed: torch.Generator(source.device).manual_seed(seed)
    return None


def _seeded_space(space: spaces.Space, seed: int) -> spaces.Space:
    copied = pickle.loads(pickle.dumps(space))
    copied.seed(seed % 2**31)
    return copied
