from __future__ import annotations

import json
import math
from xml.etree import ElementTree

import pytest

from brittlestar.reports.gate_files import (
    finding,
    gate_lines,
    gate_record,
    write_gate,
)
from brittlestar.reports.gate_names import GATE_JSON, GATE_MD, GATE_XML, forget_gate
from brittlestar.results.gate import GateCheck, GatedRequirement
from brittlestar.results.requirements import parse


@pytest.fixture
def results(monkeypatch):
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    strange = 'policy=<script>|`\x1b\n& "é"'
    texts = ["success_final@0.1 >= 0.5", "critical_interpolated(a) > 0.2", "auc(b) >= auc(a)", "auc(c) >= 1"]
    checks = [
        [GateCheck("", "passed", 0.9, 0.8, 0.95, 100, method="Wilson")],
        [
            GateCheck(strange, "failed", 0.1, 0.05, 0.15, 100, method="bootstrap"),
            GateCheck("policy=b", "passed", None, 0.3, math.inf, 100),
        ],
        [GateCheck("policy=b against policy=a", "not decided", 0.01, -0.1, 0.1, 100, 1200, 4)],
        [GateCheck("", "not measured", message="there is no curve `c`; valid: a, b")],
    ]
    return [GatedRequirement(parse(text), list(group)) for text, group in zip(texts, checks, strict=True)]


def test_the_terminal_shows_a_line_for_each_requirement_and_curve(results):
    lines = gate_lines(results).splitlines()
    assert lines[0] == "gate: not measured (1 passed, 1 not decided, 1 failed, 1 not measured of 4)"
    assert lines[1] == "  passed        success_final@0.1 >= 0.5: 0.9 [0.8, 0.95]"
    more = "about 4 more seeds, 1,200 more episodes per level, would decide it"
    assert lines[-2].endswith(f"(policy=b against policy=a): 0.01 [-0.1, 0.1]; {more}")
    assert lines[-1] == "  not measured  auc(c) >= 1: there is no curve `c`; valid: a, b"


def test_a_value_too_close_to_the_bound_names_no_number():
    check = GateCheck("", "not decided", 0.5, 0.4, 0.6, 100)
    assert finding(check) == "0.5 [0.4, 0.6]; too close to the bound for any reasonable number of episodes"


def test_json_is_valid_and_has_every_check(results, tmp_path):
    write_gate(results, tmp_path / "new")
    record = json.loads((tmp_path / "new" / GATE_JSON).read_text(), parse_constant=pytest.fail)
    assert record == gate_record(results)
    assert record["status"] == "not measured"
    assert [entry["status"] for entry in record["requirements"]] == ["passed", "failed", "not decided", "not measured"]
    assert record["requirements"][1]["checks"][1]["high"] == "inf"


def test_junit_counts_what_it_holds_and_survives_any_name(results, tmp_path):
    write_gate(results, tmp_path)
    root = ElementTree.parse(tmp_path / GATE_XML).getroot()
    (suite,) = root
    cases = list(suite)
    assert (root.tag, suite.tag, {case.tag for case in cases}) == ("testsuites", "testsuite", {"testcase"})
    for part in (root, suite):
        counts = {name: int(part.get(name)) for name in ("tests", "failures", "errors", "skipped")}
        assert counts == {"tests": 5, "failures": 1, "errors": 2, "skipped": 0}
    kinds = [[(entry.tag, entry.get("type")) for entry in case] for case in cases]
    expected = [[], [("failure", "failed")], [], [("error", "not decided")], [("error", "not measured")]]
    assert kinds == expected
    assert "<script>" in cases[1].get("name") and "\x1b" not in cases[1].get("name")
    assert cases[1][0].get("message") == "failed: 0.1 [0.05, 0.15]" and cases[1][0].text == "bootstrap"
    assert len({case.get("name") for case in cases}) == 5


def test_markdown_is_one_table_whatever_the_names(results, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))
    (tmp_path / "summary").write_text("before\n")
    write_gate(results, tmp_path)
    page = (tmp_path / GATE_MD).read_text()
    assert (tmp_path / "summary").read_text() == f"before\n{page}\n"
    title, _, *table = page.splitlines()
    assert title == "## Gate: not measured (1 passed, 1 not decided, 1 failed, 1 not measured of 4)"
    assert len(table) == 7
    assert len({line.replace("\\|", "").count("|") for line in table}) == 1


def test_a_summary_of_github_that_cannot_be_written_is_a_note(results, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    write_gate(results, tmp_path)
    assert capsys.readouterr().err.startswith("brittlestar: note: cannot write the summary of GitHub")


def test_a_new_sweep_forgets_the_gate_of_the_last_one(results, tmp_path):
    write_gate(results, tmp_path)
    forget_gate(tmp_path)
    assert list(tmp_path.iterdir()) == []
