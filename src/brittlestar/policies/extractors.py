"""The features extractors of a checkpoint, recognised by the names and shapes of their tensors."""

import numpy as np
from gymnasium import spaces

from brittlestar.checkpoints.messages import printable
from brittlestar.checkpoints.spaces_text import Space
from brittlestar.errors import UserError
from brittlestar.policies.cnn import CentredCnn, Extractor, FlatImage, NatureCnn, Tensors
from brittlestar.policies.impala import ImpalaCnn
from brittlestar.policies.input_entry import is_image

EXTRACTORS: tuple[type[Extractor], ...] = (NatureCnn, CentredCnn, ImpalaCnn)
"""Extractors with tensors; the first that fits them is taken."""
_SB3 = "stable_baselines3.common.torch_layers"
_WITHOUT_TENSORS = (
    f"{_SB3}.FlattenExtractor",
    f"{_SB3}.CombinedExtractor",
    "brittlestar.training.impala.ImpalaCombinedExtractor",
)
"""Extractors that have no tensors of their own."""
_OWNERS = (
    "pi_features_extractor.",
    *(f"{owner}features_extractor." for owner in ("actor.", "q_net.", "quantile_net.", "")),
)
"""Starts of the names of the actor's tensors. An actor that shares its extractor with the critic has the last one."""
_ENTRIES = "extractors."
"""Start of the names of an entry's tensors in `CombinedExtractor`."""


def read_extractors(weights: Tensors, space: Space, name: str | None) -> dict[str, Extractor]:
    """Returns the extractors of the actor by entry of the observation; a plain observation has the key `""`.

    Entries of numbers have none. An unknown extractor is a `UserError` with the reason.

    Args:
        weights: all tensors of a checkpoint.
        space: observation space of the training.
        name: module and class of the extractor, if the checkpoint names it.
    """
    if name not in (None, *_WITHOUT_TENSORS, *(kind.name for kind in EXTRACTORS)):
        raise UserError(f"its features extractor {name} is not known")
    by_entry = _split(_own_tensors(weights), space)
    parts = space.spaces if isinstance(space, spaces.Dict) else {"": space}
    found = {key: _read(by_entry.get(key, {}), part) for key, part in parts.items()}
    return {key: extractor for key, extractor in found.items() if extractor is not None}


def _own_tensors(weights: Tensors) -> dict[str, np.ndarray]:
    for start in _OWNERS:
        if own := {name.removeprefix(start): array for name, array in weights.items() if name.startswith(start)}:
            return own
    return {}


def _split(tensors: Tensors, space: Space) -> dict[str, dict[str, np.ndarray]]:
    """Returns the tensors of each entry by the names that its extractor has by itself."""
    if not isinstance(space, spaces.Dict):
        return {"": dict(tensors)}
    by_entry: dict[str, dict[str, np.ndarray]] = {}
    for name, array in tensors.items():
        key, _, own = name.removeprefix(_ENTRIES).partition(".")
        if not name.startswith(_ENTRIES) or key not in space.spaces:
            raise _unknown({name: array})
        by_entry.setdefault(key, {})[own] = array
    return by_entry


def _read(tensors: Tensors, space: Space) -> Extractor | None:
    if not tensors:
        return FlatImage(space.shape) if is_image(space) and space.shape else None
    if isinstance(space, spaces.Box) and len(space.shape) == 3:
        for kind in EXTRACTORS:
            if (extractor := kind.read(tensors, space.shape)) is not None:
                return extractor
    raise _unknown(tensors)


def _unknown(tensors: Tensors) -> UserError:
    name, array = next(iter(tensors.items()))
    return UserError(f"its features extractor is not known (`{printable(name, 60)}` has shape {array.shape})")
