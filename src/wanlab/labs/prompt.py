"""Types at Mininet's prompt in the machine: answers its requests for lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from wanlab import Network, Process
from wanlab.kept_output import keep_beginning
from wanlab.network import Connection

from .shell import INTERRUPT, SIZE, plain, run_until

VARIABLES = {"WANLAB_PROMPT": "host-service"}
"""Tells a prompt in the machine that the host service provides lines."""
PROMPT = "mininet> "
COMMAND = ("wanlab-python", "-P", "-m", "mininet", "--attach")
MAX_KEPT_BYTES = 16 << 20
CLOSE_LIMIT_NS = 10_000_000_000
FLUSH_NS = {"virtual": 1_000_000, "real": 100_000_000}
"""How long output takes through its terminal, by the kind of clock."""


class RemotePrompt:
    """Types lines at a prompt that it starts (`attach`), or that a step starts with `sudo mn`."""

    def __init__(self, network: Network, folder: str, environment: Mapping[str, str]) -> None:
        self._network = network
        self._folder = folder
        self._environment = environment
        self._connection: Connection | None = None
        self._process: Process | None = None
        self._output = bytearray()
        network.host_service["line"] = self._note_request
        network.host_service["keys"] = lambda connection: connection.answer({})

    @property
    def is_waiting(self) -> bool:
        """Whether a prompt waits for a line."""
        return self._connection is not None and not self._connection.is_over

    @property
    def is_attached(self) -> bool:
        """Whether the prompt that `attach` started is running."""
        return self._process is not None and self._process.is_running

    def attach(self) -> None:
        """Start a prompt over the running network."""
        self._process = self._network.root.start(
            list(COMMAND),
            folder=self._folder,
            environment={**self._environment, **VARIABLES},
            on_output=self._keep,
            terminal=SIZE,
        )

    def type(self, line: str) -> None:
        """Answer the prompt's request with a line."""
        self._answer({"line": line})

    def interrupt(self) -> None:
        """Press Ctrl-C in the attached prompt's terminal."""
        if self._process is not None:
            self._process.write(INTERRUPT)

    def wait(
        self,
        limit_ns: int,
        is_enough: Callable[[], bool] = lambda: False,
        on_progress: Callable[[], None] = lambda: None,
    ) -> bool:
        """Wait until a prompt asks for a line, the attached one has ended, or `is_enough()` is true.

        Return whether one of them holds. `on_progress` is called for every second that passes. The
        wait ends after `limit_ns` of virtual time.
        """

        def is_over() -> bool:
            has_ended = self._process is not None and not self._process.is_running
            return self.is_waiting or has_ended or is_enough()

        run_until(self._network, limit_ns, is_over, on_progress)
        # What was printed before the request may still be in the terminal.
        self.flush()
        return is_over()

    def flush(self) -> None:
        """Wait until all output has arrived."""
        self._network.run_for(FLUSH_NS[self._network.clock])

    def take_output(self) -> str:
        """Return what the attached prompt has shown since the last call."""
        text = plain(self._output.decode(errors="replace"))
        self._output.clear()
        return text.removesuffix(PROMPT)

    def close(self) -> None:
        """Press Ctrl-D."""
        if self.is_waiting:
            self._answer({"end": True})
            self._network.run_until_condition(lambda: not self.is_attached, CLOSE_LIMIT_NS)
        elif self._process is not None and self._process.is_running:
            self._process.stop()
        self._process = None

    def _answer(self, answer: dict[str, object]) -> None:
        connection, self._connection = self._connection, None
        assert connection is not None, "no prompt waits for a line"
        connection.answer(answer)

    def _keep(self, data: bytes) -> None:
        keep_beginning(self._output, data, MAX_KEPT_BYTES)

    def _note_request(self, connection: Connection) -> None:
        self._connection = connection
