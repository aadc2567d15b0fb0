"""The hooks that MkDocs calls while it builds the site; see mkdocs.yml."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
for folder in ("tools", "src"):
    if str(ROOT / folder) not in sys.path:
        sys.path.insert(0, str(ROOT / folder))

from handbook import generated, notebook, outside, trim  # noqa: E402

NOTEBOOK = "tutorial/tutorial.ipynb"
NOTEBOOK_PAGE = "tutorial/notebook.md"
PAGE_LIST = "pages.json"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace each folder in the navigation by its pages."""
    config.nav = _with_folders(config.nav, Path(config.docs_dir))
    return config


def _with_folders(entry: Any, docs: Path) -> Any:
    if isinstance(entry, list):
        return [_with_folders(item, docs) for item in entry]
    if isinstance(entry, dict):
        return {title: _with_folders(value, docs) for title, value in entry.items()}
    if isinstance(entry, str) and entry.endswith("/"):
        names = sorted(path.name for path in (docs / entry).glob("*.md"))
        names.sort(key=lambda name: name != "README.md")
        return [entry + name for name in names]
    return entry


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in docs/."""
    pages = {file.src_uri: file.content_string for file in files.documentation_pages()}
    added = outside.pages(pages)
    text = (Path(config.docs_dir) / NOTEBOOK).read_text(encoding="utf-8")
    added[NOTEBOOK_PAGE] = notebook.as_markdown(json.loads(text))
    for uri, content in added.items():
        files.append(File.generated(config, uri, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fill in the generated parts, and let links to files outside docs/ work."""
    return outside.relinked(generated.filled(markdown), page.file.src_uri)


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
    """Keep the pages in the order of the navigation."""
    _pages[:] = nav.pages
    return nav


@event_priority(
    -200
)  # after the plugin that writes the index of the search for pages opened as files
def on_post_build(config: MkDocsConfig) -> None:
    """Write the list of pages for `wanlab docs`, and remove what no page needs."""
    site = Path(config.site_dir)
    entries = [_entry(page) for page in _pages]
    (site / PAGE_LIST).write_text(json.dumps(entries, indent=1), encoding="utf-8")
    trim.trim(site)


_pages: list[Page] = []


def _entry(page: Page) -> dict[str, str]:
    path = Path(page.file.src_uri)
    name = path.parent.name if path.stem == "README" else path.stem
    part = ([section.title or "" for section in page.ancestors] or [""])[-1]
    return {"name": name, "title": str(page.title), "part": part, "file": page.file.dest_uri}
