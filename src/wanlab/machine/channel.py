"""The machine's side of the channel to its agent: calls and their answers, processes and their output.

This module has no socket: bytes come in through `feed` and go out through `write`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Protocol

from wanlab.agent.bursts import REQUEST_BYTES
from wanlab.agent.messages import MAX_BODY_BYTES, Frame, FrameReader, Kind, encode, encode_json
from wanlab.errors import CommandError, InputError, PeerError

ANSWERS = (Kind.REPLY, Kind.FAILURE, Kind.DATA)
MAX_REQUESTS_BYTES = 64 << 20
MAX_SHORT_BYTES = 1 << 20
"""JSON up to this length takes little memory, whatever it contains."""


class Listener(Protocol):
    """Receives the output and the end of one process, or the readings of one watch."""

    def output_arrived(self, kind: Kind, data: bytes) -> None: ...

    def ended(self, result: dict[str, int]) -> None:
        """`result` has the exit status and the resources used: see `wanlab.agent.processes`."""
        ...


class AgentFailure(CommandError):
    """The agent could not perform a call.

    `kind` is the class of its exception, such as "FileNotFoundError". `index` says which operation of a
    list failed.
    """

    def __init__(self, error: str, kind: str, index: int | None = None) -> None:
        super().__init__(error)
        self.kind = kind
        self.index = index


class Channel:
    """Numbers calls and processes, and matches the agent's frames with these numbers."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._reader = FrameReader(self._check_header)
        self._numbers = count(1)
        self._answers: dict[int, Frame | None] = {}
        self._listeners: dict[int, Listener] = {}
        self._requests: deque[Frame] = deque()
        self._requests_bytes = 0
        self.on_request: Callable[[Frame], None] | None = None
        """Called with each REQUEST, REQUEST_DATA and REQUEST_END frame, after all other frames."""
        self.serve: Callable[[], None] = lambda: None
        """Called repeatedly while time may pass, to serve connections outside the machine."""
        self.on_frame: Callable[[Frame], None] | None = None
        """Called with each frame that arrives, before it is processed."""
        self.is_ready = False

    # -- calls ------------------------------------------------------------------------------------

    def call(self, name: str, /, **arguments: object) -> int:
        """Send a call; return the number under which `answer` will have its result."""
        number = next(self._numbers)
        self._answers[number] = None
        self._write(encode_json(Kind.CALL, number, {"do": name, **arguments}))
        return number

    def is_answered(self, number: int) -> bool:
        return self._answers[number] is not None

    def answer(self, number: int) -> object:
        """Return the JSON value or the bytes that a call returned. AgentFailure if it failed.

        PeerError if that cannot be read.
        """
        frame = self._answers.pop(number)
        assert frame is not None, f"call {number} has not been answered"
        if frame.kind is Kind.FAILURE:
            raise _failure(frame)
        return frame.body if frame.kind is Kind.DATA else _json(frame)

    # -- processes --------------------------------------------------------------------------------

    def new_process(self, listener: Listener) -> int:
        """Return a number for a process or a watch; `listener` receives its output."""
        number = next(self._numbers)
        self._listeners[number] = listener
        return number

    def forget_process(self, number: int) -> None:
        self._listeners.pop(number, None)

    def input(self, number: int, data: bytes) -> None:
        for start in range(0, len(data), MAX_BODY_BYTES):
            self._write(encode(Kind.INPUT, number, data[start : start + MAX_BODY_BYTES]))

    def end_input(self, number: int) -> None:
        self._write(encode(Kind.INPUT_END, number))

    # -- requests of programs in the machine ------------------------------------------------------

    @property
    def has_requests(self) -> bool:
        """Whether requests wait to be delivered."""
        return bool(self._requests)

    def deliver_requests(self) -> None:
        """Pass the waiting requests to `on_request`."""
        while self._requests and self.on_request is not None:
            frame = self._requests.popleft()
            self._requests_bytes -= len(frame.body) + REQUEST_BYTES
            self.on_request(frame)

    def answer_request(self, number: int, data: bytes) -> None:
        self._write(encode(Kind.ANSWER, number, data))

    def end_request(self, number: int) -> None:
        self._write(encode(Kind.ANSWER_END, number))

    # -- repeating a recorded session -------------------------------------------------------------

    def repeat(self, data: bytes, frames: Sequence[Frame]) -> None:
        """Send bytes that another channel has sent before. `frames` are the frames that end in them."""
        for frame in frames:
            if frame.kind is Kind.CALL:
                self._answers[frame.number] = None
        self._write(data)

    def adopt_process(self, number: int, listener: Listener) -> None:
        """Pass the output of a process that has a number already to `listener`."""
        self._listeners[number] = listener

    @property
    def listeners(self) -> Iterable[Listener]:
        """The receivers of output: processes and watches."""
        return self._listeners.values()

    def finish_repeating(self, highest_number: int) -> None:
        """Continue with our own calls. Their numbers are above the highest that was repeated."""
        self._answers.clear()
        self._numbers = count(highest_number + 1)

    @property
    def awaits_answer(self) -> bool:
        """Whether a call has not been answered."""
        return None in self._answers.values()

    # -- frames from the agent --------------------------------------------------------------------

    def feed(self, data: bytes) -> None:
        """Process bytes from the agent. PeerError if they break the protocol."""
        try:
            frames = self._reader.feed(data)
        except ValueError as error:
            raise PeerError(f"the agent sent {error}") from None
        for frame in frames:
            self._receive(frame)

    def _check_header(self, kind: Kind, number: int) -> None:
        """Refuse an answer that nobody awaits before its body arrives."""
        if kind in ANSWERS and self._answers.get(number, kind) is not None:
            raise ValueError(f"an answer to call {number}, which awaits none")

    def _queue(self, request: Frame) -> None:
        # The agent lets time pass before there are this many (`agent.bursts`), if its kernel is ours.
        self._requests.append(request)
        self._requests_bytes += len(request.body) + REQUEST_BYTES
        if self._requests_bytes > MAX_REQUESTS_BYTES:
            raise PeerError(
                f"the agent sent more than {MAX_REQUESTS_BYTES >> 20} MiB of requests at one instant"
            )

    def _receive(self, frame: Frame) -> None:
        if self.on_frame is not None:
            self.on_frame(frame)
        if frame.kind is Kind.READY:
            self.is_ready = True
        elif frame.kind in ANSWERS:
            if self._answers.get(frame.number, frame) is not None:
                raise PeerError(f"the agent answered call {frame.number}, which awaits no answer")
            self._answers[frame.number] = frame
        elif frame.kind in (Kind.REQUEST, Kind.REQUEST_DATA, Kind.REQUEST_END):
            self._queue(frame)
        elif frame.kind not in (Kind.OUTPUT, Kind.STDERR, Kind.ENDED):
            raise PeerError(f"the agent sent a frame of kind {frame.kind.name}, which is ours")
        elif (listener := self._listeners.get(frame.number)) is None:
            return
        elif frame.kind is Kind.ENDED:
            listener.ended(_end_of_process(frame))
        else:
            listener.output_arrived(frame.kind, frame.body)


# -- the bodies of frames, which the agent's kernel may have written --------------------------------


def _json(frame: Frame) -> object:
    try:
        if len(frame.body) > MAX_SHORT_BYTES:
            # `mn --test` runs without installed libraries, so this one is loaded when it is needed.
            from wanlab.json_text import PLAIN, decode_json

            return decode_json(frame.body, PLAIN)
        return frame.json()
    except (ValueError, InputError) as error:
        raise PeerError(f"the agent sent a {frame.kind.name} that is no JSON: {error}") from None


def _failure(frame: Frame) -> AgentFailure:
    match _json(frame):
        case {"error": str(error), "kind": str(kind), **more}:
            index = more.get("index")
            if index is None or isinstance(index, int):
                return AgentFailure(error, kind, index)
    raise PeerError("the agent sent a failure without its reason")


def _end_of_process(frame: Frame) -> dict[str, int]:
    body = _json(frame)
    if not isinstance(body, dict) or type(body.get("status")) is not int:
        raise PeerError("the agent sent the end of a process without its status")
    return {str(name): number for name, number in body.items() if type(number) is int}
