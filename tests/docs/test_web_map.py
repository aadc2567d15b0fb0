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
    table = section("The server, by subject")
    rows: dict[str, list[str]] = {"web": [], "classroom": []}
    for row in table.splitlines():
        rows["classroom" if "`classroom/`" in row else "web"] += re.findall(r"`([a-z_]+)`", row)
    for folder, names in (("web", rows["web"]), ("classroom", rows["classroom"])):
        place = WEB if folder == "web" else WEB / "classroom"
        modules = {path.stem for path in place.glob("*.py")} - {"__init__"}
        assert sorted(names) == sorted(modules)


def test_every_folder_of_the_page_has_one_place() -> None:
    named = re.findall(r"`([a-z]+)`", section("The page, by folder"))
    folders = {path.name for path in (ROOT / "ui" / "src").iterdir() if path.is_dir()}
    assert sorted(named) == sorted(folders)
