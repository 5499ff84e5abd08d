"""What a gate writes: lines for the terminal, JSON, JUnit XML and Markdown."""

import json
import math
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from brittlestar.cells.files import make_folder
from brittlestar.errors import UserError, counted
from brittlestar.reports.gate_names import GATE_JSON, GATE_MD, GATE_XML
from brittlestar.results.format import bounded, markdown
from brittlestar.results.gate import (
    FAILED_GATE,
    NOT_DECIDED,
    NOT_MEASURED,
    PASSED,
    WORST_FIRST,
    GateCheck,
    GatedRequirement,
    gate_status,
)

_STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
"""Environment variable of GitHub Actions: a file whose Markdown it shows on the page of a run."""
_WIDTH = max(map(len, WORST_FIRST))
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_gate(results: list[GatedRequirement], folder: Path) -> None:
    """Writes a gate as JSON, JUnit XML and Markdown, and shows the latter on the page of a GitHub run."""
    page = gate_markdown(results)
    try:
        make_folder(folder)
        (folder / GATE_JSON).write_text(json.dumps(gate_record(results), indent=1) + "\n")
        (folder / GATE_XML).write_bytes(junit_xml(results))
        (folder / GATE_MD).write_text(page)
    except OSError as error:
        raise UserError(f"cannot write to {folder}: {error.strerror or error}") from None
    if os.environ.get(_STEP_SUMMARY):
        try:
            with open(os.environ[_STEP_SUMMARY], "a") as file:
                file.write(f"{page}\n")
        except OSError as error:
            sys.stderr.write(f"brittlestar: note: cannot write the summary of GitHub: {error}\n")


def gate_lines(results: list[GatedRequirement]) -> str:
    """Returns a gate for the terminal: its status, and a line for each requirement and curve."""
    lines = [f"gate: {_head(results)}"]
    for result in results:
        for check in result.checks:
            where = f" ({check.curve})" if check.curve else ""
            lines.append(f"  {check.status:<{_WIDTH}}  {result.requirement.text}{where}: {finding(check)}")
    return "\n".join(lines)


def finding(check: GateCheck) -> str:
    """Returns the value with its interval, and what would decide it; the reason, if it was not measured."""
    if check.status == NOT_MEASURED:
        return check.message
    text = bounded(check.value, check.low, check.high, missing="beyond the last level")
    if check.status != NOT_DECIDED:
        return text
    return f"{text}; {check.message or _more(check)}"


def _more(check: GateCheck) -> str:
    if check.more_episodes is None:
        return "too close to the bound for any reasonable number of episodes"
    more = f"{check.more_episodes:,} more episodes per level"
    more = f"{counted(check.more_seeds, 'more seed')}, {more}," if check.more_seeds else more
    return f"about {more} would decide it"


def gate_record(results: list[GatedRequirement]) -> dict[str, Any]:
    """Returns a gate as plain data; an infinite number is text."""
    return {
        "status": gate_status(results),
        "requirements": [
            {
                "require": result.requirement.text,
                "status": result.status,
                "checks": [{key: _plain(value) for key, value in asdict(check).items()} for check in result.checks],
            }
            for result in results
        ],
    }


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def gate_markdown(results: list[GatedRequirement]) -> str:
    """Returns a gate as Markdown."""
    rows = [
        {
            "status": check.status if check.status == PASSED else f"**{check.status}**",
            "requirement": _code(result.requirement.text),
            "curve": _code(check.curve) if check.curve else "",
            "value [interval]": _in_one_line(finding(check)),
        }
        for result in results
        for check in result.checks
    ]
    columns = [c for c in ("status", "requirement", "curve", "value [interval]") if any(row[c] for row in rows)]
    return f"## Gate: {_head(results)}\n\n{markdown(rows, columns)}\n"


def junit_xml(results: list[GatedRequirement]) -> bytes:
    """Returns a gate in the XML of JUnit: a test for each requirement and curve.

    A failed one is a `failure`. One that is not decided, or not measured, is an `error` of this type.
    """
    checks = [(result.requirement.text, check) for result in results for check in result.checks]
    kinds = Counter(check.status for _, check in checks)
    failures = kinds[FAILED_GATE]
    counts = {
        "tests": str(len(checks)),
        "failures": str(failures),
        "errors": str(len(checks) - failures - kinds[PASSED]),
        "skipped": "0",
        "time": "0",
    }
    root = ElementTree.Element("testsuites", counts | {"name": "brittlestar"})
    suite = ElementTree.SubElement(root, "testsuite", counts | {"name": "gate"})
    for requirement, check in checks:
        name = f"{requirement} ({check.curve})" if check.curve else requirement
        case = ElementTree.SubElement(suite, "testcase", {"classname": "gate", "name": _xml(name), "time": "0"})
        if check.status != PASSED:
            attributes = {"type": check.status, "message": _xml(f"{check.status}: {finding(check)}")}
            entry = ElementTree.SubElement(case, "failure" if check.status == FAILED_GATE else "error", attributes)
            entry.text = _xml(check.method or check.message)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)


def _head(results: Iterable[GatedRequirement]) -> str:
    results = list(results)
    kinds = Counter(result.status for result in results)
    counts = ", ".join(f"{kinds[status]} {status}" for status in reversed(WORST_FIRST) if kinds[status])
    return f"{gate_status(results)} ({counts} of {len(results)})"


def _xml(text: str) -> str:
    """Leaves out control characters, which XML cannot hold."""
    return _NOT_XML.sub("", text)


def _code(text: str) -> str:
    return f"`{_in_one_line(text.replace('`', chr(39)))}`"


def _in_one_line(text: str) -> str:
    return " ".join(text.split())
