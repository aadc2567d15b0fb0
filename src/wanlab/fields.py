"""Read YAML and JSON field by field, and report every mistake with its position.

A reader asks for each field by name and kind:

    fields = Fields(data, "", problems)
    name = fields.text("name")              # None if it is missing
    rate = fields.parsed("rate", as_rate)
    fields.refuse_rest()                    # unknown field "colour" (did you mean color?)

A field that is missing or of the wrong kind becomes a problem, and reading goes on without it, so
that one pass over a file finds all of its mistakes. Afterwards a reader keeps the fields that it has
not requested (`rest`), or refuses them (`refuse_rest`). A problem's position is the path of the field
("links[2].dest"), or the line number that `Problems` finds for that path.

The text of a YAML file is read by `wanlab.yaml_text`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import TypeVar

from wanlab.errors import Problem, WanlabError, did_you_mean
from wanlab.input_file import read_input

_INTEGER = re.compile(r"-?[0-9]{1,18}")
MAX_ITEMS = 50_000
"""More than any network that a computer can hold; reading an item takes up to a millisecond."""
MAX_QUOTED_CHARACTERS = 60
MAX_CHARACTERS_OF_FILES = 16 << 20

Value = TypeVar("Value")

FillPlaceholders = Callable[[object], object]
"""Returns the data of a file with its placeholders replaced by their values."""


class Problems(list[Problem]):
    """The problems of one file.

    `locate` turns a path ("links[2].dest") into the position that is reported. `folder` is the
    folder of the file; relative paths in the file start there.
    """

    def __init__(
        self, locate: Callable[[str], str] = lambda path: path, folder: Path | None = None
    ) -> None:
        super().__init__()
        self.folder = folder
        self.left_characters = MAX_CHARACTERS_OF_FILES
        """Of the texts of other files, which many items may name."""
        self._locate = locate
        self._known: set[Problem] = set()

    def add(self, path: str, what: str, hint: str = "") -> None:
        problem = Problem(self._locate(path), what, hint)
        if problem not in self._known:
            self._known.add(problem)
            self.append(problem)


class Fields:
    """The fields of one mapping of a file."""

    def __init__(self, data: object, path: str, problems: Problems) -> None:
        self.path = path
        self.problems = problems
        self._requested: set[str] = set()
        self._is_mapping = isinstance(data, Mapping)
        self._data: Mapping[str, object] = {}
        if isinstance(data, Mapping):
            self._data = data
        else:
            problems.add(path, f"{describe(data)} is not a mapping of fields")

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def path_of(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def problem(self, key: str, what: str, hint: str = "") -> None:
        self.problems.add(self.path_of(key), what, hint)

    def require(self, *keys: str) -> None:
        """Report each of these fields that is missing."""
        for key in keys:
            if key not in self._data and self._is_mapping:
                self.problem(key, f'"{key}" is missing')

    # -- one value --------------------------------------------------------------------------------

    def value(self, key: str) -> object:
        """Return the value, whatever its kind; None if it is missing."""
        self._requested.add(key)
        return self._data.get(key)

    def text(self, key: str) -> str | None:
        """Return a text; an empty one counts as missing, as in MiniEdit's dialogs."""
        value = self.value(key)
        if isinstance(value, str):
            return value or None
        self._refuse_unless_missing(key, "a string")
        return None

    def text_of_file(self, key: str) -> str | None:
        """Return the content of the file that the field names, relative to this file's folder."""
        name = self.text(key)
        if name is None:
            return None
        if self.problems.folder is None and not name.startswith("/"):
            self.problem(
                key,
                f'"{name}" is a relative path, but this input is not in a file; use an absolute path',
            )
            return None
        path = (self.problems.folder or Path()) / name
        if self.problems.left_characters < 0:
            return None
        try:
            text = read_input(path).decode("utf-8")
            self.problems.left_characters -= len(text)
            if self.problems.left_characters >= 0:
                return text
            millions = MAX_CHARACTERS_OF_FILES >> 20
            self.problem(key, f"the files named here have more than {millions} Mi characters")
        except WanlabError as error:
            self.problem(key, error.what, error.hint)
        except UnicodeDecodeError:
            self.problem(key, f"{path} is not UTF-8 text")
        return None

    def word(self, key: str) -> str | None:
        """Return a text; a number, as some programs write it, becomes its text."""
        value = self.value(key)
        return str(value) if _is_number(value) else self.text(key)

    def integer(self, key: str) -> int | None:
        """Return a whole number; MiniEdit writes some of them as texts."""
        value = self.value(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, str) and _INTEGER.fullmatch(value):
            return int(value)
        self._refuse_unless_missing(key, "a whole number")
        return None

    def number(self, key: str) -> float | None:
        """Return a finite number; MiniEdit writes coordinates as texts, and "1e6" is one in YAML."""
        value = self.value(key)
        try:
            if isinstance(value, (int, float, str)) and not isinstance(value, bool):
                number = float(value)
                if isfinite(number):
                    return number
        except (ValueError, OverflowError):
            pass  # reported below, like everything else that is not a number
        self._refuse_unless_missing(key, "a number")
        return None

    def flag(self, key: str) -> bool | None:
        value = self.value(key)
        if isinstance(value, bool):
            return value
        self._refuse_unless_missing(key, "true or false")
        return None

    def parsed(self, key: str, parse: Callable[[object], Value]) -> Value | None:
        """Return the result of `parse` for the value.

        None if the value is missing or `parse` raises WanlabError, which becomes a problem.
        """
        value = self.value(key)
        try:
            return None if value is None else parse(value)
        except WanlabError as error:
            self.problem(key, error.what, error.hint)
            return None

    # -- values inside ----------------------------------------------------------------------------

    def mapping(self, key: str) -> Fields:
        """Return the fields of a mapping inside; no fields if it is missing."""
        value = self.value(key)
        return Fields({} if value is None else value, self.path_of(key), self.problems)

    def items(self, key: str) -> Iterator[tuple[str, object]]:
        """Yield the path and value of each item of a list; nothing if the list is missing."""
        value = self.value(key)
        if not isinstance(value, list):
            self._refuse_unless_missing(key, "a list")
            return
        if len(value) > MAX_ITEMS:
            self.problem(key, f"{len(value)} items are more than {MAX_ITEMS}")
            return
        for index, item in enumerate(value):
            yield f"{self.path_of(key)}[{index}]", item

    def mappings(self, key: str) -> Iterator[Fields]:
        """Yield the fields of each mapping in a list."""
        for path, item in self.items(key):
            yield Fields(item, path, self.problems)

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts."""
        texts = []
        for path, value in self.items(key):
            if isinstance(value, str):
                texts.append(value)
            else:
                self.problems.add(path, f"{describe(value)} is not a string")
        return tuple(texts)

    def words(self, key: str) -> tuple[str, ...]:
        """Return one text, or a list of them; numbers count as texts."""
        value = self.value(key)
        if isinstance(value, list):
            words = []
            for path, item in self.items(key):
                if isinstance(item, str) or _is_number(item):
                    words.append(str(item))
                else:
                    self.problems.add(path, f"{describe(item)} is not a string")
            return tuple(words)
        word = self.word(key)
        return () if word is None else (word,)

    # -- the remaining fields ---------------------------------------------------------------------

    def rest(self) -> dict[str, object]:
        """Return the fields that have not been requested."""
        return {key: value for key, value in self._data.items() if key not in self._requested}

    def rest_unlike(self, canonical: Mapping[str, object]) -> dict[str, object]:
        """Return the fields that `canonical` lacks or writes differently."""
        return {
            key: value for key, value in self._data.items() if not _is_same(canonical, key, value)
        }

    def refuse_rest(self, synonyms: Mapping[str, str] | None = None) -> None:
        """Report every field that has not been requested.

        `synonyms` has the field for words of other programs: {"gateway": "default_route"}.
        """
        for key in self.rest():
            word = (synonyms or {}).get(str(key), str(key))
            hint = did_you_mean(word, sorted(self._requested))
            self.problem(key, f'unknown field "{key}"', hint)

    def _refuse_unless_missing(self, key: str, kind: str) -> None:
        value = self._data.get(key)
        if value is not None:
            self.problem(key, f"{describe(value)} is not {kind}")


def describe(value: object) -> str:
    """Return a value as the author of the file would recognise it."""
    if isinstance(value, str):
        is_short = len(value) <= MAX_QUOTED_CHARACTERS
        return f'"{value}"' if is_short else f'"{value[:MAX_QUOTED_CHARACTERS]}..."'
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    return repr(value)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_same(canonical: Mapping[str, object], key: str, value: object) -> bool:
    """Compare kinds, too: 1, 1.0 and true are equal in Python and different in a file."""
    return key in canonical and repr(canonical[key]) == repr(value)
