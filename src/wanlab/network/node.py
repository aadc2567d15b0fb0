"""A node of a live network: where processes are started."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .process import Command, Finished, OutputHandler, Process

if TYPE_CHECKING:
    from .network import Network

DEFAULT_TERMINAL = "xterm-256color"


class LiveNode:
    """A host or router, or the machine's root namespace, where switches and their ports are.

    What it starts is noted in the network's `commands`, unless that is none of the user's business.
    """

    def __init__(
        self, network: Network, name: str, namespace: str, *, is_noted: bool = True
    ) -> None:
        self._network = network
        self.name = name
        self.namespace = namespace
        self._is_noted = is_noted
        self._prefix: list[str] = []

    def __repr__(self) -> str:
        return f"<node {self.name}>"

    def start(
        self,
        command: Command,
        *,
        folder: str | None = None,
        environment: dict[str, str] | None = None,
        stdin: bool = False,
        terminal: tuple[int, int] | None = None,
        on_output: OutputHandler | None = None,
        on_errors: OutputHandler | None = None,
        errors_in_output: bool = False,
        room: int | None = None,
    ) -> Process:
        """Starts a command and returns at once. No time passes.

        A string is for bash, a sequence is a program and its arguments. `folder`: where it runs, by
        default the working folder. `environment`: added to the machine's. `stdin`: it gets a pipe to
        read from (otherwise there is nothing to read). `terminal`: rows and columns of a terminal.
        `errors_in_output`: its two outputs are one, in the order in which it writes them. `room`: so
        many bytes of them are taken, and no more until `give_room` is called: meanwhile it waits.
        """
        process = Process(
            self._network, self.namespace, command, on_output=on_output, on_errors=on_errors
        )
        arguments = ["/bin/bash", "-c", command] if isinstance(command, str) else command
        process.start(
            arguments,
            folder or self._network.guest_folder,
            {
                **self._network.environment,
                **({"TERM": DEFAULT_TERMINAL} if terminal else {}),
                **(environment or {}),
            },
            stdin,
            terminal,
            errors_in_output,
            room,
        )
        if self._is_noted:
            self._network.commands.append(f"{self.name}$ {process.command}")
            if self._network.on_process is not None:
                self._network.on_process(process)
        return process

    def run(
        self,
        command: Command,
        *,
        check: bool = True,
        timeout: str | int | None = None,
        input: str | bytes | None = None,
        folder: str | None = None,
        environment: dict[str, str] | None = None,
    ) -> Finished:
        """Runs a command to its end, letting time pass. A status other than 0 is a CommandError
        unless `check` is false."""
        process = self.start(
            command, folder=folder, environment=environment, stdin=input is not None
        )
        if input is not None:
            process.write(input)
            process.end_input()
        return process.finish(timeout, check=check)

    def wrap(self, arguments: Sequence[str], *, folder: str | None = None) -> list[str]:
        """The command line that runs a program in this node, for a `subprocess.Popen` of your own.
        `folder`: where it runs, by default where you are. Only on the kernel that you are on: inside a
        machine, and on the native one."""
        if not self.namespace:
            return list(arguments)
        prefix = self._prefix or self._network.machine.prefix(self.namespace, "")
        self._prefix = prefix
        return [*prefix[:-1], folder or str(Path.cwd()), *arguments]
