"""A node of a live network: where processes are started."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wanlab.machine.working_folder import PADDING, padding_of

from .process import Command, Finished, OutputHandler, Process, ProcessLog, as_texts
from .runtime import Runtime


class LiveNode:
    """A host or router, or the machine's root namespace, where switches and their ports are.

    `log`, unless it is None, lists the processes that are started in the node.
    """

    def __init__(
        self, runtime: Runtime, name: str, namespace: str, log: ProcessLog | None = None
    ) -> None:
        self._runtime = runtime
        self.name = name
        self.namespace = namespace
        self._log = log
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
        on_stderr: OutputHandler | None = None,
        merge_stderr: bool = False,
        credit: int | None = None,
    ) -> Process:
        """Start a command and return at once. No time passes.

        A string is run by bash; a sequence is a program and its arguments. `folder`: where it runs,
        by default the working folder. `environment`: variables added to the machine's. `stdin`:
        give it a pipe to read from (otherwise there is nothing to read). `terminal`: rows and
        columns of a terminal. `merge_stderr`: merge standard error into the output, in the
        order of writing. `credit`: accept this many bytes of output; the process then blocks until
        `grant_credit` is called.
        """
        command = as_texts(command)
        process = Process(
            self._runtime, self.namespace, command, on_output=on_output, on_stderr=on_stderr
        )
        options, machine = self._runtime.options, self._runtime.machine
        folder = folder or options.guest_folder
        variables = {**machine.environment, **(environment or {})}
        if options.has_own_path or PADDING in machine.environment:
            variables["PWD"] = (environment or {}).get("PWD", folder)
            variables[PADDING] = padding_of(variables["PWD"])
        process.start(
            ["/bin/bash", "-c", command] if isinstance(command, str) else command,
            folder=folder,
            environment=variables,
            stdin=stdin,
            terminal=terminal,
            merge_stderr=merge_stderr,
            credit=credit,
        )
        if self._log is not None:
            self._log.note(self.name, process)
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
        """Run a command to its end, letting time pass.

        CommandError if it takes longer than `timeout`, or if its status is not 0 and `check` is
        true.
        """
        process = self.start(
            command, folder=folder, environment=environment, stdin=input is not None
        )
        if input is not None:
            process.write(input)
            process.end_input()
        return process.finish(timeout, check=check)

    def wrap(self, arguments: Sequence[str], *, folder: str | None = None) -> list[str]:
        """Return the command line that runs a program in this node, for your own `subprocess.Popen`.

        `folder`: where it runs, by default the current one. CommandError unless the node is on the
        kernel that this program runs on, which is so inside a machine.
        """
        if not self.namespace:
            return list(arguments)
        prefix = self._prefix or self._runtime.machine.prefix(self.namespace, "")
        self._prefix = prefix
        return [*prefix[:-1], folder or str(Path.cwd()), *arguments]
