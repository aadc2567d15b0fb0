"""Lines for prompts in the machine: a program inside requests a line, and the user types it outside.

No time passes in the machine meanwhile, unless it keeps up with a real clock.
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable
from typing import Protocol, cast

from wanlab import Network
from wanlab.mininet.words import Words
from wanlab.network import Connection

from .rewinding import COMMAND as REWIND
from .rewinding import Rewinder
from .time_slices import SHORT_NS

# Tell programs in the machine that the host service provides lines.
VARIABLES = {"WANLAB_PROMPT": "host-service"}
CHUNK = 65536
LISTEN_REAL_S = 0.2

Answer = dict[str, object]
"""The answer to a request for a line: the line, its end, or an interruption."""
END: Answer = {"end": True}
INTERRUPT: Answer = {"interrupt": True}


class LineSource(Protocol):
    """A source of lines."""

    def read(self, prompt: str, words: Words, typed: str) -> Answer: ...


class LineService:
    """Accepts requests for a line. The line is read by `serve`, while time stands still."""

    def __init__(
        self, network: Network, on_line: Callable[[str], None] = lambda line: None
    ) -> None:
        self._on_line = on_line
        self._connection: Connection | None = None
        self.is_used = False
        """Whether a program has requested a line."""
        self.is_raw_mode = False
        """Whether the running program reads single keys, as a shell or an editor does."""
        rewinder = Rewinder(network)
        self.rewinder = rewinder if rewinder.is_possible else None
        network.host_service["line"] = self._on_request
        network.host_service["keys"] = self._note_keys

    @property
    def is_wanted(self) -> bool:
        return self._connection is not None and not self._connection.is_over

    def serve(self, source: LineSource) -> None:
        """Read a line and answer the request with it."""
        connection, self._connection = self._connection, None
        assert connection is not None
        self.is_raw_mode = False
        request = connection.request
        words = cast("Words", request.get("words") or {})
        if self.rewinder is not None:
            words["commands"] = [*words.get("commands", []), REWIND]
        answer = source.read(str(request.get("prompt", "")), words, str(request.get("typed", "")))
        while self.rewinder is not None and self.rewinder.is_rewind(str(answer.get("line", ""))):
            if self.rewinder.perform(str(answer["line"])):
                return
            answer = source.read(str(request.get("prompt", "")), words, "")
        if "line" in answer:
            self._on_line(str(answer["line"]))
        connection.answer(answer)

    def _on_request(self, connection: Connection) -> None:
        if self.is_wanted:
            connection.answer({"error": "another program is reading a line"})
            return
        self.is_used = True
        self._connection = connection

    def _note_keys(self, connection: Connection) -> None:
        self.is_raw_mode = True
        connection.answer({})


class StreamLines:
    """Lines of our standard input, read only when they are requested."""

    def __init__(
        self,
        network: Network,
        is_interrupted: Callable[[], bool],
        *,
        runs_at_prompt: bool,
        descriptor: int = 0,
    ) -> None:
        self._network = network
        self._is_interrupted = is_interrupted
        self._runs_at_prompt = runs_at_prompt
        self._descriptor = descriptor
        self._buffer = bytearray()
        self._has_ended = False

    def read(self, prompt: str, words: Words, typed: str) -> Answer:
        """Read a line. The program in the machine has written the prompt itself."""
        while b"\n" not in self._buffer and not self._has_ended:
            if self._is_interrupted():
                return INTERRUPT
            if self._wait():
                data = os.read(self._descriptor, CHUNK)
                self._buffer += data
                self._has_ended = not data
        if not self._buffer:
            return END
        line, _, rest = self._buffer.partition(b"\n")
        self._buffer = rest
        return {"line": line.decode(errors="replace").rstrip("\r")}

    def _wait(self) -> bool:
        if not self._runs_at_prompt:
            return self._is_readable(LISTEN_REAL_S)
        self._network.run_until_condition(
            lambda: self._is_readable(0) or self._is_interrupted(), SHORT_NS
        )
        return self._is_readable(0)

    def _is_readable(self, real_s: float) -> bool:
        return bool(select.select([self._descriptor], [], [], real_s)[0])
