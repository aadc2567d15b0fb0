"""What the user gave the programs of a session from an instant on, to give it to a branch again.

A replay sends every recorded frame again, so it does exactly the same. A branch in which something was
changed does something else, and only what came from the user holds for it, too: programs that were
started, their keys and signals, and files that were put into the working folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass

from wanlab.agent.messages import Frame, Kind

from .frames import ResizeCall, SignalCall, StartCall, call_of
from .lines import FolderLine
from .recorded import Event, RecordedSession, SentPiece

UserCall = StartCall | SignalCall | ResizeCall


@dataclass(frozen=True)
class UserInput:
    """Something that the user did at an instant of the network's clock.

    what   a call that concerns `process`; keys for it; None: its input ended; or files that were
           written into the working folder, where `process` is 0
    """

    at_ns: int
    process: int
    what: UserCall | bytes | tuple[FolderLine, ...] | None


def user_inputs(
    session: RecordedSession, after_ns: int, processes: Set[int]
) -> Iterator[UserInput]:
    """Yield what these processes were given after an instant of the network's clock, in order."""
    epoch_ns = session.epoch_ns
    for moment in session.moments:
        at_ns = moment.at_ns - epoch_ns
        if at_ns <= after_ns:
            continue
        if isinstance(moment, SentPiece):
            for frame in moment.frames:
                given = _given(frame)
                if given is not None and given[0] in processes:
                    yield UserInput(at_ns, *given)
        elif isinstance(moment, Event) and moment.what == "upload":
            yield UserInput(at_ns, 0, tuple(moment.value))


def _given(frame: Frame) -> tuple[int, UserCall | bytes | None] | None:
    """Return the number of a process and what it was given; None if the frame is of another kind."""
    if frame.kind is Kind.INPUT:
        return frame.number, frame.body
    if frame.kind is Kind.INPUT_END:
        return frame.number, None
    if frame.kind is Kind.CALL and isinstance(call := call_of(frame), UserCall):
        return call.number, call
    return None
