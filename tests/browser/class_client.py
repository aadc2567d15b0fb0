"""`wanlab web --class` for tests: the server, its teacher, and its students."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from web_client import WANLAB, Server, Visitor, wait_until

TWO_HOSTS = """\
nodes:
  - {host: h1, x: 100.0, y: 100.0}
  - {host: h2, x: 300.0, y: 100.0}
  - {switch: s1, x: 200.0, y: 200.0}
links:
  - {link: [h1, s1]}
  - {link: [s1, h2]}
"""


class ClassServer(Server):
    """The server of a class; its requests are the teacher's."""

    opening = "the class is open"
    option = "--class"

    def __init__(self, folder: Path, *arguments: str, program: Sequence[str] = WANLAB) -> None:
        super().__init__(folder, *arguments, program=program)
        assert self.process.stdout is not None
        self.said += [self.process.stdout.readline(), self.process.stdout.readline()]

    def links(self) -> dict[str, str]:
        """Return the link of each student."""
        with (self.folder / "tokens.csv").open(encoding="utf-8", newline="") as file:
            return {row["student"]: row["link"] for row in csv.DictReader(file)}

    def student(self, name: str) -> Visitor:
        """Return a student who has opened their link."""
        return Visitor(self.folder / "students" / name, self.links()[name])

    def row(self, name: str) -> dict[str, Any]:
        """Return a student's row on the teacher's page."""
        students = json.loads(self.get("/api/class").text)["students"]
        return next(row for row in students if row["name"] == name)

    def until(self, name: str, **values: object) -> None:
        """Wait until a student's row on the teacher's page has these values."""
        wait_until(lambda: values.items() <= self.row(name).items())


def class_folder(place: Path, *names: str, column: str = "student") -> Path:
    """Make the folder of a class with these students."""
    folder = place / "class"
    folder.mkdir()
    (folder / "students.csv").write_text("\n".join([column, *names, ""]), encoding="utf-8")
    return folder
