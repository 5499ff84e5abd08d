"""Which policies are put under stress, how often, and the sweep that does it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from brittlestar.errors import UserError, nearest
from brittlestar.policies.zoo import cards as zoo
from brittlestar.studies.stress.rigorous import split

EXPERIMENT = "stress_benchmark"
COMMAND = "brittlestar stress-benchmark"
PAGE = Path("docs/stress_benchmark.md")
EPISODES, REFERENCE, SEEDS = 120, 300, (0, 1, 2)
"""As the experiment has them."""
STRESSORS, MODES = 8, 2
LEAST_EPISODES = 6
"""Two of each phase: an interval needs two."""


@dataclass(frozen=True)
class Plan:
    """What is measured, and where it goes.

    Attributes:
        policies: names of the zoo; none for all that are trained.
        episodes: per cell, in thirds.
        reference: episodes of a reference pass.
        seeds: of all cells.
        page: the page; its pictures go into a folder of the same name.
        folder: of the sweep, its tables and all figures.
        store: of finished cells.
    """

    policies: tuple[str, ...] = ()
    episodes: int = EPISODES
    reference: int = REFERENCE
    seeds: tuple[int, ...] = SEEDS
    page: Path = PAGE
    folder: Path = Path("multirun/stress_benchmark")
    store: Path = Path("outputs/store")

    def __post_init__(self) -> None:
        if self.episodes < LEAST_EPISODES:
            raise UserError(f"`--episodes` must be at least {LEAST_EPISODES}, got {self.episodes}")
        split(self.reference)
        for name in self.policies:
            if name not in zoo.recipes():
                raise UserError(f"`--policies`: the zoo has no `{name}`; {nearest(name, zoo.recipes())}")
            zoo.read_card(name)

    @property
    def names(self) -> list[str]:
        """The policies that are measured."""
        return list(self.policies) or [name for name in zoo.recipes() if zoo.is_shipped(name)]

    @property
    def missing(self) -> list[str]:
        """The policies of the zoo that would be measured if they were trained."""
        return [] if self.policies else [name for name in zoo.recipes() if not zoo.is_shipped(name)]

    @property
    def is_full(self) -> bool:
        """Whether it is all of the experiment."""
        return self.command == COMMAND

    @property
    def pictures(self) -> Path:
        """Where the pictures of the page are."""
        return self.page.with_suffix("")

    @property
    def command(self) -> str:
        """What makes this page again.

        Example:
            >>> Plan(("cartpole_ppo",), episodes=30, seeds=(0,)).command
            'brittlestar stress-benchmark --episodes 30 --seeds 0 --policies cartpole_ppo'
        """
        options = []
        if self.episodes != EPISODES:
            options += ["--episodes", str(self.episodes)]
        if self.reference != REFERENCE:
            options += ["--reference", str(self.reference)]
        if self.seeds != SEEDS:
            options += ["--seeds", ",".join(map(str, self.seeds))]
        if self.policies:
            options += ["--policies", ",".join(self.policies)]
        return shlex.join([*COMMAND.split(), *options])

    def sweep(self) -> list[str]:
        """Returns the overrides of `brittlestar -m`."""
        third = self.episodes // 3
        chosen = [f"policy={','.join(f'zoo/{name}' for name in self.policies)}"] if self.policies else []
        numbers = [
            f"episodes={self.episodes}",
            f"study.reference={self.reference}",
            f"seed={','.join(map(str, self.seeds))}",
        ]
        phases = [f"stress_schedule.pre={third}", f"stress_schedule.shock={third}"]
        places = [f"store={self.store}", f"hydra.sweep.dir={self.folder}"]
        return ["-m", f"experiment={EXPERIMENT}", *chosen, *numbers, *phases, *places]

    def size(self) -> str:
        """Says how much there is to do.

        Example:
            >>> Plan(("cartpole_ppo", "cartpole_dqn"), seeds=(0,)).size()
            '2 policies x 8 stressors x 1 seeds x 2 modes = 32 cells, and 4 reference passes'
        """
        agents = len(self.names) * len(self.seeds) * MODES
        return (
            f"{len(self.names)} policies x {STRESSORS} stressors x {len(self.seeds)} seeds x {MODES} modes = "
            f"{agents * STRESSORS} cells, and {agents} reference passes"
        )
