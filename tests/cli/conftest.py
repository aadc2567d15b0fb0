"""Runs the command line as its users do: as a program, with streams, signals and a status."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"
PROGRAM = [sys.executable, "-c", "from wanlab.cli import main; main()"]
REAL_S = 60
END_REAL_S = 3


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
        self._others = children(os.getpid())

    def start(
        self,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        before: Sequence[str] = (),
        **streams: Any,
    ) -> subprocess.Popen[bytes]:
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        return subprocess.Popen(
            [*before, *PROGRAM, *arguments],
            cwd=self.folder,
            env={
                **os.environ,
                "PYTHONPATH": str(SOURCE),
                "COLUMNS": "80",  # not the terminal's that the tests run in
                **(environment or {}),
            },
            start_new_session=True,
            **{**pipes, **streams},
        )

    def end(self, process: subprocess.Popen[bytes], input: bytes | None = None) -> Ran:
        try:
            output, errors = process.communicate(input, timeout=REAL_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        # A kernel whose sockets were closed a moment ago ends by itself.
        give_up = time.monotonic() + END_REAL_S
        while (left := self._left_behind()) and time.monotonic() < give_up:
            time.sleep(0.01)
        return Ran(process.returncode, output or b"", (errors or b"").decode(), left)

    def _left_behind(self) -> list[str]:
        """But for what other tests have started, a browser for example."""
        return [words for words in children(os.getpid()) if words not in self._others]

    def __call__(self, *arguments: str, input: bytes | None = None, **options: Any) -> Ran:
        if input is None:
            options = {"stdin": subprocess.DEVNULL, **options}
        return self.end(self.start(*arguments, **options), input)


def children(parent: int) -> list[str]:
    """Command lines of the processes that a process has started, or that fell to it. Not of zombies."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            state, of, *_ = (entry / "stat").read_text().rpartition(")")[2].split()
            words = (entry / "cmdline").read_text().replace("\0", " ").strip()
            # One without words has no memory any more: it is just ending.
            if int(of) == parent and state != "Z" and words:
                found.append(words)
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
