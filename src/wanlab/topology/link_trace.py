"""Links that deliver when a recorded one did: the trace files of mahimahi.

A file has a line for each delivery opportunity: the ms, counted from the beginning, at which
OPPORTUNITY_BYTES could pass (Netravali et al., Mahimahi, USENIX ATC 2015). Lines of the same ms are
that many opportunities at once. After the last line all begin again, counted from the last one, unless
the link's `trace_once` says that nothing passes any more.

    trace="lte.trace"        the file, in a topology file: beside it
    trace="1 1 2 5 9"        the numbers themselves
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from wanlab.errors import WanlabError

OPPORTUNITY_BYTES = 1504
"""A packet of 1500 bytes, and the 4 bytes with which mahimahi counts each."""
MAX_MS = 2**32 - 1
MAX_OPPORTUNITIES = 16 << 20
_NUMBERS = re.compile(r"[0-9\s]+")


@dataclass(frozen=True)
class LinkTrace:
    """Instants at which a link can deliver. Where it was read from makes no difference."""

    at_ms: tuple[int, ...]
    file: str = field(default="", compare=False)

    @property
    def duration_ms(self) -> int:
        """Of one lap."""
        return self.at_ms[-1]

    @property
    def mean_bps(self) -> float:
        """What it can carry, of packets as large as they may be."""
        return len(self.at_ms) * OPPORTUNITY_BYTES * 8000 / self.duration_ms


TraceWords: TypeAlias = str | Path | Sequence[int] | LinkTrace


def read_trace(words: object) -> LinkTrace:
    """A file's name, numbers in a text, a list of numbers, or a trace itself."""
    if isinstance(words, LinkTrace):
        return words
    if isinstance(words, int) and not isinstance(words, bool):
        return trace_of(str(words))
    if isinstance(words, list | tuple):
        return trace_of("\n".join(map(str, words)))
    if not isinstance(words, str | Path) or not str(words):
        raise WanlabError(f"{words!r} is no trace", "name its file")
    if isinstance(words, str) and is_numbers(words):
        return trace_of("\n".join(words.split()))
    return replace(trace_of(_text_of(Path(words)), str(words)), file=str(words))


def is_numbers(text: str) -> bool:
    """Whether it is a trace itself, and names none."""
    return _NUMBERS.fullmatch(text) is not None


def trace_words(trace: LinkTrace | None) -> str:
    assert trace is not None, "a trace of None is the default, which is not written"
    return trace.file or " ".join(map(str, trace.at_ms))


def trace_of(text: str, name: str = "the trace") -> LinkTrace:
    """The trace that a file of this content has. WanlabError names the first line that is wrong."""
    at_ms = []
    last = 0
    for number, line in enumerate(text.splitlines(), 1):
        said = line.strip()
        if not said.isascii() or not said.isdecimal() or len(said) > 10 or int(said) > MAX_MS:
            raise WanlabError(
                f'{name}, line {number}: "{line[:40]}" is no number of ms',
                "a trace has a whole number in each line: when a packet could pass",
            )
        at = int(said)
        if at < last:
            raise WanlabError(
                f"{name}, line {number}: {at} is before {last}, in the line above",
                "the numbers count from the beginning, and never go back",
            )
        at_ms.append(at)
        last = at
    if not last:
        raise WanlabError(
            f"{name} has no opportunity after the beginning",
            "its last number is how long it lasts, before it begins again",
        )
    if len(at_ms) > MAX_OPPORTUNITIES:
        raise WanlabError(f"{name} has {len(at_ms)} lines", f"at most {MAX_OPPORTUNITIES}")
    return LinkTrace(tuple(at_ms))


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError as error:
        raise WanlabError(f"cannot read the trace {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise WanlabError(f"{path} is no trace", "it has a number in each line") from None
