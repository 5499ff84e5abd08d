"""The workflow of docs/ci.md, run step by step in a repository with a small policy."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "ci.md").read_text()
GOOD = """\
def act(observation):
    position, velocity, angle, turn = observation
    return int(0.1 * position + 0.3 * velocity + 3 * angle + turn > 0)
"""
BAD = GOOD.replace("0.1 * position + 0.3 * velocity + 3 * angle + turn", "angle")


def yaml_blocks() -> list[dict]:
    return [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]


def push(repository: Path) -> tuple[dict[str, int], str]:
    """Runs the steps of the workflow as GitHub does; returns their exit codes by first word, and the summary."""
    summary = repository / ".summary"
    summary.unlink(missing_ok=True)
    env = os.environ | {"GITHUB_STEP_SUMMARY": str(summary)}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    codes: dict[str, int] = {}
    steps = yaml_blocks()[1]["jobs"]["gate"]["steps"]
    for step in steps:
        line = step.get("run", "")
        if not line or line.startswith("pip ") or (any(codes.values()) and step.get("if") != "always()"):
            continue
        done = subprocess.run(["bash", "-e", "-c", line], cwd=repository, env=env, capture_output=True, text=True)
        codes[line.split()[0]] = done.returncode
        assert done.returncode in (0, 3), done.stderr
    return codes, summary.read_text() if summary.exists() else ""


def test_the_workflow_is_one_that_github_reads():
    gate, workflow = yaml_blocks()
    assert list(gate) == ["require"]
    # YAML 1.1 reads the key `on` as true.
    assert set(workflow) == {"name", True, "jobs"}
    assert all(len({"run", "uses"} & set(step)) == 1 for step in workflow["jobs"]["gate"]["steps"])


@pytest.mark.slow
def test_the_workflow_gates_every_push(tmp_path):
    gate, _ = yaml_blocks()
    (tmp_path / "my_gate.yaml").write_text(yaml.safe_dump(gate))
    (tmp_path / "my_policy.py").write_text(GOOD)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True, capture_output=True)
    codes, summary = push(tmp_path)
    assert codes == {"brittlestar": 0, "if": 0, "rm": 0}
    assert "## Gate: passed (2 passed of 2)" in summary and "regression" not in summary
    assert (tmp_path / "multirun" / "before" / "gate.xml").is_file()
    (tmp_path / "my_policy.py").write_text(BAD)
    codes, summary = push(tmp_path)
    assert codes == {"brittlestar": 3, "if": 0}
    assert "## Gate: failed" in summary and "# 4 regressions" in summary
    assert (tmp_path / "multirun" / "before" / "gate.json").read_text().count('"failed"') == 0
