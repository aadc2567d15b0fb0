"""Where the lines of the prompt come from.

The user's own side edits lines, with history and completion, and no time passes in the network
meanwhile: the prompt requests each line from the host service. A program without a host service, or
whose prompt reads a stream of its own, reads from that.
"""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from typing import IO, Any, Protocol

from wanlab.errors import RequirementError
from wanlab.network import call_host

from .words import Words, suggestions

# Set by the program outside if it provides lines.
HOST_PROMPT_VARIABLE = "WANLAB_PROMPT"
CHUNK = 65536


class Prompt(Protocol):
    """Where lines come from."""

    def line(self, prompt: str, words: Words) -> str:
        """The next line, without its end. EOFError if there is none, KeyboardInterrupt for Ctrl-C."""
        ...


def prompt_for(stdin: IO[str]) -> Prompt:
    """The best there is for this standard input."""
    if stdin is sys.stdin and HOST_PROMPT_VARIABLE in os.environ:
        return DeskPrompt(stdin)
    if stdin is sys.stdin and stdin.isatty():
        return TerminalPrompt()
    return StreamPrompt(stdin)


class DeskPrompt:
    """Asks on the user's side."""

    def __init__(self, stdin: IO[str]) -> None:
        self._stdin = stdin
        self._is_terminal = stdin.isatty()

    def line(self, prompt: str, words: Words) -> str:
        request: dict[str, Any] = {"do": "line", "prompt": prompt, "words": words}
        if self._is_terminal:
            request["typed"] = typed_ahead(self._stdin)
        else:
            # Nobody sees what is typed there, so nobody edits it there.
            sys.stdout.write(prompt)
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            answer = call_host(request)
        except RequirementError:
            return prompt_without_desk(self._stdin).line(prompt, words)
        if "line" in answer:
            return str(answer["line"])
        raise EOFError if "end" in answer else KeyboardInterrupt


def prompt_without_desk(stdin: IO[str]) -> Prompt:
    return TerminalPrompt() if stdin.isatty() else StreamPrompt(stdin)


class TerminalPrompt:
    """Python's own line editing, in the terminal that we run in."""

    def line(self, prompt: str, words: Words) -> str:
        import readline

        def complete(text: str, place: int) -> str | None:
            fitting = [f"{word} " for word in suggestions(words, before(), text)]
            return fitting[place] if place < len(fitting) else None

        def before() -> str:
            return readline.get_line_buffer()[: readline.get_begidx()]

        readline.set_completer(complete)
        readline.set_completer_delims(" \t")
        readline.parse_and_bind("tab: complete")
        return input(prompt)


class StreamPrompt:
    """A file or a pipe: the prompt is written, the lines are not."""

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
    """What has been typed since somebody last read it; it belongs to the next line."""
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
