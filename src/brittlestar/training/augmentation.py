"""Changes of pictures in training, another one for each picture of an update."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from brittlestar.errors import Fraction, check_fields


@dataclass
class Augmentation:
    """Shifts pictures, and changes their light and colours, by amounts that are uniform up to these.

    Example:
        >>> import torch
        >>> pictures = torch.full((2, 3, 8, 8), 100, dtype=torch.uint8)
        >>> changed = Augmentation(brightness=0.5)({"image": pictures}, np.random.default_rng(0))["image"]
        >>> changed.dtype, changed.shape == pictures.shape, len(set(changed[0].flatten().tolist()))
        (torch.uint8, True, 1)
    """

    shift: Fraction = 0.0
    """Of a side, in each direction; the edge is repeated."""
    brightness: Fraction = 0.0
    """Of white, added to all colours."""
    contrast: Fraction = 0.0
    """Distances from the mean change by this share."""
    colour: Fraction = 0.0
    """Red, green and blue change by this share, each by its own."""
    noise: Fraction = 0.0
    """Standard deviation of the noise of each pixel, white being 1."""

    def __post_init__(self) -> None:
        check_fields(self)

    def __call__(self, rows: Any, generator: np.random.Generator) -> Any:
        """Returns observations with other pictures: tensors `(rows, channels, height, width)` of bytes."""
        import torch

        if not any(vars(self).values()):
            return rows
        parts = rows if isinstance(rows, dict) else {"": rows}
        is_picture = {key: part.dtype == torch.uint8 and part.ndim == 4 for key, part in parts.items()}
        changed = {key: self._change(part, generator) if is_picture[key] else part for key, part in parts.items()}
        return changed if isinstance(rows, dict) else changed[""]

    def _change(self, pictures: Any, generator: np.random.Generator) -> Any:
        import torch

        count, channels = pictures.shape[:2]
        values = pictures.float()
        if self.shift:
            values = _shifted(values, self.shift, generator)
        if self.colour:
            values *= 1 + self.colour * _uniform((count, channels, 1, 1), generator)
        if self.contrast:
            mean = values.mean(dim=(1, 2, 3), keepdim=True)
            values = mean + (1 + self.contrast * _uniform((count, 1, 1, 1), generator)) * (values - mean)
        if self.brightness:
            values += 255 * self.brightness * _uniform((count, 1, 1, 1), generator)
        if self.noise:
            normal = generator.standard_normal(tuple(values.shape), dtype=np.float32)
            values += 255 * self.noise * torch.as_tensor(normal)
        return values.round_().clamp_(0, 255).to(torch.uint8)


def _uniform(shape: tuple[int, ...], generator: np.random.Generator) -> Any:
    import torch

    return torch.as_tensor(generator.uniform(-1, 1, shape), dtype=torch.float32)


def _shifted(values: Any, share: float, generator: np.random.Generator) -> Any:
    """Moves each picture by whole pixels."""
    import torch

    height, width = values.shape[2:]
    down, across = (int(share * length) for length in (height, width))
    padded = torch.nn.functional.pad(values, (across, across, down, down), mode="replicate")
    tops = generator.integers(0, 2 * down + 1, len(values)).tolist()
    lefts = generator.integers(0, 2 * across + 1, len(values)).tolist()
    pieces = [padded[i, :, y : y + height, x : x + width] for i, (y, x) in enumerate(zip(tops, lefts, strict=True))]
    return torch.stack(pieces)
