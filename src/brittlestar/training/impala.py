"""The residual network of IMPALA (Espeholt et al. 2018) as features extractors for Stable-Baselines3.

The safe loader rebuilds them from the names and shapes of their tensors: `brittlestar.policies.impala`.
"""

import math
from collections.abc import Sequence

import torch
from gymnasium import spaces
from stable_baselines3.common.preprocessing import get_flattened_obs_dim, is_image_space
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

_CHANNELS = (16, 32, 32)
"""Channels of the stages in the paper."""


class ImpalaCNN(BaseFeaturesExtractor):
    """Stages of a convolution, a maximum over 3 x 3 pixels and two residual blocks; then a linear layer.

    Each stage halves the height and width of the images.

    Args:
        observation_space: of images, channels first.
        features_dim: number of features.
        channels: of each stage.
    """

    def __init__(
        self, observation_space: spaces.Box, features_dim: int = 256, channels: Sequence[int] = _CHANNELS
    ) -> None:
        super().__init__(observation_space, features_dim)
        depth, *sides = observation_space.shape
        self.stages = nn.Sequential()
        for outputs in channels:
            self.stages.append(_Stage(depth, outputs))
            depth, sides = outputs, [-(-side // 2) for side in sides]
        self.linear = nn.Linear(depth * math.prod(sides), features_dim)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Returns the features."""
        last = torch.relu(self.stages(images))
        return torch.relu(self.linear(last.flatten(1)))


class ImpalaCombinedExtractor(BaseFeaturesExtractor):
    """`ImpalaCNN` for every image of a dict observation; other entries remain numbers.

    Args:
        observation_space: a dict.
        features_dim: number of features of each image.
        channels: of each stage.
    """

    def __init__(
        self, observation_space: spaces.Dict, features_dim: int = 256, channels: Sequence[int] = _CHANNELS
    ) -> None:
        extractors: dict[str, nn.Module] = {}
        width = 0
        for key, part in observation_space.items():
            if isinstance(part, spaces.Box) and is_image_space(part):
                extractors[key] = ImpalaCNN(part, features_dim, channels)
                width += features_dim
            else:
                extractors[key] = nn.Flatten()
                width += get_flattened_obs_dim(part)
        super().__init__(observation_space, width)
        self.extractors = nn.ModuleDict(extractors)

    def forward(self, entries: dict[str, torch.Tensor]) -> torch.Tensor:
        """Returns the features and numbers in one row."""
        return torch.cat([extractor(entries[key]) for key, extractor in self.extractors.items()], dim=1)


class _Stage(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.blocks = nn.Sequential(_ResidualBlock(outputs), _ResidualBlock(outputs))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        pooled = torch.max_pool2d(self.convolution(images), 3, stride=2, padding=1)
        return self.blocks(pooled)


class _ResidualBlock(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first, self.second = (nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return images + self.second(torch.relu(self.first(torch.relu(images))))
