"""Diagnoses a policy, retrains it under a perturbation and verifies: `brittlestar harden policy=NAME`."""

from __future__ import annotations

import os
import sys
from typing import Any

from brittlestar.commands.run import expand_arguments, run_hydra
from brittlestar.commands.terminal import quiet_end
from brittlestar.errors import UserError


@quiet_end
def main() -> None:
    """Hardens one policy, or a grid with `-m`."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        from brittlestar.commands.help import harden_help

        print(harden_help())
        return
    # As in run.py: cells keep to one core each, and never depend on BLAS threads.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    sys.path.append(os.getcwd())
    expand_arguments()
    errors: list[str] = []

    def task(config: Any) -> None:
        from hydra.core.hydra_config import HydraConfig

        from brittlestar.config import plain_config
        from brittlestar.studies.hardening.harden import harden

        choices = {k: v for k, v in HydraConfig.get().runtime.choices.items() if not k.startswith("hydra/")}
        try:
            harden(plain_config(config), choices)
        except UserError as error:
            errors.append(str(error))

    from brittlestar.studies.hardening.schema import HardenConfig

    run_hydra(task, "harden", HardenConfig)
    if errors:
        sys.stderr.write("".join(f"brittlestar: {error}\n" for error in errors))
        sys.exit(1)
