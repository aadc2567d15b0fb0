"""Edits the lines of a prompt in our terminal, with history and completion."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from wanlab.mininet.words import Words, suggestions

from .lines import END, INTERRUPT, Answer
from .streams import Output

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.eventloop.inputhook import InputHookContext
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyBindings

HISTORY_FILE = "mininet_history"


def prepare() -> None:
    """Import the library. Call it while the machine boots, because it takes a while."""
    import prompt_toolkit  # noqa: F401


def state_folder() -> Path:
    """Return the folder for state that outlives a session (XDG Base Directory Specification)."""
    folder = os.environ.get("XDG_STATE_HOME")
    return (Path(folder) if folder else Path.home() / ".local" / "state") / "wanlab"


class LineEditor:
    """Reads lines from the user.

    `let_time_pass` is called while nobody types. It receives a function, and may let time pass in the
    machine until that function returns true. Output of programs appears above the prompt.
    """

    def __init__(self, output: Output, let_time_pass: Callable[[Callable[[], bool]], None]) -> None:
        self._output = output
        self._let_time_pass = let_time_pass
        self._pasted: list[str] = []
        self._session: PromptSession[str] | None = None

    def read(self, prompt: str, words: Words, typed: str) -> Answer:
        """Read a line. `typed` was typed before the prompt was shown."""
        self._paste(typed)
        if len(self._pasted) > 1:
            line = self._pasted.pop(0)
            self._output.write(f"{prompt}{line}\n".encode())
            return {"line": line}
        draft = self._pasted.pop() if self._pasted else ""
        try:
            line, *more = self._edit(prompt, words, draft).split("\n")
        except KeyboardInterrupt:
            return INTERRUPT
        except EOFError:
            return END
        # The user edits text that was pasted after the last line end at the next prompt.
        self._pasted = [*more, ""] if more else []
        return {"line": line}

    def _paste(self, text: str) -> None:
        if text:
            draft = self._pasted.pop() if self._pasted else ""
            self._pasted += (draft + text.replace("\r", "\n")).split("\n")

    def _edit(self, prompt: str, words: Words, draft: str) -> str:
        from prompt_toolkit.patch_stdout import StdoutProxy

        session = self._session = self._session or _new_session()
        session.completer = _completer(words)
        with StdoutProxy(raw=True) as above, self._output_above(above):
            return session.prompt(prompt, default=draft, inputhook=self._wait)

    @contextlib.contextmanager
    def _output_above(self, above: object) -> Iterator[None]:
        def write(data: bytes) -> None:
            above.write(data.decode(errors="replace"))  # type: ignore[attr-defined]

        self._output.instead = write
        try:
            yield
        finally:
            self._output.instead = None

    def _wait(self, context: InputHookContext) -> None:
        self._let_time_pass(context.input_is_ready)


def _completer(words: Words) -> Completer:
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document

    class WordCompleter(Completer):
        def get_completions(self, document: Document, event: CompleteEvent) -> Iterable[Completion]:
            prefix = document.get_word_before_cursor(WORD=True)
            before = document.text_before_cursor.removesuffix(prefix)
            for word in suggestions(words, before, prefix):
                yield Completion(word, -len(prefix))

    return WordCompleter()


def _new_session() -> PromptSession[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.output import create_output
    from prompt_toolkit.shortcuts import CompleteStyle

    output = create_output()
    if hasattr(output, "enable_cpr"):
        # Otherwise prompt_toolkit asks the terminal for the cursor's position, and the reply may
        # arrive when nobody reads it any more.
        output.enable_cpr = False
    return PromptSession(
        history=_history(),
        output=output,
        complete_style=CompleteStyle.READLINE_LIKE,
        complete_while_typing=False,
        enable_open_in_editor=False,
        key_bindings=_key_bindings(),
    )


def _key_bindings() -> KeyBindings:
    """Let Enter run the line that Ctrl-R has found, as readline does; it would only copy it."""
    from prompt_toolkit.filters import is_searching
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.key_binding.bindings.search import accept_search_and_accept_input

    bindings = KeyBindings()
    bindings.add("enter", filter=is_searching)(accept_search_and_accept_input)
    return bindings


def _history() -> History:
    """Return the history of all sessions, or an empty one if it cannot be stored."""
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    folder = state_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / HISTORY_FILE).open("ab"):
            pass
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(folder / HISTORY_FILE))
