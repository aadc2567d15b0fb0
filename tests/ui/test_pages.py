"""What ./dev ui builds is small, and loads nothing from other servers."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from dev import ui

from wanlab.web.server.app import STATIC

LARGEST_BYTES = 1_000_000
LARGEST_FONT_BYTES = 60_000
# Names of namespaces look like addresses, and links to the documentation of libraries are allowed.
FETCHED = re.compile(r"""(?:src=|@import|url\(|fetch\(|import\()\s*["']?(?:https?:)?//""")


@pytest.fixture
def pages() -> Path:
    pages = Path(os.environ.get("WANLAB_PAGES", STATIC))
    if not (pages / "index.html").exists():
        pytest.skip("the pages are not built: ./dev ui")
    return pages


def test_all_files_together_are_less_than_a_megabyte_compressed(pages: Path) -> None:
    assert 100_000 < ui.compressed_bytes(pages) < LARGEST_BYTES


def test_the_first_page_loads_only_what_it_shows(pages: Path) -> None:
    text = (pages / "index.html").read_text(encoding="utf-8")
    assert "index-" in text
    for later in ("TerminalDock", "TerminalPane", "Charts", "Lessons"):
        assert later not in text
        assert list((pages / "assets").glob(f"{later}-*.js"))


def test_the_font_comes_with_its_licence_and_is_loaded_first(pages: Path) -> None:
    (font,) = (pages / "assets").glob("*.woff2")
    assert font.stat().st_size < LARGEST_FONT_BYTES
    licence = (pages / "assets" / "inter-LICENSE.txt").read_text(encoding="utf-8")
    assert "SIL OPEN FONT LICENSE Version 1.1" in licence
    for page in ("index.html", "class.html"):
        preload = re.search(r'<link\s+rel="preload"[^>]*>', (pages / page).read_text("utf-8"))
        assert preload is not None
        assert font.name in preload[0]


def test_nothing_is_loaded_from_the_internet(pages: Path) -> None:
    files = [*pages.rglob("*.html"), *pages.rglob("*.js"), *pages.rglob("*.css")]
    assert len(files) > 5
    for path in files:
        assert FETCHED.findall(path.read_text(encoding="utf-8")) == []
