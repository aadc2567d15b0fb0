"""The machine's side of the channel to its agent: calls and their answers, processes and their output.

This module has no socket: bytes come in through `feed` and go out through `write`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Protocol

from wanlab.agent.messages import Frame, FrameReader, Kind, encode, encode_json
from wanlab.errors import CommandError, PeerError


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
        self._reader = FrameReader()
        self._numbers = count(1)
        self._answers: dict[int, Frame | None] = {}
        self._listeners: dict[int, Listener] = {}
        self._requests: deque[Frame] = deque()
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
        """Return the JSON value or the bytes that a call returned. AgentFailure if it failed."""
        frame = self._answers.pop(number)
        assert frame is not None, f"call {number} has not been answered"
        if frame.kind is Kind.FAILURE:
            raise AgentFailure(**frame.json())
        return frame.body if frame.kind is Kind.DATA else frame.json()

    # -- processes --------------------------------------------------------------------------------

    def new_process(self, listener: Listener) -> int:
        """Return a number for a process or a watch; `listener` receives its output."""
        number = next(self._numbers)
        self._listeners[number] = listener
        return number

    def forget_process(self, number: int) -> None:
        self._listeners.pop(number, None)

    def input(self, number: int, data: bytes) -> None:
        self._write(encode(Kind.INPUT, number, data))

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
            self.on_request(self._requests.popleft())

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

    def _receive(self, frame: Frame) -> None:
        if self.on_frame is not None:
            self.on_frame(frame)
        if frame.kind is Kind.READY:
            self.is_ready = True
            return
        if frame.kind in (Kind.REPLY, Kind.FAILURE, Kind.DATA):
            if self._answers.get(frame.number, frame) is not None:
                raise PeerError(f"the agent answered call {frame.number}, which awaits no answer")
            self._answers[frame.number] = frame
            return
        if frame.kind in (Kind.REQUEST, Kind.REQUEST_DATA, Kind.REQUEST_END):
            self._requests.append(frame)
            return
        listener = self._listeners.get(frame.number)
        if listener is None:
            return
        if frame.kind is Kind.ENDED:
            listener.ended(frame.json())
        else:
            listener.output_arrived(frame.kind, frame.body)
