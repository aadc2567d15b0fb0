"""`wanlab replay`: repeats a recorded session, shows it, and can continue it in our terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from wanlab import Network, Process
from wanlab.errors import WanlabError
from wanlab.labs.session_work import read_session
from wanlab.session import Difference, RecordedSession
from wanlab.units import parse_time

from . import execute
from .exec_options import ExecOptions
from .progress import ReplayProgress

DIFFERENT = 1


def run(
    file: Path,
    *,
    until: str | None,
    hands_over: bool,
    verifies: bool,
    speed: float | None,
    folder: Path | None,
    session_file: Path | None,
    anyway: bool,
) -> int:
    """Replay a session; return the exit status."""
    if hands_over and verifies:
        raise WanlabError("--verify and --continue cannot be combined", "leave one out")
    session = read_session(file)
    until_ns = None if until is None else parse_time(until)
    _report_differences(session, folder)
    screen = None if hands_over or verifies else Screen(session)
    network = Network.replay(
        session,
        until=until_ns,
        folder=folder,
        record=session_file or False,
        anyway=anyway,
        speed=speed,
        on_output=screen.show if screen else None,
    )
    if hands_over:
        return _continue(network, session)
    if screen is None and sys.stderr.isatty():
        network.on_time = ReplayProgress().show
    with network:
        if screen is not None:
            screen.end()
        shown_ns, difference = network.now_ns, network.session.difference
    if difference is not None:
        print(_explain(session, difference), file=sys.stderr)
        return DIFFERENT if verifies else 0
    if verifies:
        print(f"equal: all output up to {_seconds(shown_ns)} is as it was recorded")
    return 0


def _report_differences(session: RecordedSession, folder: Path | None) -> None:
    from wanlab.network.replay import differences_here

    for text in differences_here(session):
        print(f"wanlab: this computer differs from the recording's: {text}", file=sys.stderr)
    if session.is_cut:
        after = _seconds(session.end_ns - session.epoch_ns)
        print(
            f"wanlab: the session was cut short: the program that recorded it was killed after {after}",
            file=sys.stderr,
        )
    if not session.has_files and folder is None:
        print(
            f"wanlab: the session does not contain the files of its working folder: "
            f"{session.header.files_left_out} (give a copy of the folder with --folder)",
            file=sys.stderr,
        )
    for text in session.unrepeatable():
        print(f"wanlab: {text}", file=sys.stderr)


def _explain(session: RecordedSession, difference: Difference) -> str:
    instant = _seconds(max(0, difference.at_ns - session.epoch_ns))
    terminal = difference.terminal or "the machine"
    return (
        f"wanlab: the replay differs from {instant} on, in {terminal}:\n"
        f"  recorded: {difference.recorded}\n"
        f"  replayed: {difference.replayed}"
    )


def _seconds(time_ns: int) -> str:
    return f"{time_ns / 1e9:.9f}".rstrip("0").rstrip(".") + " s"


class Screen:
    """Shows the output of processes.

    The output of a single process is shown unchanged. If there are several, each line begins with its
    instant and its node.
    """

    def __init__(self, session: RecordedSession) -> None:
        self._is_plain = len(session.user_processes()) == 1
        self._unfinished: dict[int, bytearray] = {}
        self._names: dict[int, str] = {}

    def show(self, time_ns: int, process: Process, data: bytes) -> None:
        if self._is_plain:
            self._write(data)
            return
        waiting = self._unfinished.setdefault(process.number, bytearray())
        self._names[process.number] = process.node or "root"
        waiting += data
        *lines, rest = waiting.split(b"\n")
        for line in lines:
            self._write(self._prefix(time_ns, process.number) + line.rstrip(b"\r") + b"\n")
        self._unfinished[process.number] = bytearray(rest)

    def end(self) -> None:
        """Show the last line of each process, if it does not end with a newline."""
        for number, rest in self._unfinished.items():
            if rest:
                self._write(f"{'':>12}  {self._names[number]}: ".encode() + rest + b"\n")

    def _prefix(self, time_ns: int, number: int) -> bytes:
        return f"{time_ns / 1e9:12.6f}  {self._names[number]}: ".encode()

    def _write(self, data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def _continue(network: Network, session: RecordedSession) -> int:
    """Replay, show the last program's output, and connect our terminal to it."""

    def continued_program(command: list[str], **options: Any) -> Process:
        running = [process for process in network.session.processes if process.is_running]
        if not running:
            raise WanlabError(
                f"no program of the session was running at {_seconds(network.now_ns)}",
                "choose an earlier time with --until",
            )
        in_terminals = [process for process in running if process.has_terminal]
        process = (in_terminals or running)[-1]
        terminal: tuple[int, int] | None = options.get("terminal")
        if process.has_terminal and terminal is None:
            raise WanlabError(
                "the recorded program needs a terminal", "run this command in a terminal"
            )
        on_output = options["on_output"]
        on_output(process.output_bytes)
        process.show_on(on_output, options.get("on_stderr"))
        if process.has_terminal and terminal is not None:
            process.resize(*terminal)
        network.session.deliver_open_requests()
        return process

    options = ExecOptions(stdin_is_for_prompt=session.has_prompt)
    return execute.run_in(network, continued_program, ["replay"], options)
