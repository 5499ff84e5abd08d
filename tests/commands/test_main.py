"""The `brittlestar` executable: its commands, its typos, and the shell completion."""

import importlib
import os
import pty
import re
import select
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from brittlestar.commands.help import COMMANDS

ROOT = Path(__file__).parents[2]
SCRIPTS = {"run": "run.py", "train": "train.py", "inspect": "scripts/inspect_policy.py"}
TEXT = (".py", ".yaml", ".md")
FAST = ["env=cartpole", "policy=random", "episodes=2"]


@pytest.fixture(scope="session")
def executable(tmp_path_factory):
    """The console script that an installer makes of the entry point."""
    module, _, name = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"][
        "brittlestar"
    ].partition(":")
    path = tmp_path_factory.mktemp("bin") / "brittlestar"
    path.write_text(f"#!{sys.executable}\nfrom {module} import {name}\n{name}()\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def brittlestar(executable, tmp_path):
    def run(*arguments):
        return subprocess.run([executable, *arguments], cwd=tmp_path, capture_output=True, text=True)

    return run


def test_without_a_command_it_runs_a_cell(brittlestar):
    first, second = brittlestar(*FAST), brittlestar("run", *FAST)
    assert "2 episodes (done)" in first.stdout
    assert "2 episodes (cached)" in second.stdout


@pytest.mark.parametrize(
    ("word", "name"), [("agregate", "aggregate"), ("trian", "train"), ("stress_benchmark", "stress-benchmark")]
)
def test_a_typo_gets_the_nearest_command(brittlestar, word, name):
    done = brittlestar(word, "multirun/first")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"brittlestar: there is no command `{word}`; did you mean `{name}`?\n"


def test_the_version_is_that_of_the_package(brittlestar):
    assert re.fullmatch(r"brittlestar \d+\.\d+\.\d+\S*\n", brittlestar("--version").stdout)


def test_the_help_lists_the_commands_on_the_first_screen(brittlestar):
    screen = brittlestar("--help").stdout.splitlines()[:30]
    assert [line.split()[0] for line in screen if re.match(r"  [a-z-]+  +[A-Z]", line)] == list(COMMANDS)


def test_help_loads_no_heavy_package():
    code = "import sys; sys.argv = ['brittlestar', '--help']; from brittlestar.commands.main import main; main(); "
    code += "sys.exit(bool({'numpy', 'hydra', 'gymnasium', 'torch'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_the_script_in_the_checkout_calls_the_command(name):
    path = ROOT / SCRIPTS.get(name, f"scripts/{name.replace('-', '_')}.py")
    if name == "list":
        assert not path.exists()
        return
    text = path.read_text()
    assert f"from brittlestar.commands.{name.replace('-', '_')} import main\n" in text
    assert len(text.splitlines()) <= 10
    assert callable(importlib.import_module(f"brittlestar.commands.{name.replace('-', '_')}").main)


def test_messages_name_commands_that_an_installed_user_has():
    files = [path for folder in ("src", "conf") for path in (ROOT / folder).rglob("*.*") if path.suffix in TEXT]
    assert len(files) > 200
    wrong = [path for path in files if re.search(r"python (run|train)\.py|scripts/\w+\.py", path.read_text())]
    assert not wrong


@pytest.mark.parametrize(
    ("line", "completions"),
    [
        ("brittlestar env=ca", ["env=cartpole"]),
        ("brittlestar -m env=cartpole seed=0 perturbation.si", ["perturbation.sigma="]),
        ("brittlestar run env=ca", ["env=cartpole"]),
        ("brittlestar train algo=sac_her_c", ["algo=sac_her_coached"]),
        ("brittlestar agg", ["aggregate"]),
        ("brittlestar plan --r", []),
    ],
)
def test_bash_completes_commands_and_overrides(executable, tmp_path, line, completions):
    script = f"""
        eval "$({executable} run -sc install=bash)"
        COMP_LINE={line!r} COMP_POINT={len(line)} COMP_CWORD={len(line.split()) - 1}
        hydra_bash_completion
        complete -p brittlestar
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    env = os.environ | {"PATH": f"{executable.parent}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True)
    rule, *replies = done.stdout.splitlines()
    assert rule.endswith("-F hydra_bash_completion brittlestar"), done.stderr
    assert [reply for reply in replies if reply] == completions


def test_tab_completes_in_an_interactive_bash(executable, tmp_path):
    master, terminal = pty.openpty()
    env = os.environ | {"PATH": f"{executable.parent}:{os.environ['PATH']}", "TERM": "dumb"}
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), terminal)
    words = ["bash", "--norc", "--noprofile", "-i"]
    with subprocess.Popen(words, cwd=tmp_path, env=env, start_new_session=True, **streams) as bash:
        os.close(terminal)
        os.write(master, b'eval "$(brittlestar -sc install=bash)"; echo in""stalled\n')
        read_until(master, b"installed")
        os.write(master, b"brittlestar env=ca\t")
        read_until(master, b"brittlestar env=cartpole")
        bash.kill()
    os.close(master)


def read_until(terminal: int, text: bytes) -> None:
    output = b""
    while text not in output:
        assert select.select([terminal], [], [], 60)[0], output
        output += os.read(terminal, 4096)
