"""What `--help` prints: read from the yaml files, without starting Hydra."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from brittlestar.config import GROUPS, config_folder, options
from brittlestar.errors import UserError, nearest

_HEAD = """\
brittlestar measures how a trained policy breaks.

  python run.py [key=value ...]        evaluate one cell
  python run.py -m [key=a,b,c ...]     evaluate a grid: tables, plot and report

Examples
  python run.py perturbation.sigma=0.1 episodes=20
  python run.py -m perturbation.sigma=0,0.05,0.1 seed=0,1,2
  python run.py -m env=cartpole policy=random perturbation.sigma=0,0.5 lanes=32
  python run.py -m perturbation=gaussian_action perturbation.sigma=0.5 mitigation=none,low_pass
  python run.py -m experiment=fetch_reach_observation
"""

_TAIL = """\
Flags
  -m, --multirun            sweep everything that has several values
  --cfg job                 print the composed config and stop
  --config-dir DIR          add your own yaml files
  hydra/launcher=NAME       cells (default: joblib workers on all cores; hydra.launcher.n_jobs=N), or any Hydra launcher
  hydra.sweep.dir=DIR       where a sweep writes (default: multirun/<date>/<time>)
  --list GROUP [OPTION]     print the options of a group with their effect and parameters
  --hydra-help              Hydra's own flags

Then
  python scripts/aggregate.py DIR [DIR ...]    tables again, also of several sweeps together
  python scripts/compare.py DIR_A DIR_B        is A more robust than B?
  python scripts/leaderboard.py DIR [DIR ...]  agents of stress studies, ranked
  python scripts/plan.py --rate 0.8 --margin 0.05    how many episodes?
"""


def help_text() -> str:
    """Returns the help: usage, groups with their options, keys with their defaults."""
    folder = config_folder()
    parts = [_HEAD]
    for group in (*GROUPS, "study", "experiment"):
        parts.append(_group(folder / group, _defaults(folder).get(group)))
    return "\n".join([*parts, _keys(folder), _TAIL])


def train_help() -> str:
    """Returns the help of training."""
    folder = config_folder()
    head = """\
python train.py [key=value ...] trains a policy, or goes on with it; -m sweeps. Any option of `env`, `perturbation`,
`mitigation` and `stress_schedule` (see `run.py --list GROUP`), and any argument of the algorithm's class as
`+algo.options.NAME=VALUE`.
"""
    return "\n".join([head, _group(folder / "algo", "sac_her"), _keys(folder, "train")])


def harden_help() -> str:
    """Returns the help of hardening."""
    folder = config_folder()
    head = """\
python scripts/harden.py policy=NAME [key=value ...] measures the degradation curve of a policy, chooses the strength to
train at, retrains under it, and compares both curves on the same episodes. Stopped at any moment, the same command
goes on. Any option of `env`, `policy`, `perturbation`, `mitigation`, `stress_schedule` (see `run.py --list GROUP`) and
`algo`.

Examples
  python scripts/harden.py env=cartpole policy=sb3 policy.path=my/model.zip perturbation=gaussian_observation
  python scripts/harden.py policy=p_controller perturbation=delayed_action levels=[0,1,2,3] algo=sac_her steps=100000
"""
    return "\n".join([head, _group(folder / "algo", None), _keys(folder, "harden")])


def list_text(group: str, option: str | None = None, extra: Sequence[Path] = ()) -> str:
    """Returns the options of a config group, each with its one-line effect and its parameters.

    Args:
        group: `perturbation`, `mitigation`, ...
        option: only this one, with what each parameter means.
        extra: more config folders than that of the package.
    """
    groups = [*GROUPS, "study", "algo", "experiment"]
    if group not in groups:
        raise UserError(f"`--list {group}`: there is no such group; {nearest(group, groups)}")
    folders = [config_folder(), *_entry_points(), *extra]
    found = {name: path for folder in folders for name, path in options(group, folder).items()}
    if option is None:
        lines = [f"{name}\n    {_summary(path)}\n{_parameters(path)}".rstrip() for name, path in sorted(found.items())]
        return "\n".join([*lines, f"\n`--list {group} NAME` explains the parameters of one."])
    if option not in found:
        raise UserError(f"`--list {group} {option}`: there is no such option; {nearest(option, found)}")
    return f"# python run.py {group}={option}\n{found[option].read_text().rstrip()}"


def _parameters(path: Path) -> str:
    lines = [line for line in path.read_text().splitlines() if re.match(r"[a-z]\w*:", line)]
    given = [f"{key}={value.strip()}" for key, _, value in (line.partition(":") for line in lines) if value.strip()]
    return "    " + "  ".join(given) if given else ""


def _entry_points() -> list[Path]:
    """Returns the config folders of other packages, which name themselves by an entry point."""
    from importlib.metadata import entry_points
    from importlib.util import find_spec

    found = [find_spec(entry.value) for entry in entry_points(group="brittlestar.conf")]
    return [Path(place) for spec in found if spec for place in spec.submodule_search_locations or ()]


def _group(folder: Path, default: str | None) -> str:
    lines = [f"{folder.name}="]
    for path in sorted(folder.glob("*.yaml")):
        mark = "*" if path.stem == default else " "
        lines.append(f" {mark} {path.stem:<26}{_summary(path)}")
    if folder.name == "policy":
        lines.append(f"   {'zoo/NAME':<26}A policy of the zoo, in its environment; `python scripts/zoo.py` lists them.")
    return "\n".join(lines) + "\n"


def _summary(path: Path) -> str:
    for line in path.read_text().splitlines():
        if line.startswith("#") and "@package" not in line:
            return line.removeprefix("#").strip()
    return ""


def _defaults(folder: Path) -> dict[str, str]:
    lines = (folder / "config.yaml").read_text().splitlines()
    pairs = [line.removeprefix("  - ").partition(": ") for line in lines if line.startswith("  - ")]
    return {key: value for key, _, value in pairs}


def _keys(folder: Path, name: str = "config") -> str:
    lines, comment = ["Keys (and everything inside a group: `env.max_steps=20`)"], []
    for line in (folder / f"{name}.yaml").read_text().partition("\n\n")[2].partition("\nhydra:")[0].splitlines():
        if line.startswith("#"):
            comment.append(line.removeprefix("#").strip())
        elif ":" in line:
            key, _, value = line.partition(": ")
            lines.append(f"   {key + '=' + value:<29}{' '.join(comment)}")
            comment = []
    return "\n".join(lines) + "\n"
