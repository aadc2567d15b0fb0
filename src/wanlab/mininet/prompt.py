"""Reads the lines of the prompt.

Usually the host service is asked for a line: it is edited outside the machine, with history and
completion, while no time passes in the network. Without that service, or if the prompt reads another
stream, the line is read here.
"""

from __future__ import annotations

import io
import os
import select
import sys
import termios
import tty
from typing import IO, Protocol

from wanlab.errors import RequirementError
from wanlab.network import call_host

from .words import Words, suggestions

# Set if the host service can be asked for lines.
HOST_PROMPT_VARIABLE = "WANLAB_PROMPT"
# Set in terminals that read marks: the prompt writes which line was typed, and when it has ended, as
# VS Code's shell integration does (OSC 633).
MARKS_VARIABLE = "WANLAB_MARKS"
CHUNK = 65536


class Prompt(Protocol):
    """A source of lines."""

    def line(self, prompt: str, words: Words) -> str:
        """Return the next line without its line end.

        Raises EOFError if there is none, and KeyboardInterrupt for Ctrl-C.
        """
        ...


def prompt_for(stdin: IO[str]) -> Prompt:
    """Return the most comfortable prompt that is possible with this standard input."""
    if stdin is sys.stdin and HOST_PROMPT_VARIABLE in os.environ:
        return ServicePrompt(stdin)
    if stdin is sys.stdin and stdin.isatty():
        return TerminalPrompt()
    return StreamPrompt(stdin)


class ServicePrompt:
    """Asks the host service for lines."""

    def __init__(self, stdin: IO[str]) -> None:
        self._stdin = stdin
        self._is_terminal = stdin.isatty()

    def line(self, prompt: str, words: Words) -> str:
        request: dict[str, object] = {"do": "line", "prompt": prompt, "words": words}
        if self._is_terminal:
            request["typed"] = typed_ahead(self._stdin)
        else:
            # There is no terminal, so the line is not edited and the prompt not shown outside.
            sys.stdout.write(prompt)
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            answer = call_host(request)
        except RequirementError:
            return local_prompt(self._stdin).line(prompt, words)
        if "line" in answer:
            return str(answer["line"])
        raise EOFError if "end" in answer else KeyboardInterrupt


def local_prompt(stdin: IO[str]) -> Prompt:
    """Return a prompt that reads this standard input."""
    return TerminalPrompt() if stdin.isatty() else StreamPrompt(stdin)


class TerminalPrompt:
    """Edits lines with Python's readline, in the terminal of this program."""

    def line(self, prompt: str, words: Words) -> str:
        import readline

        def complete(text: str, index: int) -> str | None:
            matching = [f"{word} " for word in suggestions(words, before(), text)]
            return matching[index] if index < len(matching) else None

        def before() -> str:
            return readline.get_line_buffer()[: readline.get_begidx()]

        readline.set_completer(complete)
        readline.set_completer_delims(" \t")
        readline.parse_and_bind("tab: complete")
        _mark("D;mininet")
        line = input(prompt)
        _mark(f"E;{line}")
        return line


def _mark(text: str) -> None:
    if MARKS_VARIABLE in os.environ:
        sys.stdout.write(f"\33]633;{text}\a")
        sys.stdout.flush()


class LinesOfService(io.TextIOBase):
    """Standard input of a program whose lines the host service keeps for its prompt.

    `input()` in a file of --custom takes the next of these lines, as under Mininet.
    """

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
        """Return the next line with its line end; "" if there is none."""
        sys.stdout.flush()
        try:
            answer = call_host({"do": "line", "prompt": ""})
        except RequirementError:
            return ""
        return f"{answer['line']}\n" if "line" in answer else ""

    def read(self, size: int | None = -1, /) -> str:
        return "".join(self)


class StreamPrompt:
    """Reads a file or a pipe; writes the prompt, but not the lines."""

    def __init__(self, stdin: IO[str]) -> None:
        self._stdin = stdin

    def line(self, prompt: str, words: Words) -> str:
        sys.stdout.write(prompt)
        sys.stdout.flush()
        line = self._stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\r\n")


def typed_ahead(stdin: IO[str]) -> str:
    """Return what was typed before the prompt was shown; it belongs to the next line."""
    descriptor = stdin.fileno()
    before = termios.tcgetattr(descriptor)
    data = b""
    try:
        tty.setraw(descriptor, termios.TCSANOW)
        while select.select([descriptor], [], [], 0)[0]:
            read = os.read(descriptor, CHUNK)
            data += read
            if not read:
                break
    finally:
        termios.tcsetattr(descriptor, termios.TCSANOW, before)
    return data.decode(errors="replace")
