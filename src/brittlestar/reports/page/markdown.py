"""Markdown of reports as HTML: no HTML of a name or a note passes through."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt


def html_of(markdown: str, depth: int = 0) -> str:
    """Returns Markdown as HTML, with headings `depth` levels lower."""
    parser = _parser()
    tokens = parser.parse(markdown)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + depth)}"
    return str(parser.renderer.render(tokens, parser.options, {}))


@functools.cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # Pictures and links of a report name files beside it, and text of users: neither is loaded or followed.
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable(["image", "link", "autolink"])
