"""Trains what a config describes, in a folder of its own."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TextIO

from brittlestar.cells.files import write_file
from brittlestar.checkpoints.file_names import POLICY
from brittlestar.config.hints import env_option
from brittlestar.engine.cores import cores
from brittlestar.envs.ids import plain_env
from brittlestar.envs.pixels import as_overrides
from brittlestar.errors import UserError
from brittlestar.sweeps.deferred import Deferral, current_deferral
from brittlestar.sweeps.progress import LiveLine, clock
from brittlestar.training.folder import METADATA, RESOLVED_CONFIG, exclusive, is_finished, training_folder
from brittlestar.training.job import TrainingJob
from brittlestar.training.scores import score_line
from brittlestar.training.session import Session
from brittlestar.training.spec import TrainingSpec

LOG_SECONDS = 10.0
"""Shortest time between two lines of progress in a stream that is not a terminal."""
LOG_SHARE = 0.05
"""Smallest share of the training between two such lines."""


def train(config: dict[str, Any], share: int | None = None, name: str = "") -> Path:
    """Trains what a resolved config describes, or continues from its last checkpoint, and returns the folder.

    It uses `share` cores, all by default, and prints `name` with its progress, where several trainings run at once. A
    launcher may have it run on a cluster, see `sweeps.deferred`.
    """
    folder, deferral = training_folder(config), current_deferral()
    is_new = deferral is not None and deferral.has_done(str(folder.absolute()))
    if not is_finished(folder):
        spec = TrainingSpec.build(config, share or cores())
        if deferral is not None:
            _leave_to(deferral, spec, config, folder)
        is_new = _train_here(spec, config, folder, share, name)
    if is_new:
        _print_result(folder, plain_env(config["env"]))
    else:
        print(f"done before: {folder}")
    return folder


def _train_here(spec: TrainingSpec, config: dict[str, Any], folder: Path, share: int | None, name: str) -> bool:
    """Trains on this machine; returns whether another process had not trained it meanwhile."""
    set_threads(share)
    with exclusive(folder.absolute()) as home:
        is_new = not is_finished(home)
        if is_new:
            run_session(spec, config, home, live_line(name))
    return is_new


def _leave_to(deferral: Deferral, spec: TrainingSpec, config: dict[str, Any], folder: Path) -> NoReturn:
    """Leaves a training to a cluster; one that the cluster has run, and that has no result, has failed."""
    simulator = spec.env.simulator(False, spec.parts.perturbation.needs_world)
    (outcome,) = deferral.need([TrainingJob(config, folder.absolute(), deferral.call, simulator)])
    raise UserError(outcome.error)


def _print_result(folder: Path, env: dict[str, Any]) -> None:
    facts = json.loads((folder / METADATA).read_text())
    print(f"\n{facts['env']}, {facts['algorithm']}, {facts['steps']:,} steps in {facts['seconds']:.0f} s")
    for kind in ("clean", "disturbed"):
        if facts[kind]:
            print(f"{kind}: {score_line(facts[kind])}")
    policy, pixels = folder / "final" / POLICY, as_overrides(env.get("pixels") or {})
    words = " ".join([env_option(facts["env"], env.get("module")), *pixels])
    print(f"policy {policy}\nrun it: brittlestar {words} policy=sb3 policy.path={policy}")


def run_session(spec: TrainingSpec, config: dict[str, Any], folder: Path, on_step: Callable[[Session], None]) -> None:
    """Trains in a folder that this process has for itself, to the end or to a signal."""
    session = Session(spec, folder)
    try:
        for note in session.notes:
            print(f"note: {note}", flush=True)
        # After `Session`, so that a training that it refuses leaves no folder.
        write_file(folder / RESOLVED_CONFIG, json.dumps(config, indent=2) + "\n")
        session.run(on_step)
    finally:
        session.close()


def live_line(name: str = "", stream: TextIO | None = None) -> Callable[[Session], None]:
    """Returns a function that writes steps, recent success or return, and the time left to the standard error.

    A terminal gets one line that changes. Another stream, or a training with a name, gets a line now and then.
    """
    line, prefix = LiveLine(stream, LOG_SECONDS, live=not name), f"{name}: " if name else ""
    last_share = 0.0

    def show(session: Session) -> None:
        nonlocal last_share
        steps, total = int(session.model.num_timesteps), session.algo.steps
        if not line.is_due or (not line.live and steps / total < last_share + LOG_SHARE):
            return
        last_share = steps / total
        left = max(0, total - steps) * (time.monotonic() - session.opened) / max(steps - session.first_step, 1)
        line.draw(f"{prefix}{steps:,}/{total:,} steps{_recent_score(session)}, {clock(left)} left")

    return show


def _recent_score(session: Session) -> str:
    recent, count = session.lanes.recent(), len(session.lanes.ended)
    if not recent:
        # A model that learns from recordings has no episodes of its own.
        return f", {session.model.status}" if hasattr(session.model, "status") else ""
    score = f"success {recent['success']:.0%}" if "success" in recent else f"return {recent['return']:.4g}"
    return f", {score} of the last {count} episodes"


def set_threads(share: int | None = None) -> None:
    """Gives half of a share of the cores to the networks; more hardly help networks as small as these."""
    import torch

    torch.set_num_threads(max(1, (share or cores()) // 2))
