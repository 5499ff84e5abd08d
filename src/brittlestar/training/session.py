"""One training: started or resumed, saved, scored."""

from __future__ import annotations

import dataclasses
import functools
import gc
import importlib.util
import json
import platform
import tempfile
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from brittlestar.cells.files import write_file
from brittlestar.cells.identity import versions
from brittlestar.checkpoints.file_names import POLICY, STATISTICS
from brittlestar.errors import Interrupted, UserError
from brittlestar.policies.base import Policy
from brittlestar.policies.sb3 import Sb3Policy
from brittlestar.training.algorithms import Algorithm
from brittlestar.training.coach import Coaching
from brittlestar.training.export import export_policy, import_policy
from brittlestar.training.fast_linear import speed_up
from brittlestar.training.folder import CURVE, METADATA, drop_curve_after, find_checkpoints, write_checkpoint
from brittlestar.training.normalising import network_view
from brittlestar.training.replay import load_replay, save_replay
from brittlestar.training.scorer import Scorer
from brittlestar.training.scores import mean_scores, score_intervals
from brittlestar.training.spec import TrainingSpec
from brittlestar.training.stopping import StopRequest
from brittlestar.training.vec_env import LaneVecEnv

_MODEL = "model.zip"


class Session:
    """Trains in a folder, from the last checkpoint there if it has one.

    The folder gets:

    - `last/`: model, replay buffer and statistics,
    - `best/` and `final/`: the acting network alone, with its statistics,
    - `curve.jsonl`: scores at the checkpoints,
    - `logs/`: curves for TensorBoard.
    """

    def __init__(self, spec: TrainingSpec, folder: Path) -> None:
        self.spec, self.folder, self.algo = spec, folder, spec.algo
        self.stop = StopRequest()
        self.scorer = Scorer(spec, folder)
        self.lanes = LaneVecEnv(spec, self.scorer.calibrate)
        self.progress: dict[str, Any] = {"steps": 0, "seconds": 0.0, "best": None}
        self.coaching: Coaching | None = None
        self.notes: list[str] = []
        """What the user should know about how the training continues."""
        self._logs = str(folder / "logs") if importlib.util.find_spec("tensorboard") is not None else None
        self.algo.prepare(spec, folder, self.scorer.calibration)
        try:
            self.model = self._open()
            speed_up(self.model.policy)
            self._refuse_unusable()
        except UserError:
            self.close()
            raise
        self.first_step = int(self.progress["steps"])
        self.opened = self._started = time.monotonic()
        # What was imported lives until the end: the garbage collector need not visit it again and again.
        gc.freeze()

    def _open(self) -> Any:
        """Returns the model of the last whole checkpoint, else one with the best network so far, else a new one."""
        for folder, progress in find_checkpoints(self.folder / "last", self.notes):
            try:
                return self._resume(folder, progress)
            except UserError:
                raise
            except Exception as error:
                # A checkpoint without digests, of an earlier version.
                self.notes.append(f"{folder} cannot be loaded: {type(error).__name__}: {' '.join(str(error).split())}")
        model = self.algo.make(network_view(self.lanes, self.spec), self.spec.seed, self._logs, self._defer)
        if self.notes:
            model = self._recover(model)
        return self._coached(model)

    def _resume(self, folder: Path, progress: dict[str, Any]) -> Any:
        self.lanes.next_episode = progress["episodes"]
        env = network_view(self.lanes, self.spec, folder / STATISTICS)
        model = self.algo.load(folder / _MODEL, env, self._logs, self._defer)
        load_replay(model, folder)
        # Another stream than before, so that the resumed part does not repeat the first one's choices.
        model.set_random_seed(self.spec.seed + progress["steps"])
        self.progress = progress
        return self._coached(model, folder)

    def _recover(self, model: Any) -> Any:
        """Gives a new model the acting network of `best`, where the last checkpoint is damaged."""
        self.lanes.next_episode = 0
        for folder, progress in find_checkpoints(self.folder / "best", self.notes):
            if "episodes" in progress:
                self.lanes.next_episode, self.progress = progress["episodes"], progress
                model.set_env(network_view(self.lanes, self.spec, folder / STATISTICS))
                import_policy(model, folder / POLICY)
                self.algo.after_load(model)
                model.set_random_seed(self.spec.seed + progress["steps"])
                break
        drop_curve_after(self.folder, int(self.progress["steps"]))
        place = "from its network in `best`, with a new optimizer" if self.progress["steps"] else "anew"
        self.notes.append(f"the training continues {place} at step {self.progress['steps']:,}")
        return model

    def _coached(self, model: Any, checkpoint: Path | None = None) -> Any:
        if self.algo.coach is not None:
            self.coaching = Coaching(self.algo.coach, model, self.spec.seed)
            self.lanes.on_actions = self.coaching.ask
            if checkpoint is not None:
                self.coaching.load(checkpoint)
        return model

    def _refuse_unusable(self) -> None:
        """Refuses a network that cannot be evaluated from its weights, before it is trained."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / POLICY
            export_policy(self.model, file)
            try:
                Sb3Policy(str(file))
            except UserError as error:
                reason = str(error).partition(": ")[2].partition(";")[0]
                other = "train it with Stable-Baselines3 or rl-zoo, and evaluate the file with `policy.trust=true`"
                where = f"`algo={self.algo.name}` in {self.spec.env.id}"
                raise UserError(f"{where} cannot be evaluated from its weights alone: {reason}; {other}") from None

    def _defer(self, learn: Callable[..., None], gradient_steps: int, **kwargs: Any) -> None:
        """Postpones an update of the networks until the simulators run, on the other core."""
        update = learn if self.coaching is None else functools.partial(self.coaching.train, learn)
        self.lanes.meanwhile = functools.partial(update, gradient_steps, **kwargs)

    def run(self, on_step: Callable[[Session], None] = lambda session: None) -> dict[str, Any]:
        """Trains to the end and returns the metadata; calls `on_step` after every step of all environments."""
        self.scorer.save_calibration()
        left = self.algo.steps - self.progress["steps"]
        if left > 0:
            self.model.num_timesteps = self.progress["steps"]
            # Only here is there something to save first: a signal during the final scoring ends it at once.
            with self.stop:
                callback = functools.partial(self._after_step, on_step)
                self.model.learn(left, callback=callback, reset_num_timesteps=False, tb_log_name="run")
                self.save()
                self.model.logger.dump(self.model.num_timesteps)
        if self.stop.received:
            raise Interrupted(self.stop.received, f"stopped after {self.model.num_timesteps:,} steps")
        return self._finish()

    def _after_step(self, on_step: Callable[[Session], None], *_: Any) -> bool:
        """Saves when a checkpoint is due; returns whether the training continues."""
        steps, every = self.model.num_timesteps, self.spec.save_every
        # The last checkpoint is written after the last update.
        if self.progress["steps"] // every < steps // every and steps < self.algo.steps:
            self.save()
        on_step(self)
        return not self.stop.received

    @property
    def seconds(self) -> float:
        """Wall time so far, over all runs of the command."""
        return float(self.progress["seconds"]) + time.monotonic() - self._started

    def save(self) -> None:
        """Writes a checkpoint, scores it, keeps it if it is the best so far, and logs the scores."""
        policy = Sb3Policy(str(self._export("scratch")))
        scores = mean_scores(self.scorer.rows(policy, max(5, self.spec.episodes // 5)))
        losses = self.algo.losses(self.model)
        best = self.progress["best"]
        steps, seconds = int(self.model.num_timesteps), self.seconds
        self._started = time.monotonic()
        self.progress |= {"steps": steps, "seconds": seconds, "episodes": self.lanes.next_episode}
        if best is None or scores["return"] >= best:
            self.progress["best"] = scores["return"]
            self._export("best")
        write_checkpoint(self.folder / "last", self._write, self.progress)
        with (self.folder / CURVE).open("a") as file:
            file.write(json.dumps({"steps": steps, "seconds": round(seconds, 1)} | scores | losses) + "\n")
        for group, values in (("rollout", self.lanes.recent()), ("evaluation", scores | losses)):
            for name, value in values.items():
                self.model.logger.record(f"{group}/{name}", value)

    def _write(self, folder: Path) -> None:
        self.model.save(folder / _MODEL)
        save_replay(self.model, folder)
        if self.coaching is not None:
            self.coaching.save(folder)
        self._write_statistics(folder)

    def _write_statistics(self, folder: Path) -> None:
        if self.algo.normalise:
            self.model.get_vec_normalize_env().save(str(folder / STATISTICS))

    def _export(self, name: str) -> Path:
        def save(folder: Path) -> None:
            export_policy(self.model, folder / POLICY)
            self._write_statistics(folder)

        steps = {"steps": int(self.model.num_timesteps)}
        write_checkpoint(self.folder / name, save, self.progress if name == "best" else steps)
        return self.folder / name / POLICY

    def _finish(self) -> dict[str, Any]:
        policy, scorer, episodes = Sb3Policy(str(self._export("final"))), self.scorer, self.spec.episodes
        facts = {
            "env": self.spec.env.id,
            "algorithm": self.algo.name,
            "settings": _settings(self.algo),
            "perturbation": _described(self.spec.parts.perturbation),
            "mitigation": _described(self.spec.parts.mitigation),
            "stress_schedule": _described(self.spec.parts.schedule),
            "calibration": scorer.calibration_values(),
            "steps": int(self.model.num_timesteps),
            "seconds": round(self.progress["seconds"], 1),
            "seed": self.spec.seed,
            "versions": _versions(),
            "clean": score_intervals(scorer.rows(policy, episodes, clean=True)),
            "disturbed": score_intervals(scorer.rows(policy, episodes)) if scorer.is_disturbed else None,
        }
        write_file(self.folder / METADATA, json.dumps(facts, indent=2, default=str) + "\n")
        return facts

    def close(self) -> None:
        """Closes the environments."""
        gc.unfreeze()
        self.lanes.close()
        self.scorer.close()


def _settings(algo: Algorithm) -> dict[str, Any]:
    policies = {name: _described(value) for name, value in vars(algo).items() if isinstance(value, Policy)}
    return dataclasses.asdict(algo) | policies


def _described(part: Any) -> dict[str, Any]:
    return {"class": type(part).__name__} | {key: value for key, value in vars(part).items() if not key.startswith("_")}


def _versions() -> dict[str, str]:
    learners = {name: metadata.version(name) for name in ("stable-baselines3", "sb3-contrib", "torch")}
    return versions() | learners | {"python": platform.python_version()}
