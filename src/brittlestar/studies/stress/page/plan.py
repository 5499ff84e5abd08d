"""The policies, episodes and folders of the benchmark, and the sweep that runs it."""

import shlex
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from brittlestar.errors import UserError, counted, nearest
from brittlestar.policies.zoo import cards as zoo
from brittlestar.studies.stress.rigorous import split

EXPERIMENT = "stress_benchmark"
COMMAND = "brittlestar stress-benchmark"
STRESSORS = 8
"""Of the experiment, the baseline among them."""
PICTURES = ("fetch_reach_vision*", "pong*")
"""Policies that see pictures: drawing them for all cells takes hours. As in the experiment."""
_LEAST_EPISODES = 6
"""Two of each phase: an interval needs two."""


@dataclass(frozen=True)
class BenchmarkPlan:
    """What is measured, and where it goes; the defaults are those of the experiment.

    Attributes:
        policies: names of the zoo; none for all that are trained and see no pictures.
        episodes: per cell, in thirds.
        reference: episodes of a reference pass.
        seeds: of all cells.
        page: the page; its pictures go into a folder of the same name.
        folder: of the sweep, its tables and all figures.
        store: of finished cells.
    """

    policies: tuple[str, ...] = ()
    episodes: int = 120
    reference: int = 300
    seeds: tuple[int, ...] = (0, 1, 2)
    page: Path = Path("docs/stress_benchmark.md")
    folder: Path = Path("multirun/stress_benchmark")
    store: Path = Path("outputs/store")

    def __post_init__(self) -> None:
        if self.episodes < _LEAST_EPISODES:
            raise UserError(f"`--episodes` must be at least {_LEAST_EPISODES}, got {self.episodes}")
        split(self.reference)
        for name in self.policies:
            if name not in zoo.recipes():
                raise UserError(f"`--policies`: the zoo has no `{name}`; {nearest(name, zoo.recipes())}")
            zoo.read_card(name)

    @property
    def names(self) -> list[str]:
        """The policies that are measured."""
        return list(self.policies) or [name for name in _options() if zoo.is_shipped(name)]

    @property
    def untrained(self) -> list[str]:
        """The policies of the zoo that would be measured if they were trained."""
        return [] if self.policies else [name for name in _options() if not zoo.is_shipped(name)]

    @property
    def seeing(self) -> list[str]:
        """The policies of the zoo that are left out because they see pictures."""
        return [] if self.policies else [name for name in _all_options() if _sees_pictures(name)]

    @property
    def command(self) -> str:
        """The command that writes this page.

        Example:
            >>> BenchmarkPlan().command
            'brittlestar stress-benchmark'
            >>> BenchmarkPlan(("cartpole_ppo",), episodes=30, seeds=(0,)).command
            'brittlestar stress-benchmark --episodes 30 --seeds 0 --policies cartpole_ppo'
        """
        words = COMMAND.split()
        for name in ("episodes", "reference", "seeds", "policies"):
            value = getattr(self, name)
            if value != getattr(BenchmarkPlan, name):
                words += [f"--{name}", ",".join(map(str, value)) if isinstance(value, tuple) else str(value)]
        return shlex.join(words)

    def words(self) -> list[str]:
        """Returns the words of `brittlestar` that run the sweep."""
        third = self.episodes // 3
        policies = [f"policy={','.join(f'zoo/{name}' for name in self.policies)}"] if self.policies else []
        return [
            "-m", f"experiment={EXPERIMENT}", *policies, f"episodes={self.episodes}",
            f"study.reference={self.reference}", f"seed={','.join(map(str, self.seeds))}", "++policy.training=${seed}",
            f"stress_schedule.pre={third}", f"stress_schedule.shock={third}",
            f"store={self.store}", f"hydra.sweep.dir={self.folder}",
        ]  # fmt: skip

    def size(self) -> str:
        """Returns how many cells there are.

        Example:
            >>> BenchmarkPlan(("cartpole_ppo", "cartpole_dqn"), seeds=(0,)).size()
            '2 policies x 8 stressors x 1 seed x 2 modes = 32 cells, and 4 reference passes'
        """
        policies, seeds = counted(len(self.names), "policy", "policies"), counted(len(self.seeds), "seed")
        passes = len(self.names) * len(self.seeds) * 2
        cells = f"{policies} x {STRESSORS} stressors x {seeds} x 2 modes = {passes * STRESSORS} cells"
        return f"{cells}, and {passes} reference passes"


def _options() -> list[str]:
    return [name for name in _all_options() if not _sees_pictures(name)]


def _all_options() -> list[str]:
    """Returns what `glob(zoo/*)` matches: every policy of the zoo, with one of its trainings."""
    return [option for option in zoo.zoo_options() if "/" not in option]


def _sees_pictures(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in PICTURES)
