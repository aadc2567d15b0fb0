"""The laboratory: what all browsers see, and what their commands do. It lives in the server's loop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from wanlab import __version__, dumps, plan_script
from wanlab.errors import TopologyError, WanlabError, did_you_mean

from . import protocol
from .audience import Audience, Browser
from .editor import Editor, RefusedError
from .folder import WorkingFolder

Does = Callable[[Any, str], Any]


class Laboratory:
    """One per server."""

    def __init__(self, place: Path) -> None:
        self.folder = WorkingFolder(place)
        self.audience = Audience()
        self.editor = Editor(self.folder, self.audience)
        self._does: dict[type, Does] = {
            protocol.Edit: self.editor.edit,
            protocol.Undo: self.editor.undo,
            protocol.Redo: self.editor.redo,
            protocol.New: self.editor.new,
            protocol.Open: self.editor.open,
            protocol.Save: self.editor.save,
            protocol.TakeDraft: self.editor.take_draft,
        }

    def state(self, client: str = "") -> protocol.StatePush:
        return protocol.StatePush(
            client=client,
            version=__version__,
            folder=str(self.folder.place),
            document=self.editor.told(),
            problems=self.editor.told_problems(),
            file=self.editor.told_file(),
            draft=self.editor.told_draft(),
            run=protocol.RunPush(),
            clock=protocol.ClockPush(),
            terminals=protocol.TerminalsPush(),
            records=protocol.RecordsPush(),
            captures=protocol.CapturesPush(),
            lessons=protocol.LessonsPush(),
        )

    async def perform(
        self, command: protocol.Command, browser: Browser
    ) -> protocol.Reply | protocol.Refusal:
        """Carries out a command of a browser's."""
        try:
            does = self._does.get(type(command))
            if does is None:
                raise WanlabError(f"{type(command).__name__} is not possible yet")
            done = does(command, browser.name)
            if hasattr(done, "__await__"):
                done = await done
            return protocol.Reply(command.id, done)
        except WanlabError as error:
            return protocol.Refusal(command.id, trouble(error))

    def export(self, form: str) -> tuple[str, str, str]:
        """Name, text and type of the document in another format."""
        kinds = {"mn": "application/json", "yaml": "application/yaml", "sh": "text/x-shellscript"}
        if form not in kinds:
            raise WanlabError(f"there is no format {form}", did_you_mean(form, kinds))
        topology = self.editor.sound_topology()
        name = f"{self.editor.stem}.{form}"
        if form == "sh":
            wire = self.editor.document.preferences.wire
            return name, plan_script(topology, wire=wire), kinds[form]
        return name, dumps(topology, name), kinds[form]

    def leave(self, browser: Browser) -> None:
        """A browser has gone."""
        self.audience.leave(browser)

    def close(self) -> None:
        """Leaves everything so that another one can go on."""
        self.editor.write_draft()


def trouble(error: WanlabError) -> protocol.Trouble:
    """An error as a browser is told of it."""
    code = error.code if isinstance(error, RefusedError) else ""
    if isinstance(error, TopologyError):
        return protocol.Trouble(str(error), code=code)
    text = str(error)
    what = error.what if text in (error.what, f"{error.what} ({error.hint})") else text
    return protocol.Trouble(what, error.hint if what == error.what else "", code=code)
