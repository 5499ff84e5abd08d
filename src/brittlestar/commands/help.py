"""The text of `--help` and `list`, read from the yaml files without starting Hydra."""

import re
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from brittlestar.commands.terminal import HELP_WIDTH
from brittlestar.config import GROUPS, SWEEP_GROUPS, config_folder, options
from brittlestar.errors import MissingFileError, UserError, nearest
from brittlestar.reports.option_notes import option_summary, package_folders

COMMANDS = {
    "run": "Evaluate a policy: one cell, or a sweep with -m. The default command.",
    "train": "Train a policy, with or without a perturbation.",
    "harden": "Measure where a policy breaks, retrain it under that perturbation, and compare both.",
    "serve": "Offer a policy to other programs by a websocket.",
    "aggregate": "Write tables, plots and report again, of one sweep or of several.",
    "watch": "Show a sweep that runs elsewhere, with partial tables, until it ends.",
    "compare": "Test whether policy A is more robust than policy B.",
    "gate": "Judge requirements on a sweep by their intervals, for CI: passed, failed or not decided.",
    "diff": "List what became worse or better between two sweeps of one study.",
    "offline": "Measure policies on recorded episodes, and test whether that predicts their success.",
    "leaderboard": "Rank the agents of stress sweeps.",
    "zoo": "List the trained policies that brittlestar contains; train and check them.",
    "plan": "Compute how many episodes a success rate needs, and draw it.",
    "inspect": "Print what a checkpoint or a recorded sweep contains, without running anything in it.",
    "replay": "Run recorded episodes again, check that they come out bit for bit, and film them.",
    "verify": "Check that the recorded cells of a store or of sweeps are as they were written.",
    "list": "Print the options of a config group and their parameters.",
    "bench": "Measure the speed of brittlestar on this machine.",
    "results": "Measure the Fetch policies of the zoo and write docs/results.md.",
    "stress-benchmark": "Measure the policies of the zoo under stress and write docs/stress_benchmark.md.",
}
"""The commands; each is a module of `brittlestar.commands`."""

_RUN = """\
brittlestar measures how a trained policy breaks.
  brittlestar [run] [key=value ...]       evaluate one cell
  brittlestar [run] -m [key=a,b,c ...]    evaluate a sweep and write tables, plots and report
  brittlestar COMMAND --help              explain a command

Commands
{commands}
Examples
  brittlestar perturbation.sigma=0.1 episodes=20
  brittlestar -m perturbation.sigma=0,0.05,0.1 seed=0,1,2
  brittlestar -m env=cartpole policy=random perturbation.sigma=0,0.5 lanes=32
  brittlestar -m perturbation=gaussian_action perturbation.sigma=0.5 mitigation=none,low_pass
  brittlestar -m experiment=fetch_reach_observation
  brittlestar aggregate multirun/first multirun/second

The groups below have these options; * marks the default.
"""

_FLAGS = {
    "-m, --multirun": "Sweep every key that has several values.",
    "--cfg job": "Print the composed config and stop.",
    "--config-dir DIR": "Add your own yaml files.",
    "hydra.sweep.dir=DIR": "Folder of the sweep (default: multirun/<date>/<time>).",
    "hydra/launcher=NAME": "cells (default; hydra.launcher.n_jobs=N workers), slurm, ray, or any launcher of Hydra.",
    "--list GROUP [OPTION]": "The same as `brittlestar list GROUP [OPTION]`.",
    "--version": "Print the version of brittlestar.",
    "--hydra-help": "Print Hydra's own flags.",
    "-sc install=bash": 'Complete by TAB in bash (or fish): eval "$(brittlestar -sc install=bash)"',
}
_SHARED_FLAGS = ("-m, --multirun", "--cfg job", "--config-dir DIR", "--hydra-help")
"""Flags of `train` and `harden`."""

_TRAIN = """\
brittlestar train [key=value ...] trains a policy, or continues a training that was stopped. -m sweeps.

The groups `env`, `perturbation`, `mitigation` and `stress_schedule` have the options of `brittlestar list GROUP`.
`+algo.options.NAME=VALUE` sets any argument of the algorithm's class.

Examples
  brittlestar train env=cartpole algo=ppo
  brittlestar train env=fetch_reach algo=sac_her perturbation=gaussian_observation perturbation.sigma=0.02
"""

_HARDEN = """\
brittlestar harden policy=NAME [key=value ...] makes a policy robust in four steps:
  1. It measures the degradation curve of the policy.
  2. It chooses the strength to train at.
  3. It retrains the policy under that strength.
  4. It measures the curve again on the same episodes, and compares both.

A command that was stopped continues when it is run again. The groups `env`, `policy`, `perturbation`, `mitigation`,
`stress_schedule` and `algo` have the options of `brittlestar list GROUP`.

Examples
  brittlestar harden env=cartpole policy=sb3 policy.path=my/model.zip perturbation=gaussian_observation
  brittlestar harden policy=p_controller perturbation=delayed_action levels=[0,1,2,3] algo=sac_her steps=100000
"""

