"""Writes the page: a template, its styles and scripts, and the data as JSON, in one file."""

from __future__ import annotations

import base64
import io
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from brittlestar.cells.files import write_file
from brittlestar.reports.curve_names import cut_middle
from brittlestar.reports.page.facts import films_beside
from brittlestar.reports.page.markdown import html_of
from brittlestar.reports.page.numbers import safe_json
from brittlestar.reports.sections import Section
from brittlestar.reports.verdicts import Verdict

PAGE = "report.html"
_ASSETS = Path(__file__).parent / "assets"
_SCRIPTS = ("base.js", "chart.js", "kinds.js", "curves.js", "pairs.js", "episodes.js", "page.js")
_FILMS = re.compile(r'(<script type="application/json" id="films">).*?(</script>)', re.DOTALL)
_MOST_PICTURE_BYTES = 1_200_000
"""Of all pictures; others are links to files beside the page."""
_PICTURE_WIDTH = 1600


@dataclass
class PageContent:
    """All that a page shows. Texts are plain or Markdown; `data` are JSON values for its charts."""

    title: str
    facts: list[tuple[str, str]] = field(default_factory=list)
    """What all curves have in common, by name."""
    verdicts: list[Verdict] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    """The baseline check of each policy."""
    questions: list[Verdict] = field(default_factory=list)
    """What is not decided."""
    notes: list[str] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    phases: Section | None = None
    """The phases of a stress schedule, after the charts."""
    tables: dict[str, str] = field(default_factory=dict)
    """Markdown by heading, folded."""
    commands: list[str] = field(default_factory=list)
    versions: list[str] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    """Of the sweeps, relative to the page."""
    skipped: set[str] = field(default_factory=set)
    """Names of pictures that charts of the page replace."""


def write_page(content: PageContent, out: Path, name: str = PAGE) -> Path:
    """Writes the page into a folder, and returns its path."""
    from jinja2 import Environment, FileSystemLoader
    from markupsafe import Markup

    environment = Environment(loader=FileSystemLoader(_ASSETS), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["markdown"] = lambda text, depth=0: Markup(html_of(text, depth))
    environment.filters["json"] = lambda value: Markup(safe_json(value))
    environment.filters["cut"] = cut_middle
    pictures = _Pictures(out, content.skipped)
    page = environment.get_template("page.html.j2").render(
        page=content,
        sections=[(section, pictures.of(section)) for section in content.sections],
        films=films_beside(content.folders, out),
        styles=[Markup((_ASSETS / style).read_text()) for style in ("page.css", "chart.css")],
        scripts=[Markup((_ASSETS / script).read_text()) for script in _SCRIPTS],
    )
    write_file(out / name, page)
    return out / name


def refresh_films(folder: Path) -> None:
    """Lists the films that lie beside the page of a folder in the page; without a page, does nothing."""
    path = folder / PAGE
    if not path.is_file():
        return
    page = path.read_text(encoding="utf-8")
    folders = re.search(r'<script type="application/json" id="folders">(.*?)</script>', page, re.DOTALL)
    if folders:
        films = safe_json(films_beside(json.loads(folders[1]), folder))
        write_file(path, _FILMS.sub(lambda match: match[1] + films + match[2], page, count=1))


def relative_folders(folders: list[str], out: Path) -> list[str]:
    """Returns the paths of folders from the folder of a page.

    Example:
        >>> relative_folders(["multirun/a", "multirun/b"], Path("multirun/a"))
        ['.', '../b']
    """
    return [os.path.relpath(folder, out) for folder in folders]


class _Pictures:
    """Pictures of sections as data, until they are too many bytes."""

    def __init__(self, out: Path, skipped: set[str]) -> None:
        self._out, self._skipped, self._left = out, skipped, _MOST_PICTURE_BYTES

    def of(self, section: Section) -> list[tuple[str, str]]:
        """Returns the pictures of a section that no chart replaces: name, and address (empty if it is left out)."""
        replaced = self._skipped | {name for chart in section.charts for name in chart.pictures}
        return [(name, self._address(name)) for name in section.pictures if name not in replaced]

    def _address(self, name: str) -> str:
        path = self._out / f"{name}.png"
        if not path.is_file():
            return ""
        from PIL import Image

        with Image.open(path) as picture:
            picture.thumbnail((_PICTURE_WIDTH, 4 * _PICTURE_WIDTH))
            buffer = io.BytesIO()
            picture.convert("RGB").save(buffer, "WEBP", quality=82)
        if buffer.tell() > self._left:
            return ""
        self._left -= buffer.tell()
        return f"data:image/webp;base64,{base64.b64encode(buffer.getvalue()).decode()}"
