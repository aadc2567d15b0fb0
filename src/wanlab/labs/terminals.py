"""Typing the course's commands into terminals: one per host, and the client's in the root namespace."""

from __future__ import annotations

from collections.abc import Callable

from wanlab import Network, Process

CLIENT = "client"


class Terminals:
    """Runs commands as printed in the manual and keeps a transcript, in `outputs` too."""

    def __init__(
        self, network: Network, say: Callable[[str], None], outputs: dict[str, str] | None = None
    ) -> None:
        self._network = network
        self._outputs = {} if outputs is None else outputs
        self._say = say
        self._folders: dict[str, str] = {}
        self.transcript: list[tuple[str, str, str]] = []
        """(terminal, command, what it printed)"""

    @property
    def commands(self) -> list[str]:
        return [f"{terminal}$ {command}" for terminal, command, _ in self.transcript]

    def start(self, terminal: str, command: str) -> Process:
        """Types a command and Enter; does not wait."""
        self._say(f"{terminal}$ {command}")
        node = self._network.root if terminal == CLIENT else self._network[terminal]
        return node.start(command, folder=self._folders.get(terminal))

    def end(self, terminal: str, process: Process, *, check: bool = True) -> str:
        """Waits for it; returns what it printed."""
        finished = process.finish(check=check)
        text = finished.output + finished.errors
        self._note(terminal, process.command, text)
        return text

    def run(self, terminal: str, command: str) -> str:
        """Types a command and waits until it has ended; an error in it is one here."""
        return self.end(terminal, self.start(terminal, command))

    def run_until_interrupt(self, terminal: str, command: str, seconds: float) -> str:
        """Types a command and presses Ctrl-C after some seconds."""
        process = self.start(terminal, command)
        self._network.run_for(round(seconds * 1e9))
        return self.interrupt(terminal, process)

    def interrupt(self, terminal: str, process: Process) -> str:
        """Presses Ctrl-C."""
        process.interrupt()
        self._say(f"{terminal}$ ^C")
        return self.end(terminal, process, check=False)

    def every(self, seconds: int, words: str) -> Callable[[int], None]:
        """Tells the time that has passed, now and then."""
        told = [0]

        def tell(passed_ns: int) -> None:
            if passed_ns // 1_000_000_000 >= told[0] + seconds:
                told[0] = passed_ns // 1_000_000_000
                self._say(f"  {told[0]} {words}")

        return tell

    def change_folder(self, terminal: str, name: str) -> None:
        """`mkdir NAME && cd NAME`, from the working folder."""
        command = f"mkdir {name} && cd {name}"
        self._say(f"{terminal}$ {command}")
        (self._network.folder / name).mkdir()
        self._folders[terminal] = str(self._network.folder / name)
        self._note(terminal, command, "")

    def _note(self, terminal: str, command: str, text: str) -> None:
        self.transcript.append((terminal, command, text))
        self._outputs[f"{len(self.transcript):02} {terminal}$ {command}"] = text
