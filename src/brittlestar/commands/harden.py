"""Measures where a policy breaks, retrains it under that perturbation, and compares both."""

from typing import Any

from brittlestar.commands.hydra_app import print_help, read_arguments, run_hydra
from brittlestar.commands.terminal import command, use_one_thread


@command
def main() -> None:
    """Hardens one policy, or a grid of policies with `-m`."""
    print_help("harden")
    use_one_thread()
    read_arguments()
    from brittlestar.studies.hardening.schema import HardenConfig

    run_hydra(_harden, "harden", HardenConfig)


def _harden(config: Any) -> None:
    from hydra.core.hydra_config import HydraConfig

    from brittlestar.config import plain_config
    from brittlestar.studies.hardening.harden import harden

    hydra = HydraConfig.get()
    choices = {k: v for k, v in hydra.runtime.choices.items() if not k.startswith("hydra/")}
    harden(plain_config(config), choices, list(hydra.overrides.task))
