"""Compares the frames that a machine sends in a replay with the recorded ones, one by one.

The resources of processes (memory, page faults) are not compared, because they depend on the lengths
of paths. Digests of programs are not compared either, because they differ between computers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wanlab.agent.messages import Frame, Kind

from .lines import Line, frame_to_plain
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
                call = frame.json()
                self._calls[frame.number] = str(call["do"])
                if call["do"] == "start":
                    self._names[call["number"]] = process_name(call)

    def received(self, at_ns: int, frame: Frame) -> None:
        """Compare the next frame of the replay."""
        if self.difference is not None:
            return
        expected = next(self._expected, None)
        if expected is None:
            return  # the recording of a killed session ends early
        is_digest = "sha256" in expected.plain
        plain = frame_to_plain(frame, keeps_body=not is_digest)
        if expected.at_ns == at_ns and self._compared_part(expected.plain) == self._compared_part(
            plain
        ):
            self.compared += 1
            return
        self.difference = Difference(
            min(at_ns, expected.at_ns),
            self._terminal(plain),
            _shown(expected.at_ns, expected.plain, at_ns),
            _shown(at_ns, plain, expected.at_ns),
        )

    def ended(self, at_ns: int) -> None:
        """End the comparison. A recorded frame before `at_ns` that is missing is a difference."""
        if self.difference is not None:
            return
        expected = next(self._expected, None)
        if expected is not None and expected.at_ns < at_ns:
            self.difference = Difference(
                expected.at_ns,
                self._terminal(expected.plain),
                _shown(expected.at_ns, expected.plain, expected.at_ns),
                "nothing",
            )

    def _compared_part(self, plain: Line) -> Line:
        if "ended" in plain:
            return {"ended": plain["ended"], "status": plain["body"]["status"]}
        if self._calls.get(plain.get("reply", 0)) in COMPUTER_CALLS:
            return {"reply": plain["reply"]}
        return plain

    def _terminal(self, plain: Line) -> str:
        kind, number = next(iter(plain.items()))
        if kind in ("reply", "failure", "data"):
            return f"the answer to the call {self._calls.get(number, number)}"
        return self._names.get(number, "")


def process_name(call: Line) -> str:
    """Return the name of a process that a call starts: "h1: ping h2"."""
    arguments = list(call["arguments"])
    if arguments[:2] == ["/bin/bash", "-c"]:
        arguments = arguments[2:]
    return f"{call['node'] or 'root'}: {' '.join(arguments)}"


def _shown(at_ns: int, plain: Line, other_at_ns: int) -> str:
    """Describe a frame for the report of a difference, with its instant if the instants differ."""
    if "sha256" in plain:
        content = f"{plain['bytes']} bytes with SHA-256 {plain['sha256'][:12]}"
    elif "ended" in plain:
        content = f"ended with status {plain['body']['status']}"
    elif "body" in plain:
        content = repr(plain["body"])[:SHOWN_CHARACTERS]
    else:
        content = repr(plain.get("text", plain.get("base64", "")))[:SHOWN_CHARACTERS]
    return (
        content
        if at_ns == other_at_ns
        else f"{content} at {at_ns / 1e9:.9f} s of the machine's clock"
    )
