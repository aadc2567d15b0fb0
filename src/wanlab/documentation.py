"""The documentation that belongs to this installation: a site of HTML files, which works offline.

`./dev docs` in a checkout builds it, and a wheel contains it. Texts of wanlab name a page as
`wanlab docs NAME`; `find` returns the page of such a name.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from wanlab.errors import WanlabError, did_you_mean

SITE = Path(__file__).with_name("site")
PAGE_LIST = "pages.json"
HOME = "index"


@dataclass(frozen=True)
class DocPage:
    """A page of the documentation."""

    name: str
    title: str
    part: str
    """The part that it belongs to, such as "Reference"."""
    path: Path


def doc_pages(site: Path = SITE) -> list[DocPage]:
    """Return all pages in the order of the site. Raises WanlabError if it has not been built."""
    try:
        entries = json.loads((site / PAGE_LIST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise WanlabError(
            "the documentation has not been built",
            "in the checkout, run: ./dev docs build (a wheel contains it)",
        ) from None
    return [
        DocPage(entry["name"], entry["title"], entry["part"], site / entry["file"])
        for entry in entries
    ]


def find(name: str, site: Path = SITE) -> DocPage:
    """Return the page with a name, such as "class". Raises WanlabError if there is none."""
    pages = doc_pages(site)
    for page in pages:
        if name in (page.name, page.path.relative_to(site).with_suffix("").as_posix()):
            return page
    hint = did_you_mean(name, [page.name for page in pages]) or "for all pages: wanlab docs --list"
    raise WanlabError(f'the documentation has no page "{name}"', hint)
