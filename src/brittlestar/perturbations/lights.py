"""Lights that are brighter, darker, warmer, colder or elsewhere; MuJoCo environments with `env.pixels`."""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np

from brittlestar.envs.scenes import HEADLIGHT, LAMPS, TERMS, LightPaint, SceneEdits
from brittlestar.errors import Bound, Fraction, NonNegative
from brittlestar.perturbations.cameras import LowHigh, ScenePerturbation, both_ways, some_of

_DAYLIGHT = 6500.0
"""Kelvin of the nominal light."""
Kelvin = Annotated[float, Bound("in [0, 4500]", lambda value: 0 <= value <= 4500)]


@dataclass
class SceneLight(ScenePerturbation):
    """Changes brightness, direction and colour of all lights, each by `level * amount` of a draw from its range.

    - brightness: `1 + level * amount * (f - 1)`, f uniform in `brightness`
    - direction: `level * amount * azimuth * U(-1, 1)` degrees around the vertical axis
    - colour temperature: 6500 K plus `level * amount * kelvin * U(-1, 1)`

    Example:
        >>> from brittlestar.perturbations.step import Step
        >>> scene = SceneEdits()
        >>> SceneLight(amount=1.0).perturb_scene([scene], Step.full())
        >>> 0.2 <= scene.brightness <= 2, abs(scene.light_azimuth) <= 30
        (True, True)
    """

    strength_field: ClassVar[str] = "amount"
    draws_per_episode: ClassVar[int] = 3
    amount: Fraction
    brightness: LowHigh = field(default_factory=lambda: [0.2, 2.0])
    """Factors."""
    azimuth: NonNegative = 30.0
    """Degrees."""
    kelvin: Kelvin = 1500.0

    def edit(self, scene: SceneEdits, amount: float, draws: np.ndarray) -> None:
        low, high = self.brightness
        scene.brightness *= 1 + amount * (low + (high - low) * float(draws[0]) - 1)
        _, azimuth, warmth = (amount * both_ways(draws)).tolist()
        scene.light_azimuth += self.azimuth * azimuth
        scene.tint = scene.tint * tint(_DAYLIGHT + self.kelvin * warmth)


@dataclass
class LightBrightness(ScenePerturbation):
    """Multiplies all lights by `2 ** (level * stops * U(-1, 1))`: one stop is twice or half the light.

    Example:
        >>> from brittlestar.perturbations.step import Step
        >>> scene = SceneEdits()
        >>> LightBrightness(stops=1.0).perturb_scene([scene], Step.full())
        >>> 0.5 <= scene.brightness <= 2
        True
    """

    strength_field: ClassVar[str] = "stops"
    stops: NonNegative

    def edit(self, scene: SceneEdits, amount: float, draws: np.ndarray) -> None:
        scene.brightness *= 2.0 ** (amount * float(both_ways(draws)[0]))


@dataclass
class LightAzimuth(ScenePerturbation):
    """Turns all lights by `level * degrees * U(-1, 1)` around the vertical axis.

    Example:
        >>> from brittlestar.perturbations.step import Step
        >>> scene = SceneEdits()
        >>> LightAzimuth(degrees=30).perturb_scene([scene], Step.full())
        >>> 0 < abs(scene.light_azimuth) <= 30
        True
    """

    strength_field: ClassVar[str] = "degrees"
    degrees: NonNegative

    def edit(self, scene: SceneEdits, amount: float, draws: np.ndarray) -> None:
        scene.light_azimuth += amount * float(both_ways(draws)[0])


@dataclass
class LightTemperature(ScenePerturbation):
    """Changes the colour temperature of all lights from 6500 K by `level * kelvin * U(-1, 1)`.

    Example:
        >>> from brittlestar.perturbations.step import Step
        >>> scene = SceneEdits()
        >>> LightTemperature(kelvin=1500).perturb_scene([scene], Step.full())
        >>> bool((scene.tint != 1).any())
        True
    """

    strength_field: ClassVar[str] = "kelvin"
    kelvin: Kelvin

    def edit(self, scene: SceneEdits, amount: float, draws: np.ndarray) -> None:
        scene.tint = scene.tint * tint(_DAYLIGHT + amount * float(both_ways(draws)[0]))


@dataclass
class LightColour(ScenePerturbation):
    """Moves lights towards another colour: `(1 - level * amount) * colour + level * amount * U(low, high)^3`.

    Example:
        >>> from brittlestar.perturbations.step import Step
        >>> scene = SceneEdits()
        >>> LightColour(amount=1.0, rgb=[0.0, 0.5]).perturb_scene([scene], Step.full())
        >>> bool((scene.light_paints[0].rgb <= 0.5).all())
        True
    """

    strength_field: ClassVar[str] = "amount"
    draws_per_episode: ClassVar[int] = 3
    amount: Fraction
    rgb: LowHigh = field(default_factory=lambda: [0.0, 1.0])
    grey: bool = False
    """Whether red, green and blue are the same."""
    lights: Annotated[list[str], some_of(HEADLIGHT, LAMPS)] = field(default_factory=lambda: [HEADLIGHT, LAMPS])
    """The light of the camera, the lights of the model, or both."""
    terms: Annotated[list[str], some_of(*TERMS)] = field(default_factory=lambda: list(TERMS))
    """Which colours of a light."""

    def edit(self, scene: SceneEdits, amount: float, draws: np.ndarray) -> None:
        low, high = self.rgb
        rgb = low + (high - low) * (draws[[0, 0, 0]] if self.grey else draws)
        scene.light_paints.append(LightPaint(self.lights, self.terms, rgb, amount))


def tint(kelvin: float) -> np.ndarray:
    """Returns the colour of a black body next to that at 6500 K: factors of red, green and blue, of equal luminance.

    Example:
        >>> tint(6500.0).tolist(), bool(tint(4000.0)[0] > 1 > tint(4000.0)[2])
        ([1.0, 1.0, 1.0], True)
    """
    return np.asarray(_rgb(kelvin) / _rgb(_DAYLIGHT))


def _rgb(kelvin: float) -> np.ndarray:
    """Returns linear sRGB of a black body, by the cubic approximation of its locus (Kim et al. 2002)."""
    t = 1000.0 / kelvin
    if kelvin < 4000:
        x = -0.2661239 * t**3 - 0.2343589 * t**2 + 0.8776956 * t + 0.179910
        y = -0.9549476 * x**3 - 1.37418593 * x**2 + 2.09137015 * x - 0.16748867
    else:
        x = -3.0258469 * t**3 + 2.1070379 * t**2 + 0.2226347 * t + 0.240390
        y = 3.0817580 * x**3 - 5.87338670 * x**2 + 3.75112997 * x - 0.37001483
    to_rgb = np.array([[3.2406, -1.5372, -0.4986], [-0.9689, 1.8758, 0.0415], [0.0557, -0.2040, 1.0570]])
    return np.asarray(to_rgb @ np.array([x / y, 1.0, (1 - x - y) / y]))
