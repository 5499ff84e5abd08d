"""A small convolutional network that sees differences from one brightness, as a features extractor.

The safe loader rebuilds it from the names and shapes of its tensors: `brittlestar.policies.cnn`.
"""

from collections.abc import Sequence

import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

_KERNELS = ((8, 4), (4, 2), (3, 1))
"""Size and stride of the convolutions of Mnih et al. (2015)."""


class CentredCNN(BaseFeaturesExtractor):
    """Three convolutions and a linear layer on `(images - centre) / spread`, each followed by `max(x, 0)`.

    A bright background is most of the input of a network. One that sees it as 0 learns from few small things sooner.

    Args:
        observation_space: of images, channels first.
        features_dim: number of features.
        channels: of each convolution.
        centre: brightness of the background, white being 1.
        spread: difference of brightness that becomes 1.
    """

    scaling: torch.Tensor
    """Centre and spread."""

    def __init__(
        self,
        observation_space: spaces.Box,
        features_dim: int = 64,
        channels: Sequence[int] = (16, 32, 32),
        centre: float = 0.5,
        spread: float = 0.5,
    ) -> None:
        super().__init__(observation_space, features_dim)
        self.register_buffer("scaling", torch.tensor([centre, spread]))
        depth, self.cnn = observation_space.shape[0], nn.Sequential()
        for outputs, (size, stride) in zip(channels, _KERNELS, strict=True):
            self.cnn.extend([nn.Conv2d(depth, outputs, size, stride), nn.ReLU()])
            depth = outputs
        with torch.no_grad():
            width = self.cnn(torch.zeros(1, *observation_space.shape)).numel()
        self.linear = nn.Sequential(nn.Linear(width, features_dim), nn.ReLU())

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Returns the features."""
        scaled = (images - self.scaling[0]) / self.scaling[1]
        return self.linear(self.cnn(scaled).flatten(1))
