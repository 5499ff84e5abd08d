"""A sweep whose policy is behind a server on this machine, against the same sweep with the policy in its workers."""

import contextlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from brittlestar.engine.cores import cores
from brittlestar.sweeps import workers

from .sweeps import SeedSweep
from .timing import Figure, take_turns

_ENV, _LANES = "half_cheetah", 64


def wire(quick: bool) -> list[Figure]:
    """HalfCheetah with an untrained 2x256 actor in 64 lanes, by a server that takes batches."""
    from stable_baselines3 import SAC

    with tempfile.TemporaryDirectory() as folder:
        path, steps = f"{folder}/model.zip", 100 if quick else 300
        SAC("MlpPolicy", "HalfCheetah-v5", seed=0, device="cpu", buffer_size=1).save(path)
        words = (f"env={_ENV}", f"env.max_steps={steps}", f"episodes={_LANES}", f"lanes={_LANES}")
        file = ("policy=sb3", f"policy.path={path}")
        with serving(f"env={_ENV}", *file) as url:
            here, there = (
                SeedSweep(f"{folder}/{name}", 2 * cores(), *words, *policy)
                for name, policy in (("here", file), ("there", ("policy=server", f"policy.url={url}")))
            )
            # The workers start and import.
            here(), there()
            speeds = take_turns(2 if quick else 5, here=here, there=there)
            workers.stop()
    return [
        Figure(f"policy in {cores()} workers", speeds.median("here"), "steps/s"),
        Figure(f"policy behind a server, {cores()} workers", speeds.median("there"), "steps/s"),
        Figure("behind a server / in the workers", speeds.ratio("there", "here"), at_least=0.5),
    ]


@contextlib.contextmanager
def serving(*words: str) -> Iterator[str]:
    """Runs `brittlestar serve` in a process of its own and yields its address."""
    command = [sys.executable, "-m", "brittlestar.commands.main", "serve", *words, "port=0"]
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        assert process.stdout is not None
        try:
            address = re.search(r"ws://\S+", process.stdout.readline())
            if address is None:
                errors.seek(0)
                raise RuntimeError(f"{' '.join(command)} ended: {errors.read()}")
            yield address[0]
        finally:
            process.terminate()
