"""The house: few rooms, small modules, one name for one thing, plain words."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "brittlestar"
MODULES = sorted(PACKAGE.rglob("*.py"))
MOST_ENTRIES, MOST_LINES, MOST_FUNCTION_LINES, MOST_SCRIPT_LINES = 20, 250, 40, 10
SHARED = {"TYPE_CHECKING", "main"}
"""Names with one meaning in several modules: each command has a `main`."""
DIALECT = re.compile(r"\b(told|tells|stands|stood|nobody|somebody)\b", re.IGNORECASE)


def public_names(path: Path) -> Iterator[str]:
    for node in ast.parse(path.read_text()).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names = [node.name] if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
        names += [target.id for target in targets if isinstance(target, ast.Name)]
        yield from (name for name in names if not name.startswith("_"))


def test_a_stranger_sees_the_rooms_at_one_look():
    entries = [path.name for path in PACKAGE.iterdir() if path.name != "__pycache__"]
    assert len(entries) <= MOST_ENTRIES, entries


def test_modules_and_functions_are_small():
    large = {}
    for path in MODULES:
        text, name = path.read_text(), path.relative_to(PACKAGE).as_posix()
        functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
        sizes = {f"{name}:{node.name}": node.end_lineno - node.lineno + 1 for node in functions}
        large |= {place: size for place, size in sizes.items() if size > MOST_FUNCTION_LINES}
        large |= {name: text.count("\n")} if text.count("\n") > MOST_LINES else {}
    assert large == {}


def test_no_public_name_has_two_meanings():
    homes = defaultdict(list)
    for path in MODULES:
        for name in set(public_names(path)) - SHARED:
            homes[name].append(path.relative_to(PACKAGE).as_posix())
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def test_scripts_are_thin():
    scripts = [*(ROOT / "scripts").rglob("*"), ROOT / "run.py", ROOT / "train.py"]
    files = [path for path in scripts if path.is_file() and "__pycache__" not in path.parts]
    assert [path.name for path in files if path.read_text().count("\n") > MOST_SCRIPT_LINES] == []


def test_prose_is_in_plain_words():
    folders = {PACKAGE: "*.py", ROOT / "conf": "*.yaml", ROOT / "docs": "*.md"}
    pages = [path for folder, pattern in folders.items() for path in folder.rglob(pattern)]
    lines = {
        f"{path.relative_to(ROOT)}:{number}": line.strip()
        for path in [*pages, ROOT / "README.md"]
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if DIALECT.search(line)
    }
    assert lines == {}
