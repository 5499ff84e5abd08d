"""The image corruptions of LIBERO-plus at their published severities."""

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from gymnasium import spaces

from brittlestar.errors import Bound
from brittlestar.perturbations.camera_blurs import GlassBlurredImage, MotionBlurredImage, ZoomBlurredImage
from brittlestar.perturbations.camera_faults import BlurredImage
from brittlestar.perturbations.fog import FoggyImage
from brittlestar.perturbations.images import ImagePerturbation
from brittlestar.perturbations.step import Step, for_lanes

Corruption = Literal["motion_blur", "gaussian_blur", "zoom_blur", "fog", "glass_blur"]
_GLASS_SIGMAS = np.array([0.5, 0.7, 0.9, 1.0, 1.1, 1.3, 1.5, 1.8, 2.2, 2.5])
_GLASS_REACHES = np.array([1.0, 1, 2, 2, 3, 3, 4, 4, 5, 5])
SEVERITIES: dict[str, dict[str, Any]] = {
    "motion_blur": {"motion_pixels": [2, 3, 4, 5, 6, 8, 10, 12, 15, 20]},
    "gaussian_blur": {"radius_pixels": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]},
    "zoom_blur": {"zoom": [0.11, 0.16, 0.21, 0.26, 0.31, 0.36, 0.41, 0.46, 0.51, 0.56]},
    "fog": {
        "thickness": [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0],
        "decay": [3.0, 2.8, 2.5, 2.2, 2.0, 1.8, 1.6, 1.5, 1.4, 1.3],
    },
    "glass_blur": {
        "reach_pixels": _GLASS_REACHES.tolist(),
        "blur": (_GLASS_SIGMAS / _GLASS_REACHES).tolist(),
        "rounds": [3, 3, 3, 2, 2, 2, 2, 2, 1, 1],
    },
}
"""Parameters of each corruption at the severities 1 to 10, from the source code of LIBERO-plus. Pixels are those of its
frames of 256 x 256."""
_FRAME_PIXELS = 256
_VISIBLE_PIXELS = 0.5
"""A shorter blur may change less than one grey level."""
_KINDS: dict[str, tuple[type[ImagePerturbation], dict[str, Any]]] = {
    "motion_blur": (MotionBlurredImage, {"kernel": "gaussian", "angle_degrees": 45.0}),
    "gaussian_blur": (BlurredImage, {}),
    "zoom_blur": (ZoomBlurredImage, {}),
    "fog": (FoggyImage, {}),
    "glass_blur": (GlassBlurredImage, {}),
}


@dataclass
class LiberoPlusImage(ImagePerturbation):
    """Shows a corruption of LIBERO-plus with the parameters of the severity `level * severity`, see `SEVERITIES`.

    A corruption is another perturbation of this package: `MotionBlurredImage` (half a Gaussian, at most 45 degrees from
    the horizontal), `BlurredImage`, `ZoomBlurredImage`, `FoggyImage` or `GlassBlurredImage`. Parameters between two
    severities are interpolated. Below 1, the strength goes to 0 and the other parameters remain.

    Example:
        >>> fog = LiberoPlusImage(severity=10, corruption="fog")
        >>> fog.bind(spaces.Box(0, 255, (8, 8), np.uint8), spaces.Discrete(2), lanes=1)
        >>> seen = fog.perturb_observation(np.zeros((1, 8, 8), np.uint8), Step.full())
        >>> int(seen.max())  # 5 / 6 of white
        212
    """

    strength_field: ClassVar[str] = "severity"
    severity: Annotated[float, Bound("in [0, 10]", lambda severity: 0 <= severity <= 10)]
    corruption: Corruption = "motion_blur"
    radii: Literal["scaled", "published"] = "scaled"
    """`scaled`: lengths in pixels times the shorter side of the image / 256, which looks the same at any size;
    `published`: as many pixels as in frames of 256 x 256."""
    per_episode: bool = False
    """Whether directions, clouds and glass are drawn once per episode; otherwise at every step, as published."""

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        super().bind(observation_space, action_space, lanes)
        kind, options = _KINDS[self.corruption]
        drawn: dict[str, Any] = {"per_episode": self.per_episode} if hasattr(kind, "per_episode") else {}
        largest = {name: max(column) for name, column in SEVERITIES[self.corruption].items()}
        self._part = kind(**largest, **options, **drawn)
        self._acted, self._unit = False, 1.0

    @property
    def idle_reason(self) -> str:
        strength = self._part.strength_field or ""
        length = float(parameters_at(self.corruption, np.array(self.severity))[strength]) * self._unit
        if self._acted or not strength.endswith("_pixels") or length >= _VISIBLE_PIXELS:
            return ""
        return f"`severity` {self.severity:g} of {self.corruption} is {length:.2g} pixels in images of this size"

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        shown = super().perturb(array, step)
        self._acted |= bool(step.effects["pixels_changed"].any())
        return shown

    def paint(self, pixels: np.ndarray, white: float, step: Step) -> np.ndarray:
        self._unit = min(pixels.shape[1:3]) / _FRAME_PIXELS if self.radii == "scaled" else 1.0
        values = parameters_at(self.corruption, self.in_lanes("severity", step))
        values = {name: value * self._unit if name.endswith("_pixels") else value for name, value in values.items()}
        return self._part.paint(pixels, white, _SetStep(step.level, step.first, step.draws, values=values))


def parameters_at(corruption: str, severity: np.ndarray) -> dict[str, np.ndarray]:
    """Returns the parameters of a corruption by name, one number per lane.

    Example:
        >>> {name: value.tolist() for name, value in parameters_at("fog", np.array([0.5, 1.0, 9.5])).items()}
        {'thickness': [0.25, 0.5, 4.75], 'decay': [3.0, 3.0, 1.35]}
    """
    strength = _KINDS[corruption][0].strength_field
    return {
        name: np.interp(severity, np.arange(11), [0.0 if name == strength else column[0], *column])
        for name, column in SEVERITIES[corruption].items()
    }


@dataclass
class _SetStep(Step):
    """A step in which parameters have values of their own, `(lanes,)`, whatever the fields of the perturbation."""

    values: dict[str, np.ndarray] = field(default_factory=dict)

    def of(self, owner: Any, name: str, array: np.ndarray) -> Any:
        return for_lanes(self.values[name], array) if name in self.values else getattr(owner, name)
