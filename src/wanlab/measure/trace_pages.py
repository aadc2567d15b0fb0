"""Parse the pages of the kernel's trace ring and the events in them.

    page    | time u64 | length, flags u64 | event | event | ...                4096 bytes
    event   | type 5 bits, time since the previous event 27 bits | data ... |

`type` 1 to 28 is the length of the data in words. 0: the length is in the first word; 29: padding; 30:
the high bits of a long time; 31: the whole time (include/linux/ring_buffer.h, kernel/trace/ring_buffer.c
of Linux 6.12). The kernel describes the layout of the data as text (the "format" of each event).

All pages are parsed in parallel with numpy: the n-th event of every page at once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from wanlab.errors import PeerError

from .columns import Array

PAGE_BYTES = 4096
PAGE_WORDS = PAGE_BYTES // 4
HEADER_WORDS = 4
LENGTH_MASK = (1 << 30) - 1  # above it: flags that events were lost before this page
PADDING, EXTENSION, STAMP = 29, 30, 31
TIME_BITS = 27
STAMP_HIGH = np.uint64(0xF8 << 56)  # a whole time lacks these bits; the page's time has them

_FIELD = re.compile(
    r"field:(?P<type>[^;]*?)\s*(?P<name>\w+)(?P<array>\[\d*\])?;"
    r"\s*offset:(?P<offset>\d+);\s*size:(?P<size>\d+);\s*signed:(?P<signed>\d);"
)
_SYMBOL = re.compile(r'\{ (\d+), "(\w+)" \}')


@dataclass(frozen=True)
class EventFormat:
    """One kind of event."""

    number: int
    dtype: np.dtype[Any]
    texts: frozenset[str]
    """Fields with text, which is after the fixed part; the field holds its offset and length."""
    symbols: Mapping[int, str]
    """The names that the kernel prints for values."""

    @classmethod
    def of(cls, text: str) -> EventFormat:
        number = re.search(r"^ID: (\d+)$", text, re.MULTILINE)
        names, kinds, offsets, texts = [], [], [], set()
        for field in _FIELD.finditer(text):
            size = int(field["size"])
            if "__data_loc" in field["type"]:
                texts.add(field["name"])
            kind = f"V{size}"
            if size in (1, 2, 4, 8) and not field["array"]:
                kind = f"<{'i' if field['signed'] == '1' else 'u'}{size}"
            names.append(field["name"])
            kinds.append(kind)
            offsets.append(int(field["offset"]))
        if number is None or not names:
            raise PeerError(f"cannot parse the kernel's format of an event: {text!r}")
        shape: Any = {"names": names, "formats": kinds, "offsets": offsets}
        symbols = {int(value): name for value, name in _SYMBOL.findall(text)}
        return cls(int(number[1]), np.dtype(shape), frozenset(texts), symbols)


@dataclass(frozen=True)
class Events:
    """Events of one kind: their times, their order in the ring, and their fields."""

    times_ns: Array
    order: Array
    fields: Array
    texts: Mapping[str, list[str]]


def decode(data: bytes, formats: Mapping[str, EventFormat]) -> dict[str, Events]:
    """Parse all events in whole pages; return them by the names of their formats."""
    if len(data) % PAGE_BYTES:
        raise PeerError(f"the kernel sent {len(data)} bytes of trace, not whole pages")
    octets = np.frombuffer(data, dtype=np.uint8)
    starts, times = _find_events(octets.view("<u4").reshape(-1, PAGE_WORDS))
    # The data of an event begins with the number of its format.
    numbers = octets.view("<u2")[starts // 2] if len(starts) else starts
    events = {}
    for name, form in formats.items():
        (order,) = np.nonzero(numbers == form.number)
        data_starts = starts[order]
        rows = octets[data_starts[:, None] + np.arange(form.dtype.itemsize)]
        fields = (
            np.ascontiguousarray(rows).view(form.dtype)[:, 0]
            if len(rows)
            else np.empty(0, form.dtype)
        )
        texts = {field: _texts(data, data_starts, fields[field]) for field in form.texts}
        events[name] = Events(times[order], order, fields, texts)
    return events


def _find_events(pages: Array) -> tuple[Array, Array]:
    """Return the offset of the data of each event, and its time, in the order of the ring.

    Each round of the loop reads the next entry of every page that has one.
    """
    page_times = pages[:, 0].astype(np.uint64) | pages[:, 1].astype(np.uint64) << np.uint64(32)
    end_words = HEADER_WORDS + (pages[:, 2] & LENGTH_MASK).astype(np.int64) // 4
    page = np.nonzero(end_words > HEADER_WORDS)[0]
    word = np.full(len(page), HEADER_WORDS)
    time = page_times[page]
    event_pages, data_words, event_times = [], [], []
    while len(page):
        head = pages[page, word]
        kind, delta = head & 31, (head >> 5).astype(np.uint64)
        # The word after the head: a length in bytes, or the high bits of a time.
        second = pages[page, np.minimum(word + 1, PAGE_WORDS - 1)]
        long_time = (second.astype(np.uint64) << np.uint64(TIME_BITS)) + delta
        is_event, is_extension, is_stamp = kind < PADDING, kind == EXTENSION, kind == STAMP
        time = time + np.where(is_event, delta, np.uint64(0))
        time[is_extension] += long_time[is_extension]
        time[is_stamp] = (long_time | (page_times[page] & STAMP_HIGH))[is_stamp]
        event_pages.append(page[is_event])
        data_words.append((word + 1 + (kind == 0))[is_event])
        event_times.append(time[is_event])
        word = word + 1 + _length_words(kind, delta, second)
        has_more = word < end_words[page]
        page, word, time = page[has_more], word[has_more], time[has_more]
    if not event_pages:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    all_pages, all_words = np.concatenate(event_pages), np.concatenate(data_words)
    order = np.lexsort((all_words, all_pages))
    starts = (all_pages * PAGE_BYTES + all_words * 4)[order]
    return starts, np.concatenate(event_times).astype(np.int64)[order]


def _length_words(kind: Array, delta: Array, second: Array) -> Array:
    """Return the length of each entry in words, without its head."""
    is_padding = kind == PADDING
    words: Array = np.where((kind == 0) | is_padding, second // 4, kind).astype(np.int64)
    words[kind >= EXTENSION] = 1
    words[is_padding & (delta == 0)] = PAGE_WORDS  # the rest of the page is empty
    return words


def _texts(data: bytes, starts: Array, locations: Array) -> list[str]:
    """Decode texts after the fixed part of events.

    `locations` have the offset of a text in the low 16 bits and its length in the high ones.
    """
    begins = starts + (locations & 0xFFFF)
    lengths = locations >> 16
    known: dict[bytes, str] = {}
    texts = []
    for begin, length in zip(begins.tolist(), lengths.tolist(), strict=True):
        raw = data[begin : begin + length]
        text = known.get(raw)
        if text is None:
            text = known[raw] = raw.partition(b"\0")[0].decode(errors="replace")
        texts.append(text)
    return texts
