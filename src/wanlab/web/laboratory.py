"""The laboratory: what all browsers see, and what their commands do. It lives in the server's loop."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from wanlab import Network, Topology, __version__
from wanlab.errors import TopologyError, WanlabError, did_you_mean
from wanlab.plan import plan_script
from wanlab.topology import dumps

from . import commands, protocol
from .broadcast import Broadcast, Browser
from .editor import DocumentEditor, RefusedError
from .folder import WorkingFolder
from .lesson_steps import LessonSteps
from .lessons import Lessons
from .link_changes import changed_link, words_of_ends
from .measurements import Measurements
from .model import Document, Elements
from .session import NetworkSession, Plan

Does = Callable[[Any, str], Any]
WATCH_REAL_S = 1.0
LOAD_AFTER_REAL_S = 3.0
EXPORTS = {
    "mn": "application/json",
    "yaml": "application/yaml",
    "py": "text/x-python",
    "sh": "text/x-shellscript",
    "svg": "image/svg+xml",
}


class Laboratory:
    """One per server."""

    def __init__(self, place: Path) -> None:
        self.folder = WorkingFolder(place)
        self.broadcast = Broadcast()
        tell = self.broadcast.tell
        self.editor = DocumentEditor(self.folder, self.broadcast)
        self.running = NetworkSession(self.broadcast, error_body, self._show)
        self.measuring = Measurements(
            self.folder, self.broadcast, self.running, lambda: self.editor.stem
        )
        self.lessons = Lessons(self.folder, tell)
        self._steps = LessonSteps(self.lessons, self.running)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._spawn(self.lessons.read_catalog())
        self._spawn(self._watch())
        self._spawn(self._load_what_is_needed_later())
        editor, running, measuring = self.editor, self.running, self.measuring
        self._does: dict[type, Does] = {
            commands.EditCommand: editor.edit,
            commands.UndoCommand: editor.undo,
            commands.RedoCommand: editor.redo,
            commands.NewCommand: self._new,
            commands.OpenCommand: self._open,
            commands.SaveCommand: editor.save,
            commands.DraftCommand: editor.take_draft,
            commands.RunCommand: self._run,
            commands.StopCommand: running.stop,
            commands.OpenTerminalCommand: running.open_terminal,
            commands.CloseTerminalCommand: running.close_terminal,
            commands.TypeCommand: running.type,
            commands.SetLinkCommand: self._set_link,
            commands.LinkUpCommand: running.link_up,
            commands.PaceCommand: running.set_pace,
            commands.PauseCommand: running.pause,
            commands.StepCommand: running.step,
            commands.RecordCommand: measuring.record,
            commands.CompareCommand: measuring.compare,
            commands.DeleteRecordCommand: measuring.drop_record,
            commands.CaptureCommand: measuring.capture,
            commands.LessonCommand: self._lesson,
        }

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _load_what_is_needed_later(self) -> None:
        """Curves need libraries that take a second to load: not while somebody waits for the page."""
        await asyncio.sleep(LOAD_AFTER_REAL_S)
        await asyncio.to_thread(import_module, ".curves", __package__)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(WATCH_REAL_S)
            self.running.tell_if_stuck()

    # -- what it is now ---------------------------------------------------------------------------

    def state(self, client: str = "") -> protocol.StatePush:
        return protocol.StatePush(
            client=client,
            version=__version__,
            folder=str(self.folder.place),
            document=self.editor.told(),
            problems=self.editor.told_problems(),
            ports=self.editor.told_ports(),
            file=self.editor.told_file(),
            draft=self.editor.told_draft(),
            run=self.running.told(),
            clock=self.running.told_clock(),
            terminals=self.running.terminals.told(),
            records=self.measuring.records.told(),
            captures=self.measuring.told_captures(),
            lessons=self.lessons.told(),
        )

    async def perform(
        self, command: commands.Command, browser: Browser
    ) -> protocol.CommandReply | protocol.CommandRefusal:
        """Carries out a command of a browser's."""
        try:
            if isinstance(command, commands.WatchCommand):
                await self.measuring.watch(browser, command)
                return protocol.CommandReply(command.id)
            before = self.editor.document
            done = self._does[type(command)](command, browser.name)
            if inspect.isawaitable(done):
                done = await done
            if self.editor.document is not before:
                self.running.note_edit(self.editor.document)
            return protocol.CommandReply(command.id, done)
        except WanlabError as error:
            return protocol.CommandRefusal(command.id, error_body(error))

    def export(self, form: str) -> tuple[str, str, str]:
        """Name, text and type of the document in another format."""
        if form not in EXPORTS:
            raise WanlabError(f"there is no format {form}", did_you_mean(form, EXPORTS))
        topology = self.editor.sound_topology()
        name = f"{self.editor.stem}.{form}"
        if form == "sh":
            text = plan_script(topology, wire=self.editor.document.preferences.wire)
        else:
            text = dumps(topology, name)
        return name, text, EXPORTS[form]

    async def leave(self, browser: Browser) -> None:
        """A browser has gone."""
        self.broadcast.leave(browser)
        with contextlib.suppress(WanlabError):
            await self.measuring.watch_for_all()

    async def close(self) -> None:
        """Leaves everything so that another one can go on."""
        for task in self._tasks:
            task.cancel()
        self.editor.write_draft()
        self.lessons.cancel_report()
        await self.running.stop()

    # -- what takes several parts -----------------------------------------------------------------

    def _new(self, command: commands.NewCommand, by: str) -> None:
        self.editor.new(command, by)
        self.lessons.close()

    def _open(self, command: commands.OpenCommand, by: str) -> None:
        self.editor.open(command, by)
        if self.lessons.unit is not None and self.lessons.has_left(command.path):
            self.lessons.close()

    def _run(self, command: commands.RunCommand, by: str) -> None:
        topology = self.editor.sound_topology()
        document = self.editor.document
        if self.lessons.unit is not None:
            plan = self.lessons.plan(document, topology)
        else:
            plan = self._plan(document, topology)
        self.running.start(plan, is_paced=document.preferences.pace == "real")

    def _plan(self, document: Document, topology: Topology) -> Plan:
        wishes, folder = document.preferences, self.folder.place

        def make() -> Network:
            return Network(
                topology, clock=wishes.clock, wire=wishes.wire, seed=wishes.seed, folder=folder
            )

        return Plan(document, topology, make)

    async def _set_link(self, command: commands.SetLinkCommand, by: str) -> None:
        """In the running network first: if that refuses, the document stays as it is."""
        link = next((it for it in self.editor.document.links if it.id == command.link), None)
        if link is None:
            raise WanlabError("that link is not there", "was it deleted meanwhile?")
        changed = changed_link(link, command.options, command.end)
        if self.running.is_running:
            before, after = words_of_ends(link), words_of_ends(changed)
            await self.running.set_link(
                link.id,
                {
                    end: {word: after[end].get(word) for word in command.options}
                    for end in after
                    if before[end] != after[end]
                },
            )
            self.running.note_link(changed)
        edit = commands.EditCommand(put=Elements(links=(changed,)), label="Change link")
        self.editor.edit(edit, by)

    async def _lesson(self, command: commands.LessonCommand, by: str) -> Any:
        lessons = self.lessons
        match command.action:
            case "start":
                if not self.running.is_stopped:
                    raise RefusedError("a network is running", "stop it first", "running")
                self.editor.keep_unsaved(discard=command.discard)
                topology, path = await asyncio.to_thread(lessons.begin, command.unit)
                lessons.tell()
                self.editor.open_topology(topology, path, Path(path).name, by)
                return None
            case "close":
                return lessons.close()
            case "type":
                return await self._steps.type(command.step)
            case "progress":
                if command.step is None:
                    raise WanlabError("which step?")
                return lessons.note(command.unit, command.step, is_done=command.done)
            case "check":
                return await self._steps.check(self.broadcast.tell)
            case "report":
                return await lessons.report(command.unit)
            case "cancel_report":
                return lessons.cancel_report()

    def _show(self, path: Path) -> str:
        """A file that a program in the machine wants to have shown; "" or why it is not."""
        try:
            real = path.resolve()
            name = self.folder.path_of(real)
            self.folder.resolve(name)
        except (OSError, ValueError, WanlabError):
            return f"only what is in {self.folder.place} is shown"
        loop = self.running.loop
        push = protocol.ShowPush(path=name)
        loop.call_soon_threadsafe(self.broadcast.tell, push)
        return ""


def error_body(error: WanlabError) -> protocol.ErrorBody:
    """An error as a browser is told of it."""
    code = error.code if isinstance(error, RefusedError) else ""
    if isinstance(error, TopologyError):
        return protocol.ErrorBody(str(error), code=code)
    text = str(error)
    what = error.what if text in (error.what, f"{error.what} ({error.hint})") else text
    return protocol.ErrorBody(what, error.hint if what == error.what else "", code=code)
