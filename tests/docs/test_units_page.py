"""Compare docs/how-to/units.md and the example unit with the output of `wanlab lab new`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wanlab.errors import WanlabError
from wanlab.labs import catalog, new_unit

ROOT = Path(__file__).resolve().parents[2]


def files(folder: Path) -> dict[str, bytes]:
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_the_example_is_the_template_of_a_new_unit(tmp_path: Path) -> None:
    new_unit.write("slow-link", tmp_path)
    assert files(ROOT / "examples" / "units") == files(tmp_path)


def test_every_word_of_the_example_is_on_the_page() -> None:
    page = (ROOT / "docs" / "how-to" / "units.md").read_text()
    unit = catalog.find("slow-link", ROOT / "examples" / "units")
    text = (unit.folder / "lab.yaml").read_text()
    words = {line.split(":")[0] for line in text.splitlines() if line[:1].isalpha()}
    assert [word for word in words if f"`{word}`" not in page] == []


def test_mistakes_are_reported_as_the_page_shows(tmp_path: Path) -> None:
    new_unit.write("slow-link", tmp_path)
    path = tmp_path / "slow-link" / "lab.yaml"
    text = re.sub(r"^  measure:.*\n", "", path.read_text(encoding="utf-8"), flags=re.M)
    path.write_text(text.replace("  guard: true", "  gard: true"), encoding="utf-8")
    with pytest.raises(WanlabError) as error:
        catalog.find("slow-link", tmp_path)
    page = (ROOT / "docs" / "how-to" / "units.md").read_text(encoding="utf-8")
    shown = re.findall(r"^    (.*lab\.yaml: 2 problems\n(?:      line .*\n)+)", page, re.M)
    lines = [line.strip() for line in shown[0].splitlines()]
    assert str(error.value).splitlines()[0].endswith(lines[0].removeprefix("my-units/"))
    assert [line.strip() for line in str(error.value).splitlines()[1:]] == lines[1:]
