"""Compares the frames that a machine sends in a replay with the recorded ones, one by one.

The resources of processes (memory, page faults) are not compared, because they depend on the lengths
of paths. Digests of programs are not compared either, because they differ between computers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wanlab.agent.messages import Frame, Kind

from .frames import JSON_KINDS, RecordedFrame, StartCall, call_of
from .recorded import ReceivedFrame, RecordedSession, SentPiece

COMPUTER_CALLS = ("program_files", "changed_programs", "prepare")
SHOWN_CHARACTERS = 60


@dataclass(frozen=True)
class Difference:
    """The first difference between a session and its replay."""

    at_ns: int
    """On the machine's clock."""
    terminal: str
    """The name of the process, "h1: ping h2"; "" for the machine itself."""
    recorded: str
    replayed: str


class SessionComparison:
    """Compares a replay with its session and keeps the first difference."""

    def __init__(self, session: RecordedSession) -> None:
        self.difference: Difference | None = None
        self._expected = self._frames(session)
        self._names: dict[int, str] = {}
        self._calls: dict[int, str] = {}
        self.compared = 0
        """The number of equal frames so far."""

    @staticmethod
    def _frames(session: RecordedSession) -> Iterator[ReceivedFrame]:
        return (moment for moment in session.moments if isinstance(moment, ReceivedFrame))

    def sent(self, piece: SentPiece) -> None:
        """Learn the names of processes and calls from frames that are sent to the agent."""
        for frame in piece.frames:
            if frame.kind is Kind.CALL:
                call = call_of(frame)
                self._calls[frame.number] = call.do
                if isinstance(call, StartCall):
                    self._names[call.number] = process_name(call)

    def received(self, at_ns: int, frame: Frame) -> None:
        """Compare the next frame of the replay."""
        if self.difference is not None:
            return
        expected = next(self._expected, None)
        if expected is None:
            return  # the recording of a killed session ends early
        recorded = expected.frame
        replayed = RecordedFrame.of(frame, keeps_body=not recorded.sha256)
        if expected.at_ns == at_ns and self._are_equal(recorded, replayed):
            self.compared += 1
            return
        self.difference = Difference(
            min(at_ns, expected.at_ns),
            self._terminal(replayed),
            _shown(expected.at_ns, recorded, at_ns),
            _shown(at_ns, replayed, expected.at_ns),
        )

    def ended(self, at_ns: int) -> None:
        """End the comparison. A recorded frame before `at_ns` that is missing is a difference."""
        if self.difference is not None:
            return
        expected = next(self._expected, None)
        if expected is not None and expected.at_ns < at_ns:
            self.difference = Difference(
                expected.at_ns,
                self._terminal(expected.frame),
                _shown(expected.at_ns, expected.frame, expected.at_ns),
                "nothing",
            )

    def _are_equal(self, a: RecordedFrame, b: RecordedFrame) -> bool:
        if (a.kind, a.number) != (b.kind, b.number):
            return False
        if a.kind is Kind.ENDED:
            return a.status == b.status
        return a == b or (a.kind is Kind.REPLY and self._calls.get(a.number) in COMPUTER_CALLS)

    def _terminal(self, frame: RecordedFrame) -> str:
        if frame.kind in (Kind.REPLY, Kind.FAILURE, Kind.DATA):
            return f"the answer to the call {self._calls.get(frame.number, frame.number)}"
        return self._names.get(frame.number, "")


def process_name(call: StartCall) -> str:
    """Return the name of a process that a call starts: "h1: ping h2"."""
    arguments = call.arguments
    if arguments[:2] == ["/bin/bash", "-c"]:
        arguments = arguments[2:]
    return f"{call.node or 'root'}: {' '.join(arguments)}"


def _shown(at_ns: int, frame: RecordedFrame, other_at_ns: int) -> str:
    """Describe a frame for the report of a difference, with its instant if the instants differ."""
    if frame.sha256:
        content = f"{frame.bytes} bytes with SHA-256 {frame.sha256[:12]}"
    elif frame.kind is Kind.ENDED:
        content = f"ended with status {frame.status}"
    elif frame.kind in JSON_KINDS:
        content = repr(frame.body)[:SHOWN_CHARACTERS]
    else:
        content = repr(frame.text or frame.base64)[:SHOWN_CHARACTERS]
    return (
        content
        if at_ns == other_at_ns
        else f"{content} at {at_ns / 1e9:.9f} s of the machine's clock"
    )
