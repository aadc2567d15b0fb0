"""The machine's side of the channel to its agent: calls and their answers, processes and their output.

No socket here: bytes come in by `feed`, bytes go out through the function given at the start.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import count
from typing import Any, Protocol

from wanlab.agent.messages import Frame, FrameReader, Kind, encode, encode_json
from wanlab.errors import CommandError, PeerError


class Listener(Protocol):
    """Hears what becomes of one process."""

    def output_arrived(self, kind: Kind, data: bytes) -> None: ...

    def ended(self, told: dict[str, Any]) -> None: ...


class AgentFailure(CommandError):
    """The agent could not do what it was asked. `index`: which operation of a list."""

    def __init__(self, told: dict[str, Any]) -> None:
        super().__init__(str(told["error"]))
        self.kind = str(told["kind"])
        self.index: int | None = told.get("index")


class Channel:
    """Calls by number; processes by number."""

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
        """Called again and again while time may pass: who hears of something outside says it then."""
        self.is_ready = False

    def call(self, do: str, **arguments: object) -> int:
        """Asks the agent; the answer is had by `answer` under the number returned."""
        number = next(self._numbers)
        self._answers[number] = None
        self._write(encode_json(Kind.CALL, number, {"do": do, **arguments}))
        return number

    def is_answered(self, number: int) -> bool:
        return self._answers[number] is not None

    def answer(self, number: int) -> Any:
        """The value, or bytes, that a call returned. AgentFailure if it failed."""
        frame = self._answers.pop(number)
        assert frame is not None, f"call {number} has not been answered"
        if frame.kind is Kind.FAILURE:
            raise AgentFailure(frame.json())
        return frame.body if frame.kind is Kind.DATA else frame.json()

    def new_process(self, listener: Listener) -> int:
        number = next(self._numbers)
        self._listeners[number] = listener
        return number

    def forget_process(self, number: int) -> None:
        self._listeners.pop(number, None)

    def input(self, number: int, data: bytes) -> None:
        self._write(encode(Kind.INPUT, number, data))

    def end_input(self, number: int) -> None:
        self._write(encode(Kind.INPUT_END, number))

    def answer_request(self, number: int, data: bytes) -> None:
        self._write(encode(Kind.ANSWER, number, data))

    def end_request(self, number: int) -> None:
        self._write(encode(Kind.ANSWER_END, number))

    @property
    def has_requests(self) -> bool:
        """Somebody has come whom nobody has attended to yet."""
        return bool(self._requests)

    def serving(
        self, stop: Callable[[], bool], is_settled: Callable[[], bool]
    ) -> Callable[[], bool]:
        """The same question, asked after the visitors have been attended to. Until then time stands
        still. They wait until `is_settled`: until what they printed before they came has been heard."""

        def stop_after_requests() -> bool:
            if self._requests and is_settled():
                while self._requests and self.on_request is not None:
                    self.on_request(self._requests.popleft())
            self.serve()
            return stop()

        return stop_after_requests

    def feed(self, data: bytes) -> None:
        """Takes what the agent said. PeerError if it makes no sense."""
        try:
            frames = self._reader.feed(data)
        except ValueError as error:
            raise PeerError(f"the agent sent {error}") from None
        for frame in frames:
            self._take(frame)

    def _take(self, frame: Frame) -> None:
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
