"""Errors that a user can act on: what is wrong, as the user wrote it, and what to do about it.

    WanlabError             anything below; `what` names the thing and the cause, `hint` the remedy
    +-- InputError          a file or another input with mistakes; carries all of them at once
        +-- TopologyError   a network that cannot be built
    +-- RequirementError    this computer lacks something; the hint says how to provide it
    +-- MachineError        the kernel or the agent was lost; carries the console's last lines
    +-- CommandError        an operation or a process failed; carries its status and output
    +-- PeerError           the other side broke the protocol: which message, in which state
    +-- RecordError         a record cannot be read or written

Every user interface prints `str(error)` and nothing else. A mistake in our own code fails an `assert`
and is not one of these errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches


def reason_of(error: Exception) -> str:
    """Return why a file cannot be read or written, for a message that names the file itself."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return "it is not text in UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)


class WanlabError(Exception):
    """An error that the user can correct."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what, hint)
        self.what = what
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.what} ({self.hint})" if self.hint else self.what


@dataclass(frozen=True)
class Problem:
    """One mistake in an input: where it is, what it is, and what to do about it."""

    place: str
    what: str
    hint: str = ""

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        remedy = f" ({self.hint})" if self.hint else ""
        return f"{where}{self.what}{remedy}"


class InputError(WanlabError):
    """An input, such as a file, that cannot be used, with every problem found in it."""

    def __init__(self, problems: Sequence[Problem], source: str = "") -> None:
        assert problems, f"{type(self).__name__} needs at least one problem"
        self.problems = tuple(problems)
        self.source = source
        lines = [str(problem) for problem in problems]
        if len(lines) > 1:
            lines = [f"{len(lines)} problems", *(f"  {line}" for line in lines)]
        what = "\n".join(lines)
        super().__init__(f"{source}: {what}" if source else what)

    def __reduce__(self) -> tuple[type[InputError], tuple[Sequence[Problem], str]]:
        return type(self), (self.problems, self.source)


class TopologyError(InputError):
    """A topology that cannot be built, with every problem found in it."""


class RequirementError(WanlabError):
    """This computer lacks something that is needed."""


class MachineError(WanlabError):
    """The kernel or the agent was lost."""

    def __init__(self, what: str, hint: str = "", console: str = "") -> None:
        super().__init__(what, hint)
        self.console = console

    def __str__(self) -> str:
        return _with_tail(super().__str__(), "last lines of the console", self.console)

    def __reduce__(self) -> tuple[type[MachineError], tuple[str, str, str]]:
        return type(self), (self.what, self.hint, self.console)


class CommandError(WanlabError):
    """An operation or a process failed."""

    def __init__(
        self, what: str, hint: str = "", *, status: int | None = None, output: str = ""
    ) -> None:
        super().__init__(what, hint)
        self.status = status
        self.output = output

    def __str__(self) -> str:
        status = "" if self.status is None else f" [exit status {self.status}]"
        return _with_tail(super().__str__() + status, "last lines of its output", self.output)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.what, self.hint), {"status": self.status, "output": self.output}


class PeerError(WanlabError):
    """The other side of a connection sent a message that is not allowed in this state."""


class RecordError(WanlabError):
    """A record cannot be read or written."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a hint for a word that is not among the known ones."""
    words = list(known)
    nearest = get_close_matches(word, words, n=1)
    if nearest:
        return f"did you mean {nearest[0]}?"
    if not words:
        return "there are none"
    listed = words if len(words) <= MAX_WORDS_IN_HINT else [*words[:MAX_WORDS_IN_HINT], "..."]
    return f"choose from: {', '.join(listed)}"


MAX_WORDS_IN_HINT = 20
MAX_TAIL_LINES = 20


def _with_tail(message: str, title: str, text: str) -> str:
    """Return the message with the last lines of a program's output below it, indented."""
    lines = text.rstrip().splitlines()[-MAX_TAIL_LINES:]
    return "\n".join([message, f"{title}:", *(f"  {line}" for line in lines)]) if lines else message
