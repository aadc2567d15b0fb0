"""The site that MkDocs builds from docs/: complete, without assets of others, and found by its names."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from wanlab import documentation
from wanlab.documentation import doc_pages, find
from wanlab.errors import WanlabError

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src" / "wanlab"
WRITERS = {SRC / "labs/course_page.py", SRC / "gallery/pages.py", SRC / "cli/labs.py"}
"""These write pages of docs/, so they name their paths."""
OTHER_PAGES = {"changelog", "contributing", "kernel", "notebook", "gallery", "decisions"}
"""Pages made from files outside docs/, and folders."""


def texts() -> dict[Path, str]:
    suffixes = (".py", ".md", ".yaml", ".ts", ".tsx")
    paths = [path for path in SRC.rglob("*") if path.suffix in suffixes]
    return {path: path.read_text(encoding="utf-8") for path in paths if "site" not in path.parts}


def test_texts_of_the_package_name_pages_that_exist() -> None:
    names = {path.stem for path in (ROOT / "docs").rglob("*.md")} | OTHER_PAGES
    named = {
        (path.name, name)
        for path, text in texts().items()
        for name in re.findall(r"wanlab docs ([a-z][a-z-]*)", text)
    }
    assert len(named) > 10
    assert [(file, name) for file, name in sorted(named) if name not in names] == []


def test_texts_of_the_package_name_no_file_that_a_wheel_lacks() -> None:
    found = {
        path.relative_to(SRC).as_posix()
        for path, text in texts().items()
        if re.search(r"docs/(?!project/decisions)[\w/-]+\.md", text) and path not in WRITERS
    }
    assert found == set()


def test_every_page_is_in_the_navigation_and_has_a_name_of_its_own() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    entries = re.findall(r": ([\w/.-]+(?:\.md|/))$", text, re.M)
    docs = ROOT / "docs"
    pages = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    reached = {page for page in pages if page in entries or f"{Path(page).parent}/" in entries}
    assert pages - reached == set()
    names = [Path(page).stem for page in pages if Path(page).stem != "README"]
    assert [name for name in names if names.count(name) > 1] == []


def test_names_of_the_python_api_in_pages_exist() -> None:
    wrong = []
    for path in (ROOT / "docs").rglob("*.md"):
        if "decisions" in path.parts:
            continue  # they describe the past
        for name in re.findall(r"`(wanlab(?:\.\w+)+)[`(]", path.read_text(encoding="utf-8")):
            if name == "wanlab.format":
                continue  # a key of Parquet files
            parts = name.split(".")
            found: object = import_module("wanlab")
            for index, part in enumerate(parts[1:], 1):
                try:
                    found = getattr(found, part)
                except AttributeError:
                    try:
                        found = import_module(".".join(parts[: index + 1]))
                    except ImportError:
                        wrong.append((path.name, name))
                        break
    assert wrong == []


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a site with two pages."""
    pages = [
        {"name": "index", "title": "Home", "part": "", "file": "index.html"},
        {"name": "class", "title": "A class", "part": "How-to", "file": "how-to/class.html"},
    ]
    (tmp_path / "pages.json").write_text(json.dumps(pages))
    return tmp_path


@pytest.mark.parametrize("name", ["class", "how-to/class"])
def test_a_page_is_found_by_its_name_and_its_path(site: Path, name: str) -> None:
    assert find(name, site).path == site / "how-to" / "class.html"


def test_the_error_for_an_unknown_page_suggests_the_nearest_one(site: Path) -> None:
    with pytest.raises(WanlabError, match=r'no page "clas"') as error:
        find("clas", site)
    assert "did you mean class?" in str(error.value)


def test_without_a_site_the_error_says_how_to_build_it(tmp_path: Path) -> None:
    with pytest.raises(WanlabError, match="has not been built") as error:
        doc_pages(tmp_path)
    assert "./dev docs build" in str(error.value)


class Assets(HTMLParser):
    """Collects what a page loads by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        values = dict(attrs)
        if tag in ("script", "img", "iframe"):
            self.loaded.append(values.get("src") or "")
        elif tag == "link" and values.get("rel") not in ("next", "prev", "canonical"):
            self.loaded.append(values.get("href") or "")


@pytest.mark.long
@pytest.mark.costs(15)
def test_the_site_is_complete_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("material")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    names = [page.name for page in doc_pages(tmp_path)]
    assert names[0] == documentation.HOME
    assert {path.stem for path in (ROOT / "docs").rglob("*.md")} - {"README"} <= set(names)
    assert len(names) == len(set(names))
    for page in doc_pages(tmp_path):
        parser = Assets()
        parser.feed(page.path.read_text(encoding="utf-8"))
        assert [name for name in parser.loaded if re.match(r"(https?:)?//", name)] == [], page.name
    assert (tmp_path / "search" / "search_index.js").stat().st_size < 4_000_000


def test_every_release_in_the_changelog_has_a_date_and_begins_with_ten_lines() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = re.split(r"^## ", text, flags=re.M)[1:]
    for release in releases:
        title, _, rest = release.partition("\n")
        assert title == "Unreleased" or re.search(r" - \d{4}-\d\d-\d\d$", title), title
        first = rest.partition("\n### ")[0]
        assert len(re.findall(r"^\d+\. ", first, re.M)) <= 10


REPLACED = (
    "network time",
    "network's clock",
    "network's time",
    "frontend",
    "per cent",
    "acknowledgment",
    "virtualization",
    "synchronized",
)
"""Words for which the glossary has another one. Decisions and evidence describe the past."""


def test_pages_for_users_do_not_use_replaced_words() -> None:
    folders = ("tutorial", "how-to", "reference", "explanation")
    pages = [path for folder in folders for path in (ROOT / "docs" / folder).rglob("*.md")]
    pages += [ROOT / "README.md", *(SRC / "cli").glob("*.py")]
    found = [
        (path.name, word)
        for path in pages
        for word in REPLACED
        if word in path.read_text(encoding="utf-8")
    ]
    assert found == []


def test_the_text_for_users_stays_readable_in_size() -> None:
    folders = ("tutorial", "how-to", "reference", "explanation")
    pages = [path for folder in folders for path in (ROOT / "docs" / folder).rglob("*.md")]
    pages += [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    assert sum(len(path.read_text(encoding="utf-8").split()) for path in pages) <= 50_000