_SERVE = """\
brittlestar serve policy=NAME [key=value ...] offers a policy by a websocket, until Ctrl-C. The protocol is that of
openpi's policy servers: msgpack frames with arrays, metadata first. `policy=server` is a client of it, and so is the
package openpi-client. http://HOST:PORT/health answers `ok`.

The groups `env` and `policy` have the options of `brittlestar list GROUP`. Most policies bring their environment.

Examples
  brittlestar serve policy=zoo/cartpole_ppo
  brittlestar serve env=half_cheetah policy=sb3 policy.path=my/model.zip port=8001
  env BRITTLESTAR_TOKEN=secret brittlestar serve policy=zoo/fetch_reach_sac_0 host=0.0.0.0
"""

_USAGES = {"train": (_TRAIN, ["algo"]), "harden": (_HARDEN, ["algo"]), "serve": (_SERVE, [])}


def help_text(name: str) -> str:
    """Returns the help of a Hydra app: usage, groups with their options, keys with their defaults."""
    config, flags = name, {key: _FLAGS[key] for key in _SHARED_FLAGS if name != "serve" or "-m" not in key}
    usage, groups = _USAGES.get(name, ("", []))
    if name == "run":
        config, flags, groups = "config", _FLAGS, [*GROUPS, *SWEEP_GROUPS, "experiment"]
        usage = _RUN.format(commands=columns(COMMANDS.items()))
    text = (config_folder() / f"{config}.yaml").read_text()
    options_of_groups = [_group(group, text) for group in groups]
    return "\n".join([usage, *options_of_groups, _keys(text), f"Flags\n{columns(flags.items())}"])


def columns(rows: Iterable[tuple[str, str]]) -> str:
    """Returns names and texts in two columns, the texts wrapped.

    Example:
        >>> print(columns([("a", "First."), ("long_name", "Second.")]), end="")
          a          First.
          long_name  Second.
    """
    rows = list(rows)
    width = max(len(name) for name, _ in rows) + 4
    lines = []
    for name, text in rows:
        first = f"  {name}".ljust(width)
        # A long name or value is not broken: it is one word.
        lines += textwrap.wrap(text, HELP_WIDTH, initial_indent=first, subsequent_indent=" " * width,
                               break_long_words=False, break_on_hyphens=False) or [first.rstrip()]  # fmt: skip
    return "\n".join(lines) + "\n"


def options_text(group: str, option: str | None = None, extra: Sequence[Path] = ()) -> str:
    """Returns the options of a group, each with its effect and parameters, or one option with all its comments.

    `extra` are config folders in addition to that of the package.
    """
    groups = [*GROUPS, *SWEEP_GROUPS, "algo", "experiment"]
    if group not in groups:
        raise UserError(f"there is no group `{group}`; {nearest(group, groups)}")
    folders = [config_folder(), *package_folders(), *extra]
    missing = [folder for folder in extra if not folder.is_dir()]
    if missing:
        raise MissingFileError(f"there is no folder {missing[0]}")
    files = {name: path for folder in folders for name, path in options(group, folder).items()}
    if option is None:
        lines = [f"{name}\n    {_summary(path)}\n{_parameters(path)}".rstrip() for name, path in sorted(files.items())]
        return "\n".join([*lines, f"\n`brittlestar list {group} NAME` explains the parameters of one."])
    if option not in files:
        raise UserError(f"there is no option `{group}={option}`; {nearest(option, files)}")
    return f"# brittlestar {group}={option}\n{files[option].read_text().rstrip()}"


def _parameters(path: Path) -> str:
    lines = [line.partition(":") for line in path.read_text().splitlines() if re.match(r"[a-z]\w*:", line)]
    values = [f"{key}={value.strip()}" for key, _, value in lines if value.strip()]
    return "    " + "  ".join(values) if values else ""


def _group(name: str, config: str) -> str:
    """Returns the options of a group; the text of the config names its default."""
    default = re.search(rf"^  - {name}: (\w+)$", config, re.MULTILINE)
    files = sorted((config_folder() / name).glob("*.yaml"))
    rows = [(f"{'*' if default and path.stem == default[1] else ' '} {path.stem}", _summary(path)) for path in files]
    if name == "policy":
        rows.append(("  zoo/NAME", "A policy of the zoo, in its environment; `brittlestar zoo` lists them."))
    return f"{name}=\n{columns(rows)}"


def _summary(path: Path) -> str:
    return option_summary(path.read_text())


def _keys(config: str) -> str:
    rows, comment = [], []
    for line in config.partition("\n\n")[2].partition("\nhydra:")[0].splitlines():
        if line.startswith("#"):
            comment.append(line.removeprefix("#").strip())
        elif ":" in line:
            rows.append((line.replace(": ", "=", 1), " ".join(comment)))
            comment = []
    return f"Keys, and every key of a group such as `env.max_steps=20`\n{columns(rows)}"
