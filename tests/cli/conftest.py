"""Runs the command line as its users do: as a program, with streams, signals and a status."""

from __future__ import annotations

import ctypes
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import forks
import pytest
from patience import PATIENCE_S


@dataclass(frozen=True)
class Ran:
    """What became of a run of wanlab."""

    status: int
    output: bytes
    errors: str
    left_behind: Sequence[str]
    """Command lines of processes that have outlived it."""


class Wanlab:
    """`wanlab` in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        forks.start_server()
        self._others = children(os.getpid())

    def start(
        self,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        **options: Any,
    ) -> subprocess.Popen[bytes]:
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        return forks.start(
            *arguments,
            cwd=self.folder,
            # Not the size of the terminal that the tests run in.
            environment={"COLUMNS": "80", **(environment or {})},
            start_new_session=True,
            **{**pipes, **options},
        )

    def end(self, process: subprocess.Popen[bytes], input: bytes | None = None) -> Ran:
        try:
            output, errors = process.communicate(input, timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        # A kernel whose sockets were closed a moment ago ends by itself.
        give_up = time.monotonic() + PATIENCE_S
        while (left := self._left_behind()) and time.monotonic() < give_up:
            time.sleep(0.01)
        return Ran(process.returncode, output or b"", (errors or b"").decode(), left)

    def _left_behind(self) -> list[str]:
        """But for what other tests have started, a browser for example."""
        now = children(os.getpid())
        return [words for pid, words in now.items() if pid not in self._others]

    def __call__(self, *arguments: str, input: bytes | None = None, **options: Any) -> Ran:
        if input is None:
            options = {"stdin": subprocess.DEVNULL, **options}
        return self.end(self.start(*arguments, **options), input)


def children(parent: int) -> dict[int, str]:
    """The command lines of the processes that a process has started, or that fell to it, by number.

    Not of zombies.
    """
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            state, of, *_ = (entry / "stat").read_text().rpartition(")")[2].split()
            words = (entry / "cmdline").read_text().replace("\0", " ").strip()
            # One without words has no memory any more: it is just ending.
            if int(of) == parent and state != "Z" and words:
                found[int(entry.name)] = words
        except OSError:  # it ended while we looked
            continue
    return found


@pytest.fixture
def wanlab(tmp_path: Path) -> Iterator[Wanlab]:
    """Whatever it leaves behind becomes a child of ours."""
    set_child_subreaper = 36
    libc = ctypes.CDLL(None)
    assert libc.prctl(set_child_subreaper, 1) == 0
    yield Wanlab(tmp_path)
    libc.prctl(set_child_subreaper, 0)
