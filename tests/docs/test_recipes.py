"""The programs on the pages of recipes run as printed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

RECIPES = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "recipes"
PAGES = sorted(path.stem for path in RECIPES.glob("[!R]*.md"))
PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
NEEDED = re.compile(r"It\s+needs\s+`([\w-]+)`(?: \([^)]*\))?(?:\s+and\s+`([\w-]+)`)?")
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def programs() -> list[tuple[str, str, str]]:
    """Return each program with its name and the text before it, up to the last program."""
    found = []
    for name in PAGES:
        parts = PROGRAM.split((RECIPES / f"{name}.md").read_text(encoding="utf-8"))
        found += [
            (f"{name}-{number}", before, program)
            for number, (before, program) in enumerate(
                zip(parts[::2], parts[1::2], strict=False), 1
            )
        ]
    return found


@pytest.mark.machine
@pytest.mark.parametrize(
    ("before", "program"),
    [pytest.param(before, program, id=name) for name, before, program in programs()],
)
def test_the_program_runs(
    before: str, program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (name for match in NEEDED.findall(before) for name in match if name):
        if shutil.which(name, path=PATH) is None:
            pytest.skip(f"{name} is not installed")
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "recipe", "exec"), {})


def test_every_page_has_a_program() -> None:
    assert {name.rpartition("-")[0] for name, _, _ in programs()} == set(PAGES)
