"""What a search leaves: tables, `search.json`, the front, yaml files of what breaks a policy, and a section."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from brittlestar.cells.files import make_folder, write_file
from brittlestar.reports.drawing import remove_pictures
from brittlestar.reports.sections import Section
from brittlestar.results.format import bounded_column, markdown
from brittlestar.results.load import Row
from brittlestar.results.write import write_rows
from brittlestar.studies.broken_episodes import failure_words
from brittlestar.studies.search.front_plot import draw_fronts, front_chart
from brittlestar.studies.search.plan import RANDOM, SEARCH, SearchOutcome, Settings
from brittlestar.studies.search.tables import front, part_rows, point_rows, ratio, result_rows, search_verdict

RESULT, PICTURE, FOUND = "search.json", "search_front", "found"
RESULTS, PARTS, POINTS = "search_results", "search_parts", "search_points"
_LIMITS = [
    "The search tries a limited number of points: a smaller combination may exist.",
    "The unit of a part is the smallest strength alone that bisection saw to break the policy on the search episodes; "
    "bisection assumes that failures increase with the strength.",
]


def search_section(outcomes: dict[str, SearchOutcome], reasons: list[str], settings: Settings, out: Path) -> Section:
    """Writes the files of a search, and returns its section."""
    results, parts = result_rows(outcomes), part_rows(outcomes)
    tables = {RESULTS: results, PARTS: parts, POINTS: point_rows(outcomes)}
    tables = {name: rows for name, rows in tables.items() if rows}
    for name, rows in tables.items():
        write_rows(rows, out / name)
    yamls = write_found(outcomes, out)
    write_file(out / RESULT, json.dumps(_as_dict(outcomes, yamls), indent=1) + "\n")
    remove_pictures(out, PICTURE)
    shown = {name: outcome for name, outcome in outcomes.items() if any(map(front, outcome.tried.values()))}
    pictures, charts = [PICTURE] * bool(shown), []
    if shown:
        draw_fronts(shown, out / PICTURE)
        charts = [front_chart(shown, pictures)]
    findings = [(name, search_verdict(outcome)) for name, outcome in outcomes.items()]
    body = "\n\n".join(
        filter(None, [_sentences(findings), _results(results), _parts(parts), _use(yamls, out), *reasons])
    )
    return Section(
        "How little does it take", body, pictures, list(tables), _methods(outcomes, settings), _LIMITS, charts, findings
    )


def write_found(outcomes: dict[str, SearchOutcome], out: Path) -> dict[str, str]:
    """Writes each combination as an option of the group `perturbation`; returns its name by policy."""
    folder, names = out / FOUND / "perturbation", dict[str, str]()
    shutil.rmtree(out / FOUND, ignore_errors=True)
    for name, outcome in outcomes.items():
        found = outcome.found.get(SEARCH)
        if found is not None:
            own = re.sub(r"\W+", "_", name).strip("_").lower()
            names[name] = FOUND if len(outcomes) == 1 else f"{FOUND}_{own}"
            make_folder(folder)
            (folder / f"{names[name]}.yaml").write_text(_yaml(name, outcome))
    return names


def _yaml(name: str, outcome: SearchOutcome) -> str:
    import yaml  # type: ignore[import-untyped]

    found = outcome.found[SEARCH]
    assert found is not None
    node = yaml.safe_dump(found.cell.config["perturbation"], sort_keys=False, default_flow_style=None)
    return f"# {name}: {search_verdict(outcome)}.\n{node}"


def _as_dict(outcomes: dict[str, SearchOutcome], yamls: dict[str, str]) -> dict[str, Any]:
    results, parts = result_rows(outcomes), part_rows(outcomes)
    policies = []
    for name, outcome in outcomes.items():
        own = {row["method"]: _without_name(row) for row in results if row["policy"] == name}
        fronts: dict[str, Any] = {
            method: [p.values | {"distance": p.distance, "failure_rate": p.share} for p in front(tried)]
            for method, tried in outcome.tried.items()
        }
        policies.append(
            {
                "policy": name,
                "verdict": search_verdict(outcome),
                "ratio": ratio(outcome),
                "clean_failure_rate": outcome.clean_share,
            }
            | own
            | {"parts": [_without_name(row) for row in parts if row["policy"] == name], "front": fronts}
            | {"perturbation": yamls.get(name)}
        )
    return {"policies": policies}


def _without_name(row: Row) -> Row:
    return {key: value for key, value in row.items() if key not in ("policy", "method")}


def _sentences(findings: list[tuple[str, str]]) -> str:
    return "\n".join(f"- {name}: {text}." for name, text in findings)


def _results(rows: list[Row]) -> str:
    shown = [
        row | {"failures on fresh seeds": bounded_column(row, "failure_rate", ".3f")} for row in rows if row["points"]
    ]
    columns = [
        "policy",
        "method",
        "points",
        "breaking_points",
        "distance",
        "failures on fresh seeds",
        "decision",
        "ratio",
    ]
    return markdown(shown, columns) if shown else ""


def _parts(rows: list[Row]) -> str:
    columns = ["policy", "part", "critical_alone", "breaks_alone", SEARCH, f"{SEARCH}_units", RANDOM, f"{RANDOM}_units"]
    return markdown(rows, columns) if rows else ""


def _use(yamls: dict[str, str], out: Path) -> str:
    lines = [f"`--config-dir {out / FOUND} perturbation={name}`" for name in yamls.values()]
    return f"Apply it by {', '.join(lines)}." if lines else ""


def _methods(outcomes: dict[str, SearchOutcome], settings: Settings) -> list[str]:
    clean = next(iter(outcomes.values())).clean
    words = failure_words(clean, settings.threshold) if clean.done else "there is no clean cell"
    return [
        f"A combination breaks a policy if at least half of its episodes fail; {words}.",
        "The distance is the Euclidean norm of the strengths, each in units of the critical level of its part alone. "
        "Both methods draw strengths from 0 to this level.",
        f"The search is CMA-ES with margin (`cmaes`) over {settings.budget} points on the same episodes, beside "
        f"{settings.budget} uniform random draws. Of each, the nearest of few points that fails in more than half of "
        f"{settings.confirm} episodes on fresh seeds (Wilson's lower bound at 99 %) is chosen, and confirmed on other "
        "fresh seeds, which no choice has used: the rate is unbiased, with Wilson's interval at 95 %.",
    ]
