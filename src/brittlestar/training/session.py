"""One training: made or taken up again, watched, saved, scored."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brittlestar.checkpoints.file_names import STATISTICS
from brittlestar.envs import EnvSpec
from brittlestar.errors import require
from brittlestar.mitigations.base import Mitigation
from brittlestar.perturbations.base import Perturbation
from brittlestar.policies.sb3 import Sb3Policy
from brittlestar.schedules import StressSchedule
from brittlestar.training.algorithms import Algorithm
from brittlestar.training.coach import Coaching
from brittlestar.training.export import export_policy
from brittlestar.training.normalising import normalised
from brittlestar.training.replay import load_replay, save_replay
from brittlestar.training.scores import Scorer, means, with_intervals
from brittlestar.training.slots import find_slot, read_progress, write_slot
from brittlestar.training.stopping import StoppedError
from brittlestar.training.vec_env import LaneVecEnv


@dataclass
class Order:
    """What to train, and how."""

    env: EnvSpec
    algo: Algorithm
    """With the settings of the environment."""
    perturbation: Perturbation
    mitigation: Mitigation
    schedule: StressSchedule
    seed: int = 0
    threads: int = 1
    save_every: int = 20_000
    """Steps between two checkpoints."""
    episodes: int = 100
    """Of the evaluation at the end; a fifth of them at every checkpoint."""

    def __post_init__(self) -> None:
        require(self.seed >= 0, "seed", "at least 0", self.seed)
        require(self.threads >= 1, "threads", "null or at least 1", self.threads)
        require(self.save_every >= 1, "save_every", "at least 1", self.save_every)
        require(self.episodes >= 5, "episodes", "at least 5", self.episodes)


class Session:
    """Trains in a folder; called again, it goes on from the last checkpoint there.

    The folder gets `last/` (model, replay buffer, statistics), `best/` and `final/` (the acting network alone, with
    its statistics), `curve.jsonl` (scores at the checkpoints) and TensorBoard's logs.
    """

    def __init__(self, order: Order, folder: Path) -> None:
        self.order, self.folder = order, folder
        self.algo = order.algo
        self.scorer = Scorer(order, folder)
        self.scores: dict[str, float] = {}
        around = order.perturbation, order.mitigation, order.schedule
        self.lanes = LaneVecEnv(
            order.env, self.algo.envs, order.seed, *around, order.threads, calibrate=self.scorer.calibrate
        )
        self.progress: dict[str, Any] = {"steps": 0, "seconds": 0.0, "best": None}
        self.coaching: Coaching | None = None
        self.asked_to_stop = False
        self.model = self._open()
        self.first_step = int(self.progress["steps"])
        self.opened = self._started = time.monotonic()

    def _open(self) -> Any:
        slot = find_slot(self.folder / "last")
        logs = str(self.folder / "logs") if _has_tensorboard() else None
        if slot is None:
            return self._overlapped(self.algo.make(self._normalised(None), self.order.seed, logs))
        self.progress = read_progress(slot)
        self.lanes.next_episode = self.progress["episodes"]
        env = self._normalised(slot / STATISTICS)
        model = self.algo.load(slot / "model.zip", env, logs)
        load_replay(model, slot)
        # Another stream than before, so that the resumed part does not repeat the first one's choices.
        model.set_random_seed(self.order.seed + self.progress["steps"])
        model = self._overlapped(model)
        if self.coaching is not None:
            self.coaching.load(slot)
        return model

    def _normalised(self, statistics: Path | None) -> Any:
        if not self.algo.normalise:
            return self.lanes
        return normalised(self.lanes, self.order.env, self.algo, statistics)

    def _overlapped(self, model: Any) -> Any:
        """Lets a learner with a replay buffer learn while the simulators run: one update behind, on the other core."""
        if self.algo.off_policy:
            train = model.train
            if self.algo.coach is not None:
                self.coaching = Coaching(self.algo.coach, model, self.order.seed)
                self.lanes.witness = self.coaching.listen
                train = functools.partial(self.coaching.train, train)

            def later(*args: Any, **kwargs: Any) -> None:
                self.lanes.meanwhile = lambda: train(*args, **kwargs)

            model.train = later
        return model

    def run(self, on_step: Any = lambda session: None) -> dict[str, Any]:
        """Trains to the end and returns the metadata.

        Args:
            on_step: called with the session after every step of all environments.
        """
        from brittlestar.training.watch import Watch

        left = self.algo.steps - self.progress["steps"]
        if left > 0:
            self.model.num_timesteps = self.progress["steps"]
            watch = Watch(self, on_step)
            self.model.learn(left, callback=watch, reset_num_timesteps=False, tb_log_name="run")
            self.save()
            watch.log(write=True)
        if self.asked_to_stop and self.model.num_timesteps < self.algo.steps:
            raise StoppedError(int(self.model.num_timesteps))
        return self._finish()

    @property
    def seconds(self) -> float:
        """Wall time so far, over all sittings."""
        return float(self.progress["seconds"]) + time.monotonic() - self._started

    def save(self) -> None:
        """Writes a checkpoint, scores it and keeps it if it is the best so far."""
        scores = self.scores = means(self.scorer.rows(self._policy(), max(5, self.order.episodes // 5)))
        best = self.progress["best"]
        if best is None or scores["return"] >= best:
            self.progress["best"] = scores["return"]
            self._export("best")
        steps, seconds = int(self.model.num_timesteps), self.seconds
        self._started = time.monotonic()
        self.progress |= {"steps": steps, "seconds": seconds, "episodes": self.lanes.next_episode}
        write_slot(self.folder / "last", self._write, self.progress)
        with (self.folder / "curve.jsonl").open("a") as file:
            file.write(json.dumps({"steps": steps, "seconds": round(seconds, 1)} | scores) + "\n")

    def _write(self, folder: Path) -> None:
        # The method that learns later belongs to this process.
        learner = self.model.__dict__.pop("train", None)
        try:
            self.model.save(folder / "model.zip", exclude=["train"])
        finally:
            if learner is not None:
                self.model.train = learner
        save_replay(self.model, folder)
        if self.coaching is not None:
            self.coaching.save(folder)
        if self.algo.normalise:
            self.model.get_env().save(str(folder / STATISTICS))

    def _export(self, name: str) -> Path:
        def save(folder: Path) -> None:
            learner = self.model.__dict__.pop("train", None)
            try:
                export_policy(self.model, folder / "policy.zip")
            finally:
                if learner is not None:
                    self.model.train = learner
            if self.algo.normalise:
                self.model.get_env().save(str(folder / STATISTICS))

        write_slot(self.folder / name, save, {"steps": int(self.model.num_timesteps)})
        return self.folder / name / "policy.zip"

    def _policy(self) -> Sb3Policy:
        """Returns the present policy as an evaluation would load it."""
        return Sb3Policy(str(self._export("scratch")))

    def _finish(self) -> dict[str, Any]:
        policy, scorer, episodes = Sb3Policy(str(self._export("final"))), self.scorer, self.order.episodes
        facts = {
            "env": self.order.env.id,
            "algorithm": self.algo.name,
            "settings": dataclasses.asdict(self.algo),
            "perturbation": _described(self.order.perturbation),
            "mitigation": _described(self.order.mitigation),
            "stress_schedule": _described(self.order.schedule),
            "calibration": scorer.calibrated(),
            "steps": int(self.model.num_timesteps),
            "seconds": round(self.progress["seconds"], 1),
            "seed": self.order.seed,
            "versions": _versions(),
            "clean": with_intervals(scorer.rows(policy, episodes, clean=True)),
            "disturbed": with_intervals(scorer.rows(policy, episodes)) if scorer.is_disturbed else None,
        }
        (self.folder / "metadata.json").write_text(json.dumps(facts, indent=2, default=str) + "\n")
        return facts

    def close(self) -> None:
        """Closes the environments."""
        self.lanes.close()
        self.scorer.close()


def _described(part: Any) -> dict[str, Any]:
    return {"class": type(part).__name__, **{k: v for k, v in vars(part).items() if not k.startswith("_")}}


def _versions() -> dict[str, str]:
    import platform
    from importlib.metadata import version

    from brittlestar.cells.identity import versions

    learners = {name: version(name) for name in ("stable-baselines3", "sb3-contrib", "torch")}
    return versions() | learners | {"python": platform.python_version()}


def _has_tensorboard() -> bool:
    return importlib.util.find_spec("tensorboard") is not None
