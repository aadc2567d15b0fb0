"""Wrap the prose of a Markdown page; tables, headings, figures and code stay as they are."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

WIDTH = 100
_ITEM = re.compile(r"( *(?:[*-]|\d+\.) +)(.*)")
_VERBATIM = re.compile(r"\||#|!\[|<!--| {4}|$")
_GLUE = "\0"
_CODE = re.compile(r"`[^`]{1,60}`")
# A line must not begin with a word that would make it a list item, a heading or a table.
_BEGINNINGS = re.compile(r" (?=(?:[-+*#|]|\d+\.) )")
_PERCENT = re.compile(r"(?<=\d) (?=%)")


def wrapped(page: str, width: int = WIDTH) -> str:
    """Return the page with paragraphs and list items of at most `width` columns, except long words."""
    return "\n".join(_lines(page, width)) + "\n"


def _lines(page: str, width: int) -> Iterator[str]:
    prefix, words = "", ""
    is_code = False
    for line in page.rstrip("\n").split("\n"):
        item = _ITEM.match(line)
        is_fence = line.startswith("```")
        is_continued = bool(words) and not item and not is_fence and bool(line.strip())
        if is_continued and not is_code and not _VERBATIM.match(line):
            words += f" {line.strip()}"
            continue
        if words:
            yield _filled(prefix, words, width)
        prefix, words = "", ""
        if is_code or is_fence:
            is_code = is_code != is_fence
            yield line
        elif item:
            prefix, words = item[1], item[2]
        elif _VERBATIM.match(line):
            yield line
        else:
            words = line.strip()
    if words:
        yield _filled(prefix, words, width)


def _filled(prefix: str, words: str, width: int) -> str:
    glued = _BEGINNINGS.sub(_GLUE, " ".join(words.split()))
    glued = _PERCENT.sub(_GLUE, glued)
    glued = _CODE.sub(lambda code: code[0].replace(" ", _GLUE), glued)
    filled = textwrap.fill(
        glued,
        width,
        initial_indent=prefix,
        subsequent_indent=" " * len(prefix),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return filled.replace(_GLUE, " ")
