"""Stress schedules: (episode, step) to a level in [0, 1] and a phase."""

from brittlestar.schedules.across_episodes import Curriculum, Phases, Spread
from brittlestar.schedules.base import StressSchedule
from brittlestar.schedules.within_episode import Bursts, Constant, Cosine, Linear, StepSchedule

__all__ = ["Bursts", "Constant", "Cosine", "Curriculum", "Linear", "Phases", "Spread", "StepSchedule", "StressSchedule"]
