from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from brittlestar.commands import run
from brittlestar.commands.gate import main

CURVE = {0: 50, 0.1: 40, 0.2: 10}


@pytest.fixture
def sweep(make_cell, save_cells, tmp_path):
    cells = [make_cell([1.0] * k + [0.0] * (50 - k), strength=strength) for strength, k in CURVE.items()]
    return save_cells(tmp_path / "sweep", cells)


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        (["success_final@0.1 >= 0.5"], 0),
        (["success_final@0.1 >= 0.5", "auc(success_final) >= 0.14"], 4),
        (["success_final@0.1 >= 0.5", "success_final@0.1 >= 0.75", "success_final@0.2 >= 0.5"], 3),
        (["success_final@0.2 >= 0.5", "success_final@0.3 >= 0.5"], 1),
    ],
)
def test_the_exit_code_is_the_verdict(call, sweep, texts, code):
    words = [word for text in texts for word in ("--require", text)]
    assert call(main, "sweep", *words)[0] == code
    # Without requirements, those of the last gate are judged.
    again = call(main, "sweep")
    assert again[0] == code and again[1].count("\n  ") == len(texts)


def test_files_go_to_the_folder_and_a_yaml_file_is_read(call, sweep, tmp_path):
    (tmp_path / "my_gate.yaml").write_text("- success_final@0.1 >= 0.5\n")
    code, out, _ = call(main, "sweep", "--file", "my_gate.yaml", "--out", "here")
    assert (code, "gate: passed (1 passed of 1)" in out) == (0, True)
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == ["gate.json", "gate.md", "gate.xml"]
    assert not (sweep / "gate.json").exists()


def test_mistakes_are_one_line(call, sweep):
    assert call(main, "sweep") == (
        1, "", "brittlestar: no requirement: add --require or --file, since sweep has no gate.json\n"
    )  # fmt: skip
    assert call(main, "nowhere", "--require", "return@0 > 0") == (1, "", "brittlestar: no folder at nowhere\n")
    code, _, error = call(main, "sweep", "--require", "retrun@0 > 0")
    assert (code, error.count("\n")) == (1, 1) and "did you mean `return`?" in error


def test_a_failed_cell_is_an_error_whatever_the_others_say(call, make_cell, fail_cell, save_cells, tmp_path):
    save_cells(tmp_path / "sweep", [make_cell([1.0] * 50), fail_cell(make_cell(strength=0.1))])
    code, out, error = call(main, "sweep", "--require", "success_final@0 >= 0.5")
    assert (code, error) == (1, "brittlestar: 1 cell failed, so the gate is not complete\n")
    assert "gate: not measured (1 passed, 1 not measured of 2)" in out
    assert "not measured  every cell has a result: 1 cell failed" in out
    # A reader of the files alone must not take it for a pass.
    assert json.loads(Path("sweep/gate.json").read_text())["status"] == "not measured"
    assert 'errors="1"' in Path("sweep/gate.xml").read_text()
    assert call(main, "sweep")[:2] == (code, out), "the line is no requirement of the next gate"


def test_a_sweep_that_still_runs_does_not_pass(call, make_cell, tmp_path):
    from brittlestar.cells.record import EPISODES, decode, encode
    from brittlestar.sweeps.index_writer import IndexWriter

    cell = make_cell([1.0] * 50)
    with IndexWriter(tmp_path / "sweep", 2) as index:
        index.write(*decode(encode(dict(cell.manifest) | {"number": 0}, {EPISODES: cell.held})))
    code, out, error = call(main, "sweep", "--require", "success_final@0 >= 0.5")
    assert (code, error) == (1, "brittlestar: 1 cell without a record, so the gate is not complete\n")
    assert "not measured  every cell has a result: 1 cell without a record" in out


WORDS = ["-m", "env=cartpole", "policy=zoo/cartpole_ppo,random", "perturbation.sigma=0,0.3", "episodes=20"]


def test_a_sweep_ends_with_its_gate_and_a_cached_one_too(shell):
    """A sweep fails its gate; the same sweep, from the store, passes another one."""
    (shell.folder / "my gate.yaml").write_text("require: [success_final(random)@0 >= 0.5]\n")
    failed = shell(*WORDS, "gate=my gate.yaml", "hydra.sweep.dir=sweep", check=False)
    assert failed.returncode == 3, failed.stderr
    line = "  failed        success_final(random)@0 >= 0.5 (policy=random): 0 [0, 0.1684]"
    assert line in failed.stdout.splitlines()
    before = (shell.folder / "sweep" / "gate.json").read_bytes()
    require = "auc(cartpole_ppo) >= auc(random)", "success_final(cartpole_ppo)@0 >= 0.5"
    words = [f"gate.require={json.dumps(require)}", "hydra.sweep.dir=sweep"]
    passed = shell(*WORDS, *words, GITHUB_STEP_SUMMARY=str(shell.folder / "summary"))
    assert "4 cached" in passed.stderr
    assert "gate: passed (2 passed of 2)" in passed.stdout
    assert "## Gate: passed" in (shell.folder / "summary").read_text()
    assert ElementTree.parse(shell.folder / "sweep" / "gate.xml").getroot().get("tests") == "2"
    again = shell("sweep", "--require", json.loads(before)["requirements"][0]["require"], script="scripts/gate.py",
                  check=False)  # fmt: skip
    assert (again.returncode, (shell.folder / "sweep" / "gate.json").read_bytes()) == (3, before)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("gate=my_gate.yaml", "does not exist"),
        ("gate=nome", "`gate=nome` does not exist; did you mean `none`?"),
        ('gate.require=["sucess_final@0.3 >= 1"]', "did you mean `success_final`?"),
        ('gate.require=["success_final@0.2 >= 1"]', "`policy=zoo/cartpole_ppo` has no level 0.2; levels: 0, 0.3"),
        ('gate.require=["auc(cartpole_pp) >= 0"]', "did you mean `zoo/cartpole_ppo`?"),
        ("gate.require=a,b", "a sweep has one gate"),
        ("gate.require=a", "`gate.require` must be a list"),
    ],
)
def test_a_wrong_gate_ends_a_sweep_before_it_computes(call, tmp_path, word, message):
    code, _, error = call(run.main, *WORDS, word)
    lines = [line for line in error.splitlines() if line.startswith("brittlestar: ")]
    assert (code, len(lines)) == (1, 1) and message in lines[0], error
    assert not (tmp_path / "outputs" / "store").exists()


def test_a_single_cell_has_no_gate(call):
    code, _, error = call(run.main, "env=cartpole", "policy=random", 'gate.require=["return@0 >= 1"]')
    assert (code, error) == (1, "brittlestar: `gate`: a gate needs a sweep: add `-m`\n")
