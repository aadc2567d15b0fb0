"""The map of the laboratory in the browser names every module and every folder."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAP = (ROOT / "docs" / "project" / "web-map.md").read_text(encoding="utf-8")
WEB = ROOT / "src" / "wanlab" / "web"


def section(title: str) -> str:
    """Return the text below a heading."""
    return MAP.split(f"## {title}\n")[1].split("\n## ")[0]


def test_every_module_of_the_server_has_one_place() -> None:
    named = {}
    for row in section("The server, by folder").splitlines():
        if row.startswith(("| `", "| *")) and "src/wanlab/web/" not in row:
            folder, modules = row.strip("|").split("|")
            named[folder.strip(" `").split("*")[-1]] = sorted(re.findall(r"`([a-z_]+)`", modules))
    named["."] = named.pop(": what several folders use")
    folders = (".", *{str(path.parent.relative_to(WEB)) for path in WEB.glob("*/__init__.py")})
    assert named == {
        folder: sorted(path.stem for path in (WEB / folder).glob("*.py") if path.stem != "__init__")
        for folder in folders
    }


def test_every_folder_of_the_page_has_one_place() -> None:
    named = re.findall(r"`([a-z]+)`", section("The page, by folder"))
    folders = {path.name for path in (ROOT / "ui" / "src").iterdir() if path.is_dir()}
    assert sorted(named) == sorted(folders)
