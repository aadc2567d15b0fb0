"""Types at Mininet's prompt in the machine: answers its requests for lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wanlab import Network, Process
from wanlab.network import Connection

from .shell import INTERRUPT, SIZE, let_pass, plain

VARIABLES = {"WANLAB_PROMPT": "host-service"}
"""Tells a prompt in the machine that the host service provides lines."""
PROMPT = "mininet> "
COMMAND = ("wanlab-python", "-P", "-m", "mininet", "--attach")
CLOSE_LIMIT_NS = 10_000_000_000
FLUSH_NS = {"virtual": 1_000_000, "real": 100_000_000}
"""Until what was printed has come through its terminal."""


class PromptDesk:
    """Who is asked for lines. A prompt may be ours (`attach`) or one that was typed: `sudo mn`."""

    def __init__(self, network: Network, folder: str, environment: dict[str, str]) -> None:
        self._network = network
        self._folder = folder
        self._environment = environment
        self._connection: Connection | None = None
        self._process: Process | None = None
        self._output = bytearray()
        network.host_service["line"] = self._take
        network.host_service["keys"] = lambda connection: connection.answer({})

    @property
    def is_waiting(self) -> bool:
        """Whether a prompt waits for a line."""
        return self._connection is not None and not self._connection.is_over

    @property
    def is_attached(self) -> bool:
        """Whether our own prompt runs."""
        return self._process is not None and self._process.is_running

    def attach(self) -> None:
        """Starts a prompt over the network that runs."""
        self._process = self._network.root.start(
            list(COMMAND),
            folder=self._folder,
            environment={**self._environment, **VARIABLES},
            on_output=self._output.extend,
            terminal=SIZE,
        )

    def type(self, line: str) -> None:
        self._answer({"line": line})

    def interrupt(self) -> None:
        """Ctrl-C, to what our own prompt runs."""
        if self._process is not None:
            self._process.write(INTERRUPT)

    def wait(
        self,
        limit_ns: int,
        also: Callable[[], bool] = lambda: False,
        tell: Callable[[], None] = lambda: None,
    ) -> bool:
        """Until it asks for the next line, or our own has ended, or `also` holds; whether it has. `tell`
        is called every second of it."""

        def is_over() -> bool:
            return self._is_over() or also()

        let_pass(self._network, limit_ns, is_over, tell)
        # What was printed before it asked may be in the terminal still.
        self.flush()
        return is_over()

    def flush(self) -> None:
        """Lets what was printed arrive."""
        self._network.run_for(FLUSH_NS[self._network.clock])

    def take_output(self) -> str:
        """What our own prompt has shown since the last time."""
        text = plain(self._output.decode(errors="replace"))
        self._output.clear()
        return text.removesuffix(PROMPT)

    def close(self) -> None:
        """Ctrl-D."""
        if self.is_waiting:
            self._answer({"end": True})
            self._network.run_until_condition(lambda: not self.is_attached, CLOSE_LIMIT_NS)
        elif self._process is not None and self._process.is_running:
            self._process.stop()
        self._process = None

    def _is_over(self) -> bool:
        return self.is_waiting or (self._process is not None and not self._process.is_running)

    def _answer(self, answer: dict[str, Any]) -> None:
        connection, self._connection = self._connection, None
        assert connection is not None, "no prompt waits for a line"
        connection.answer(answer)

    def _take(self, connection: Connection) -> None:
        self._connection = connection
