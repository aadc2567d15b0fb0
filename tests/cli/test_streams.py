"""Test our own standard streams, without a machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from wanlab.cli.streams import CHUNK, MAX_LOST_BYTES, WINDOW_BYTES, Abandoned, Input, Output
from wanlab.cli.time_slices import MAX_NS, SHORT_NS, TimeSlices


class Reader:
    """Stands in for a process that reads standard input, with limited space in its buffer."""

    def __init__(self) -> None:
        self.data = b""
        self.left_bytes: int | None = 0
        self.has_ended = False

    def write(self, data: bytes) -> None:
        self.data += data
        if self.left_bytes is not None:
            self.left_bytes += len(data)

    def end_input(self) -> None:
        self.has_ended = True

    def input_left_bytes(self) -> int | None:
        return self.left_bytes


@pytest.fixture
def reader() -> Reader:
    return Reader()


def opened(path: Path, content: bytes) -> int:
    path.write_bytes(content)
    return os.open(path, os.O_RDONLY)


def test_a_file_is_forwarded_to_its_end(reader: Reader, tmp_path: Path) -> None:
    stdin = Input(reader, opened(tmp_path / "in", b"hello"))
    assert stdin.pass_on()
    assert (reader.data, reader.has_ended, stdin.is_open) == (b"hello", True, False)


def test_available_bytes_of_a_pipe_are_forwarded(reader: Reader) -> None:
    ours, theirs = os.pipe()
    stdin = Input(reader, ours)
    assert not stdin.pass_on()
    os.write(theirs, b"one")
    assert stdin.pass_on()
    assert (reader.data, reader.has_ended) == (b"one", False)
    os.close(theirs)
    assert stdin.pass_on()
    assert reader.has_ended


def test_no_more_is_forwarded_than_fits_into_the_window(reader: Reader, tmp_path: Path) -> None:
    content = bytes(3 * WINDOW_BYTES)
    stdin = Input(reader, opened(tmp_path / "in", content))
    stdin.pass_on()
    assert len(reader.data) == WINDOW_BYTES
    assert not stdin.pass_on()
    reader.left_bytes = WINDOW_BYTES - CHUNK
    assert stdin.pass_on()
    assert len(reader.data) == WINDOW_BYTES + CHUNK
    reader.left_bytes = 0
    for _ in range(3):
        stdin.pass_on()
        reader.left_bytes = 0
    assert (reader.data == content, reader.has_ended) == (True, True)


def test_nothing_is_forwarded_to_a_process_that_has_closed_its_input(reader: Reader) -> None:
    stdin = Input(reader, os.open("/dev/zero", os.O_RDONLY))
    reader.left_bytes = None
    stdin.pass_on()
    assert (len(reader.data), stdin.is_open) == (WINDOW_BYTES, False)


def test_empty_input_ends_at_once(reader: Reader) -> None:
    assert not Input(reader, os.open(os.devnull, os.O_RDONLY)).is_open
    assert reader.has_ended


def test_output_reaches_its_descriptor() -> None:
    ours, theirs = os.pipe()
    output = Output(theirs)
    output.write(b"hello")
    assert os.read(ours, 100) == b"hello"
    assert (output.is_gone, output.written_bytes, output.lost_bytes) == (False, 5, 0)


def test_output_without_a_reader_is_counted() -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    output = Output(theirs)
    output.write(b"hello")
    output.write(b"again")
    assert (output.is_gone, output.error, output.lost_bytes) == (True, "", 10)


def test_endless_output_without_a_reader_is_abandoned_once() -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    output = Output(theirs)
    with pytest.raises(Abandoned):
        output.write(bytes(MAX_LOST_BYTES + 1))
    output.write(b"more")
    assert output.lost_bytes == MAX_LOST_BYTES + 5


def test_time_slices_grow_while_nothing_happens() -> None:
    time_slices = TimeSlices(always_short=False)
    lengths = []
    for _ in range(40):
        time_slices.update(False)
        lengths.append(time_slices.length_ns)
    assert (lengths[0], lengths[-1], lengths) == (2 * SHORT_NS, MAX_NS, sorted(lengths))
    time_slices.update(True)
    assert (time_slices.length_ns, time_slices.is_idle) == (SHORT_NS, False)


def test_time_slices_stay_short_on_the_real_clock() -> None:
    time_slices = TimeSlices(always_short=True)
    time_slices.update(False)
    assert time_slices.length_ns == SHORT_NS
