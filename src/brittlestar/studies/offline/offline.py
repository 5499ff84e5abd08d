"""Measures policies on recorded episodes, and compares the measures with success in closed loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gymnasium import spaces

from brittlestar import __version__
from brittlestar.cells.files import make_folder
from brittlestar.config.build import build
from brittlestar.engine.plan import Plan
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError, counted
from brittlestar.reports.drawing import remove_pictures
from brittlestar.results.format import bounded_column, markdown, text
from brittlestar.results.load import Row
from brittlestar.results.write import write_rows
from brittlestar.studies.offline.agreement import (
    agreement_rows,
    agreement_text,
    agreement_verdict,
    levels_of,
    present_measures,
)
from brittlestar.studies.offline.candidates import Candidates, named_candidates, swept_candidates
from brittlestar.studies.offline.features import MOST_NUMBERS, Features, named_features, observed_numbers
from brittlestar.studies.offline.measures import Bench, measure_policy
from brittlestar.studies.offline.plots import plot_agreement
from brittlestar.sweeps.policy_words import env_node, policy_node
from brittlestar.sweeps.progress import LiveLine
from brittlestar.training.minari_data import check_spaces_fit, read_recording
from brittlestar.training.recorder import RECORDED_SEEDS, record_episodes
from brittlestar.training.recordings import Recording, RecordingWriter

_PICTURE = "offline"


@dataclass
class OfflinePlan:
    """What to measure: see the options of `brittlestar offline`."""

    data: str
    policies: Sequence[str] = ()
    sweep: str | None = None
    env: str | None = None
    features: str | None = None
    episodes: int = 100
    rollouts: bool = True
    out: Path = Path("outputs/offline")
    threads: int = 1


@dataclass
class OfflineResult:
    """The rows of the policies and of the correlations, the verdict and notes."""

    policies: list[Row]
    agreements: list[Row]
    verdict: str
    notes: list[str] = field(default_factory=list)
    picture: Path | None = None
    """Without a suffix; None without points to draw."""

    @property
    def tables(self) -> str:
        """Both tables, as Markdown."""
        measures = present_measures(self.policies)
        columns = dict.fromkeys(name for row in self.policies for name in row)
        names = [*measures, *(name for name in columns if f"{name}_low" in columns and name not in measures)]
        rows = [
            {"policy": row["policy"]} | {name: bounded_column(row, name, ".3g") for name in names}
            for row in self.policies
        ]
        lines = [markdown(rows, ["policy", *names])]
        if self.agreements:
            levels = list(dict.fromkeys(row["level"] for row in self.agreements))
            by_measure: dict[str, Row] = {
                row["measure"]: {"rank correlation": row["measure"]} for row in self.agreements
            }
            for row in self.agreements:
                by_measure[row["measure"]][row["level"]] = agreement_text(row)
            lines.append(markdown(list(by_measure.values()), ["rank correlation", *levels]))
        return "\n\n".join(lines)


def measure_offline(plan: OfflinePlan) -> OfflineResult:
    """Runs the plan, and writes tables, a picture and a report into its folder."""
    recording = read_recording(plan.data, plan.episodes)
    candidates = _candidates(plan)
    bench = _bench(plan, recording, candidates)
    rows = _rows(candidates, bench)
    clean = bench.env.measure if bench.env is not None else None
    curves = {member.name: member.levels for member in candidates.members}
    levels = levels_of(rows, curves, candidates.measure, clean)
    agreements = agreement_rows(rows, levels) if len(rows) > 1 else []
    result = OfflineResult(rows, agreements, agreement_verdict(rows, levels, agreements), bench.notes)
    if bench.floor == bench.floor:
        bench.note(f"`frechet_distance` between two halves of the recorded episodes: {text(bench.floor)}")
    left_out = _write(result, levels, candidates.measure or clean or "success", plan.out)
    result.picture = plan.out / _PICTURE if (plan.out / f"{_PICTURE}.png").is_file() else None
    result.notes += [f"the picture leaves out {', '.join(left_out)}"] if left_out else []
    (plan.out / "report.md").write_text(_report(plan, recording, result))
    return result


def _rows(candidates: Candidates, bench: Bench) -> list[Row]:
    line, rows = LiveLine(), []
    for number, member in enumerate(candidates.members, 1):
        if line.is_due:
            line.draw(f"policy {number} of {len(candidates.members)}: {member.name}")
        rows.append(measure_policy(member, bench))
    line.close(clear=True)
    return rows


def _candidates(plan: OfflinePlan) -> Candidates:
    if plan.sweep is not None:
        return swept_candidates(plan.sweep, plan.policies)
    if not plan.policies:
        raise UserError("name policies by `--policy`, or a finished sweep by `--sweep`")
    return named_candidates(plan.policies, plan.episodes)


def _bench(plan: OfflinePlan, recording: Recording, candidates: Candidates) -> Bench:
    env = _env(plan, recording, candidates) if plan.rollouts or recording.own_spaces is None else None
    seen, acted = recording.own_spaces or (None, None)
    if env is not None:
        made = env.make()
        seen, acted = made.observation_space, made.action_space
        made.close()
    assert isinstance(seen, spaces.Space) and isinstance(acted, spaces.Space)
    check_spaces_fit(recording, seen, acted)
    bench = Bench(recording, _features(plan, recording), seen, acted, env if plan.rollouts else None, plan.threads)
    if bench.features is None:
        bench.note(f"observations have more than {MOST_NUMBERS} numbers: `--features` names what to compare them by")
    for name, other in (("sweep", (candidates.env or {}).get("id")), ("recording", recording.env)):
        if bench.env is not None and other is not None and other != bench.env.id:
            bench.note(f"the {name} is of {other}, the closed loops are of {bench.env.id}")
    return bench


def _features(plan: OfflinePlan, recording: Recording) -> Features | None:
    if plan.features is not None:
        return named_features(plan.features)
    try:
        return observed_numbers(recording.episodes)
    except UserError:
        return None


def _env(plan: OfflinePlan, recording: Recording, candidates: Candidates) -> EnvSpec:
    """Returns the environment: that of the command, of the sweep or of the recording."""
    if plan.env is not None:
        return build(env_node(plan.env), "env")
    if candidates.env is not None:
        return build(candidates.env, "env")
    if recording.env is None:
        raise UserError(f"{recording.name} does not name its environment: add `--env`")
    # An id with a module would import what the file names.
    if ":" in recording.env:
        raise UserError(f"{recording.name} is of {recording.env}: if you trust its module, add `--env {recording.env}`")
    limit = {} if recording.max_steps is None else {"max_steps": recording.max_steps}
    return build(env_node(recording.env) | limit, "env")


def _write(result: OfflineResult, levels: list[Any], success: str, out: Path) -> list[str]:
    make_folder(out)
    try:
        write_rows(result.policies, out / "policies", ["policy"])
        write_rows(result.agreements, out / "agreement", ["measure", "level"])
        success_rows = [
            {"policy": policy, "level": level.name, success: value, f"{success}_low": low, f"{success}_high": high}
            for level in levels
            for policy, (value, low, high) in level.success.items()
        ]
        write_rows(success_rows, out / "levels", ["policy", "level", success])
        remove_pictures(out, _PICTURE)
        return plot_agreement(result.policies, levels, result.agreements, success, out / _PICTURE)
    except OSError as error:
        raise UserError(f"cannot write to {out}: {error.strerror or error}") from None


def _report(plan: OfflinePlan, recording: Recording, result: OfflineResult) -> str:
    steps = sum(map(len, recording.episodes))
    data = f"{counted(len(recording.episodes), 'recorded episode')} ({steps:,} steps) of {recording.name}"
    notes = "\n".join(f"- {note}" for note in result.notes)
    picture = f"![Success against measures on recorded episodes]({_PICTURE}.png)" if result.picture else ""
    parts = ["# Offline and online", f"{result.verdict}.", f"Measured on {data}.", result.tables, notes, picture]
    return "\n\n".join(filter(None, parts)) + "\n"


def record_to_file(policy: str, env: str, episodes: int, seed: int, path: Path, threads: int = 1) -> str:
    """Runs a policy without a perturbation, writes its episodes as one file, and returns its score in a line."""
    spec: EnvSpec = build(env_node(env), "env")
    actor = build(policy_node(policy), "policy")
    plan = Plan(episodes, seed + RECORDED_SEEDS, record="trajectories")
    facts = {"env": spec.id, "max_steps": spec.max_steps, "seed": seed, "policy": policy, "brittlestar": __version__}
    with RecordingWriter(path, facts) as writer:
        rows = record_episodes(spec, Parts(actor), plan, writer.add, threads)
        writer.append("rewards", rows.trajectories["rewards"])
    score = float(rows.column(spec.measure).mean())
    steps = int(rows.column("length").sum())
    return f"{counted(episodes, 'episode')} of {policy} in {spec.id}, {steps:,} steps, {spec.measure} {score:.4g}"
