"""docs/reference/session-files.md describes each line of a session file, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from wanlab.session.recorded import EVENTS, FILE_KINDS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "session-files.md"


def test_the_page_describes_each_kind_of_line() -> None:
    rows = re.findall(r"^\| (`.*?) \| ", PAGE.read_text(encoding="utf-8"), re.M)
    described = {
        word for row in rows for word in re.findall(r'[`"](\w+)(?:"|`)', row) if word != "at"
    }
    known = {"session", "programs", "in", "out", *FILE_KINDS, *EVENTS}
    assert described - {"gzip"} == known
