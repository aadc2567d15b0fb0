"""Pages for the files outside docs/: some have a page of the site, others are shown as they are.

A page of docs/ may link to any file of the checkout. The site contains each such file below `files/`,
so that the link works for readers who have no checkout.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = "files/"
PAGES = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "kernel/README.md": "project/kernel.md",
}
"""The page of the site for each of these files."""
HOME = {"README.md": "index.md"}
LANGUAGES = {".py": "python", ".patch": "diff", ".yaml": "yaml", ".sh": "sh", ".toml": "toml"}
FRONT_MATTER = "---\nsearch: {exclude: true}\nhide: [navigation, toc]\n---\n"
"""Pages of files are for readers who follow a link; a search should not find them."""
FENCE = re.compile(r"(^(?:```|~~~).*?^(?:```|~~~)$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?\[[^\]]*\]\(\s*<?)([^)\s>#]*)((?:#[^)\s>]*)?>?(?:\s+\"[^\"]*\")?\s*\))")


def pages(docs: dict[str, str]) -> dict[str, str]:
    """Return the added pages, by their address in the site, for the texts of the pages of docs/."""
    added = {uri: (ROOT / path).read_text(encoding="utf-8") for path, uri in PAGES.items()}
    waiting = [(uri, text) for uri, text in {**docs, **added}.items()]
    for uri, text in waiting:
        for path in sorted(_linked_files(text, uri)):
            shown = FOLDER + path + ".md"
            if shown not in added:
                added[shown] = _as_page(path)
                waiting.append((shown, added[shown]))
    return added


def _linked_files(text: str, uri: str) -> set[str]:
    found: set[str] = set()

    def note(path: str) -> None:
        found.add(path)

    _each_link(text, uri, note)
    return found


def relinked(text: str, uri: str) -> str:
    """Return the page's text with links that work in the site."""
    return _each_link(text, uri, lambda path: None)


def _each_link(text: str, uri: str, note: Callable[[str], None]) -> str:
    origin = _origin(uri)
    if origin is None:
        return text

    def link(match: re.Match[str]) -> str:
        target = match[2]
        if not target or re.match(r"[a-z]+:", target):
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(origin), target))
        if (uri_of := _uri_of(path)) is None:
            return match[0]
        if uri_of.startswith(FOLDER):
            note(path)
        return match[1] + posixpath.relpath(uri_of, posixpath.dirname(uri) or ".") + match[3]

    parts = FENCE.split(text)
    return "".join(part if index % 2 else LINK.sub(link, part) for index, part in enumerate(parts))


def _origin(uri: str) -> str | None:
    """Return the path in the checkout to which a page's links are relative."""
    if uri.startswith(FOLDER):
        return uri.removeprefix(FOLDER).removesuffix(".md") + "/x"
    by_uri = {page: path for path, page in PAGES.items()}
    return by_uri.get(uri, f"docs/{uri}")


def _uri_of(path: str) -> str | None:
    """Return where the site has a file of the checkout; None if it is none."""
    if path in PAGES or path in HOME:
        return (PAGES | HOME)[path]
    if path.startswith("docs/"):
        folder = path.removeprefix("docs/")
        return f"{folder}/README.md" if (ROOT / path / "README.md").exists() else folder
    return f"{FOLDER}{path}.md" if (ROOT / path).exists() else None


def _as_page(path: str) -> str:
    file = ROOT / path
    if file.is_dir():
        names = sorted(item.name for item in file.iterdir() if item.name[0] not in "_.")
        items = "\n".join(f"- [{name}]({name})" for name in names)
        return f"{FRONT_MATTER}# {path}\n\n{items}\n"
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".md":
        return FRONT_MATTER + text
    fence = "~~~~~~"  # no file has a line of these
    language = LANGUAGES.get(file.suffix, "text")
    return f"{FRONT_MATTER}# {path}\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n"
