"""Reading what a file says, field by field, without stopping at the first mistake.

A reader asks for each field by name and kind. What is missing or of another kind becomes a problem
with its place, and a default takes its place so that reading goes on. What nobody asked for is left
over: a reader keeps it (`rest`) or refuses it (`refuse_rest`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from wanlab.errors import Problem, TopologyError, WanlabError, did_you_mean
from wanlab.topology.check import check
from wanlab.topology.model import Topology

_INTEGER = re.compile(r"-?[0-9]{1,18}")


Filled = Callable[[Any], Any]
"""What a file says, with its placeholders replaced by what they stand for."""


class Problems(list[Problem]):
    """Problems of one file; `place` turns a path ("links[2].dest") into what the reader is told.

    `folder`: where that file is, for what it says of other files.
    """

    def __init__(
        self, place: Callable[[str], str] = lambda path: path, folder: Path | None = None
    ) -> None:
        super().__init__()
        self.folder = folder
        self._place = place

    def add(self, path: str, what: str, hint: str = "") -> None:
        problem = Problem(self._place(path), what, hint)
        if problem not in self:
            self.append(problem)


class Fields:
    """The fields of one mapping of a file."""

    def __init__(self, data: Any, path: str, problems: Problems) -> None:
        self.path = path
        self.problems = problems
        self._asked: set[str] = set()
        self._is_damaged = not isinstance(data, Mapping)
        if self._is_damaged:
            problems.add(path, f"{_shown(data)} is not a mapping of fields")
            data = {}
        self._data: Mapping[str, Any] = data

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def path_of(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def problem(self, key: str, what: str, hint: str = "") -> None:
        self.problems.add(self.path_of(key), what, hint)

    def value(self, key: str) -> Any:
        """Whatever it is; None if it is missing."""
        self._asked.add(key)
        return self._data.get(key)

    def require(self, key: str) -> None:
        if key not in self._data and not self._is_damaged:
            self.problem(key, f'"{key}" is missing')

    def text(self, key: str) -> str | None:
        """A text; an empty one counts as missing, as in MiniEdit's dialogs."""
        value = self.value(key)
        if isinstance(value, str):
            return value or None
        self._refuse_unless_missing(key, "a text")
        return None

    def text_of_file(self, key: str) -> str | None:
        """The content of another file, beside this one unless its path is absolute."""
        name = self.text(key)
        if name is None:
            return None
        if self.problems.folder is None and not name.startswith("/"):
            self.problem(key, f'"{name}" is beside a file, and this text is in none')
            return None
        path = (self.problems.folder or Path()) / name
        try:
            return path.read_text(encoding="utf-8")
        except OSError as error:
            self.problem(key, f"cannot read {path}: {error.strerror or error}")
        except UnicodeDecodeError:
            self.problem(key, f"{path} is not UTF-8 text")
        return None

    def word(self, key: str) -> str | None:
        """A text that some programs write as a number."""
        value = self.value(key)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return str(value) if is_number else self.text(key)

    def integer(self, key: str) -> int | None:
        """A whole number; MiniEdit writes some of them as texts."""
        value = self.value(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, str) and _INTEGER.fullmatch(value):
            return int(value)
        self._refuse_unless_missing(key, "a whole number")
        return None

    def number(self, key: str) -> float | None:
        """A number; MiniEdit writes coordinates as texts."""
        value = self.value(key)
        try:
            if isinstance(value, (int, float, str)) and not isinstance(value, bool):
                number = float(value)
                if isfinite(number):
                    return number
        except (ValueError, OverflowError):
            pass  # refused below, as everything else that is no number
        self._refuse_unless_missing(key, "a number")
        return None

    def flag(self, key: str) -> bool | None:
        value = self.value(key)
        if isinstance(value, bool):
            return value
        self._refuse_unless_missing(key, "true or false")
        return None

    def texts(self, key: str) -> tuple[str, ...]:
        values = [(path, value) for path, value in self.items(key)]
        for path, value in values:
            if not isinstance(value, str):
                self.problems.add(path, f"{_shown(value)} is not a text")
        return tuple(value for _, value in values if isinstance(value, str))

    def mapping(self, key: str) -> Fields:
        """The fields of a mapping inside; none if it is missing."""
        value = self.value(key)
        return Fields({} if value is None else value, self.path_of(key), self.problems)

    def items(self, key: str) -> Iterator[tuple[str, Any]]:
        """The path and value of each item of a list; none if it is missing."""
        value = self.value(key)
        if not isinstance(value, list):
            self._refuse_unless_missing(key, "a list")
            return
        for index, item in enumerate(value):
            yield f"{self.path_of(key)}[{index}]", item

    def parsed(self, key: str, parse: Callable[[Any], Any]) -> Any:
        """What `parse` makes of the value; None if it is missing or fails."""
        value = self.value(key)
        try:
            return None if value is None else parse(value)
        except WanlabError as error:
            self.problem(key, error.what, error.hint)
            return None

    def rest(self) -> dict[str, Any]:
        """What nobody asked for."""
        return {key: value for key, value in self._data.items() if key not in self._asked}

    def rest_unlike(self, written: Mapping[str, Any]) -> dict[str, Any]:
        """What is here and is not `written` in the same way."""
        return {key: value for key, value in self._data.items() if not _same(written, key, value)}

    def refuse_rest(self) -> None:
        for key in self.rest():
            self.problem(key, f'"{key}" is not known here', did_you_mean(key, sorted(self._asked)))

    def _refuse_unless_missing(self, key: str, kind: str) -> None:
        value = self._data.get(key)
        if value is not None:
            self.problem(key, f"{_shown(value)} is not {kind}")


def _same(written: Mapping[str, Any], key: str, value: Any) -> bool:
    """Equal also in kind: 1, 1.0 and true are equal to Python and different in a file."""
    return key in written and repr(written[key]) == repr(value)


def accept(topology: Topology, problems: list[Problem], file: str) -> Topology:
    """The topology, if neither its file nor the network it describes has a problem."""
    # What cannot be read is reported once, not again for what stands in for it.
    damaged = tuple(f"{problem.place}." for problem in problems if problem.place)
    found = [more for more in check(topology) if not f"{more.place}.".startswith(damaged)]
    if problems or found:
        raise TopologyError([*problems, *found], file)
    return topology


def _shown(value: Any) -> str:
    """A value as the file's author would recognise it."""
    if isinstance(value, str):
        return f'"{value}"' if len(value) <= 60 else f'"{value[:60]}..."'
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return {None: "nothing", True: "true", False: "false"}.get(value, repr(value))
