"""The laboratory: the state that all browsers share, and the commands that change it.

It lives in the server's event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from wanlab import Network, Topology, __version__, shapes
from wanlab.errors import TopologyError, WanlabError, did_you_mean
from wanlab.plan import plan_script
from wanlab.topology.files import encoded
from wanlab.topology.layout import arranged

from .broadcast import Broadcast, Browser
from .drawing.addressing import addressed
from .drawing.editor import UNTITLED, DocumentEditor, RefusedError
from .drawing.link_changes import changed_link, conditions_of_ends
from .drawing.option_names import option_name
from .folder import WorkingFolder
from .gallery import GalleryRuns
from .lessons import canvas_steps
from .lessons.canvas_progress import CanvasAction
from .lessons.hand_ins import HandIns
from .lessons.lesson_steps import LessonSteps
from .lessons.lessons import Lessons
from .lessons.step_watch import StepWatch
from .limits import ClassRules
from .measuring.measurements import Measurements
from .measuring.queue_charts import QueueCharts
from .protocol import commands, messages
from .protocol.model import Document, DrawnLink, Elements
from .running.port_changes import link_name
from .running.run_plan import RunPlan
from .running.session import NetworkSession
from .running.slow_motion import SlowMotion
from .running.terminal_settings import TerminalSettings
from .running.worker import INTERNAL_ERROR_HINT
from .running_tasks import RunningTasks
from .timeline.branches import Branches
from .timeline.session_files import SessionFiles
from .timeline.what_if import WhatIf

Handler = Callable[..., object]
"""Takes a command of its type and the name of the browser. May return an awaitable."""
CHECK_REAL_S = 1.0
MAX_GENERATED_NODES = 2000
PRELOAD_AFTER_REAL_S = 3.0
EXPORTS = {
    "mn": "application/json",
    "yaml": "application/yaml",
    "py": "text/x-python",
    "sh": "text/x-shellscript",
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
}


class Laboratory:
    """Carries out the commands of browsers. There is one per server; `folder` is its working folder.

    With a `session_file` the sessions of its networks are recorded. `rules` hold in a class.
    """

    def __init__(
        self,
        folder: Path,
        session_file: Path | None = None,
        rules: ClassRules = ClassRules(),  # noqa: B008  (it is immutable)
    ) -> None:
        self.folder = WorkingFolder(folder)
        self.rules = rules
        self._session_files = SessionFiles(session_file, folder)
        self.broadcast = Broadcast()
        self.editor = DocumentEditor(self.folder, self.broadcast)
        self.session = NetworkSession(self.broadcast, error_body, self._show_file)
        self.measurements = Measurements(
            self.folder, self.broadcast, self.session, lambda: self.editor.stem
        )
        self.slow_motion = SlowMotion(self.broadcast, self.session)
        self.branches = Branches(
            self.folder, self.broadcast, self.session, self._redraw, self._why_busy, rules.choice
        )
        self._what_ifs = WhatIf(
            self.branches,
            self.session,
            self.broadcast,
            admit=self._admit,
            set_link=self._set_link,
            capture=self.measurements.capture,
        )
        self.lessons = Lessons(
            self.folder,
            self.broadcast.push,
            rules,
            lambda: self.editor.document.preferences.seed,
        )
        self.gallery = GalleryRuns(self.folder, self.broadcast.push, rules)
        self._steps = LessonSteps(self.lessons, self.session)
        self._hand_ins = HandIns(self.lessons, self.session, rules)
        self._watch = StepWatch(self.lessons, self.session, lambda: self.editor.document)
        self._settings = TerminalSettings(self.session, self.editor, self.broadcast)
        self._queue_charts = QueueCharts(self.session, self.broadcast)
        self._connect()
        self._tasks = RunningTasks()
        self._tasks.start(self.lessons.read_catalog())
        self._tasks.start(self._check_stalls())
        self._tasks.start(self._preload())
        self._handlers = self._handlers_by_command()

    def _connect(self) -> None:
        """Let the parts know what happens in the running network, in this order."""
        session, measurements, slow_motion = self.session, self.measurements, self.slow_motion
        session.on_running.append(measurements.begin)
        session.on_tick += [measurements.collect, slow_motion.collect]
        session.on_break.append(slow_motion.note_break)
        session.on_ending += [
            measurements.end,
            slow_motion.end,
            self.branches.note_end,
            self._what_ifs.note_end,
            self._settings.clear,
        ]
        session.terminals.list.on_command += [
            self._watch.note_command,
            self._hand_ins.note_command,
            self._settings.note,
            self._queue_charts.note,
        ]

    def _handlers_by_command(self) -> dict[type, Handler]:
        editor, session, measurements = self.editor, self.session, self.measurements
        return {
            commands.HeartbeatCommand: lambda command, by: None,
            commands.EditCommand: editor.edit,
            commands.AddressCommand: self._address,
            commands.UndoCommand: editor.undo,
            commands.RedoCommand: editor.redo,
            commands.NewCommand: self._new,
            commands.GenerateCommand: self._generate,
            commands.OpenCommand: self._open,
            commands.SaveCommand: editor.save,
            commands.DraftCommand: self._answer_draft,
            commands.RunCommand: self._run,
            commands.StopCommand: session.stop,
            commands.OpenTerminalCommand: session.terminals.open,
            commands.CloseTerminalCommand: session.terminals.close,
            commands.TypeCommand: session.terminals.type,
            commands.TypeTogetherCommand: session.terminals.type_together,
            commands.SetLinkCommand: self._set_link,
            commands.TakeTcCommand: self._take_tc,
            commands.TakeSettingsCommand: self._settings.take,
            commands.LinkUpCommand: session.links.plug,
            commands.PaceCommand: session.clock.set_pace,
            commands.LetRunCommand: session.clock.let_run,
            commands.PauseCommand: session.clock.pause,
            commands.StepCommand: session.clock.step,
            commands.StepToCommand: self.slow_motion.step_to,
            commands.BreakCommand: self.slow_motion.set_breakpoint,
            commands.HistoryCommand: self._history,
            commands.NumbersCommand: self.branches.numbers,
            commands.ContinueCommand: self._continue_from,
            commands.WhatIfCommand: self._what_ifs.begin,
            commands.CancelContinueCommand: self._what_ifs.cancel,
            commands.CostCommand: self.branches.cost,
            commands.MarkerCommand: self.branches.mark,
            commands.RenameBranchCommand: self.branches.rename,
            commands.DropBranchCommand: self.branches.drop,
            commands.RecordCommand: measurements.record,
            commands.CompareCommand: measurements.compare,
            commands.DeleteRecordCommand: measurements.delete_record,
            commands.CaptureCommand: measurements.capture,
            commands.LessonCommand: self._lesson,
            commands.GalleryCommand: self.gallery.perform,
        }

    async def _preload(self) -> None:
        """Load libraries for curves, which takes a second, once the page has had time to open."""
        await asyncio.sleep(PRELOAD_AFTER_REAL_S)
        await asyncio.to_thread(import_module, ".measuring.curves", __package__)

    async def _check_stalls(self) -> None:
        while True:
            await asyncio.sleep(CHECK_REAL_S)
            self.session.clock.check_stall()
            self._watch.check_running()

    # -- state ------------------------------------------------------------------------------------

    def state(self, client: str = "") -> messages.StatePush:
        """Return the whole state, for the browser called `client`."""
        return messages.StatePush(
            client=client,
            version=__version__,
            # Where the computer of a class keeps its folders is not the students' business.
            folder=self.folder.path.name if self.rules.is_class else str(self.folder.path),
            document=self.editor.snapshot(),
            problems=self.editor.problems_snapshot(),
            ports=self.editor.ports_snapshot(),
            file=self.editor.file_snapshot(),
            draft=self.editor.draft_snapshot(),
            run=self.session.snapshot(),
            clock=self.session.clock.snapshot(),
            terminals=self.session.terminals.snapshot(),
            records=self.measurements.records.snapshot(),
            captures=self.measurements.captures_snapshot(),
            breakpoints=self.slow_motion.snapshot(),
            settings=self._settings.snapshot(),
            branches=self.branches.snapshot(),
            lessons=self.lessons.snapshot(),
        )

    async def perform(
        self, command: commands.Command, browser: Browser
    ) -> messages.CommandReply | messages.CommandRefusal:
        """Carry out a command of a browser."""
        try:
            if isinstance(command, commands.WatchCommand):
                await self.measurements.watch(browser, command)
                return messages.CommandReply(command.id)
            before = self.editor.document
            result = self._handlers[type(command)](command, browser.name)
            if inspect.isawaitable(result):
                result = await result
            if self.editor.document is not before:
                self.session.note_edit(self.editor.document)
            self._watch.note_performed(command, result)
            return messages.CommandReply(command.id, result)
        except WanlabError as error:
            return messages.CommandRefusal(command.id, error_body(error))
        # An internal error must be answered too, or the page would wait for ever.
        except Exception as error:
            traceback.print_exc()
            return messages.CommandRefusal(
                command.id, messages.ErrorBody(f"internal error: {error!r}", INTERNAL_ERROR_HINT)
            )

    def export(self, form: str) -> tuple[str, bytes, str]:
        """Return name, content and media type of the document in another format."""
        if form not in EXPORTS:
            raise WanlabError(f"unknown format {form}", did_you_mean(form, EXPORTS))
        topology = self.editor.sound_topology()
        name = f"{self.editor.stem}.{form}"
        if form == "sh":
            content = plan_script(topology, wire=self.editor.document.preferences.wire).encode()
        else:
            content = encoded(topology, name)
        return name, content, EXPORTS[form]

    async def disconnect(self, browser: Browser) -> None:
        """Remove a browser whose connection has ended."""
        self.broadcast.disconnect(browser)
        with contextlib.suppress(WanlabError):
            await self.measurements.update_curves()

    async def close(self) -> None:
        """Stop the network and keep unsaved work for the next server."""
        self._tasks.cancel()
        self.editor.write_draft()
        self.lessons.reports.cancel()
        self.gallery.cancel()
        await self.session.stop()

    # -- commands that concern several parts ------------------------------------------------------

    def _address(self, command: commands.AddressCommand, by: str) -> object:
        elements = addressed(self.editor.document)
        edit = commands.EditCommand(put=elements, label="Address the network")
        return self.editor.edit(edit, by)

    def _new(self, command: commands.NewCommand, by: str) -> None:
        self._check_replaceable()
        self.editor.new(command, by)
        self._end_session_of_document()

    def _check_replaceable(self) -> None:
        """Raise RefusedError while a network runs or is replayed: it belongs to the open document.

        Links and nodes are known by their ids, which occur in other documents, too.
        """
        if not self.session.is_stopped:
            raise RefusedError("a network is running", "stop it first", "running")
        if self.branches.is_replaying:
            raise WanlabError("a session is being replayed", "wait, or cancel that first")

    def _end_session_of_document(self) -> None:
        """End what is left of the last network, since another document has been opened."""
        self.session.terminals.close_ended()
        self.branches.end()

    def _answer_draft(self, command: commands.DraftCommand, by: str) -> None:
        if command.take:
            self._check_replaceable()
        self.editor.answer_draft(command, by)
        if command.take:
            self._end_session_of_document()

    def _generate(self, command: commands.GenerateCommand, by: str) -> None:
        topology = shapes.from_text(command.shape)
        if len(topology.nodes) > MAX_GENERATED_NODES:
            raise WanlabError(
                f"{command.shape} has {len(topology.nodes)} nodes",
                f"the page can draw {MAX_GENERATED_NODES}",
            )
        self._check_replaceable()
        self.editor.check_saved(discard=command.discard)
        self.editor.open_topology(arranged(topology), None, UNTITLED, by)
        self._end_session_of_document()

    def _open(self, command: commands.OpenCommand, by: str) -> object:
        self._check_replaceable()
        imported = self.editor.open(command, by)
        self._end_session_of_document()
        if self.lessons.unit is not None and self.lessons.is_outside(command.path):
            self.lessons.close()
        return imported

    async def _run(self, command: commands.RunCommand, by: str) -> None:
        topology = self.editor.sound_topology()
        document = self.editor.document
        await self.rules.admit()
        if self.lessons.unit is not None:
            plan = self.lessons.plan_run(document, topology)
        else:
            plan = self._plan(document, topology)
        if self.branches.is_replaying:
            raise WanlabError("a session is being replayed", "wait, or cancel that first")
        plan = self._session_files.recorded(plan)
        branch = self.branches.begin(plan)
        self.session.start(branch, is_paced=document.preferences.pace == "real")
        self.branches.push()
        self._tasks.start(self._note_running())

    async def _history(
        self, command: commands.HistoryCommand, by: str = ""
    ) -> tuple[messages.SampleColumn, ...]:
        recorded = self.branches.history(command)
        return await self.measurements.history(command, by) if recorded is None else recorded

    def _redraw(self, plan: RunPlan, by: str) -> None:
        """Draw the links as a branch has them."""
        drawn = {link.id: link for link in self.editor.document.links}
        changed = tuple(
            link for link in plan.document.links if drawn.get(link.id) not in (None, link)
        )
        if changed:
            label = "Restore the links of the branch"
            edit = commands.EditCommand(put=Elements(links=changed), label=label)
            self.editor.edit(edit, by)
        self.session.note_edit(self.editor.document)

    def _why_busy(self) -> str:
        """Return why the running network cannot be replaced by a branch now; "" if it can."""
        if self._what_ifs.is_playing:
            return "a session is being repeated: wait, or cancel that first"
        if self.lessons.is_checking:
            return "a lesson is being checked: wait until that is done"
        if self.measurements.records.recording is not None:
            return "a record is being made: stop the recording first"
        if self.measurements.captures_snapshot().ports:
            return "packets are being captured: stop the capture first"
        return ""

    async def _continue_from(self, command: commands.ContinueCommand, by: str) -> object:
        """Continue a session; one whose network has ended starts another."""
        await self._admit()
        return await self.branches.continue_from(command, by)

    async def _admit(self) -> None:
        if self.session.is_stopped:
            await self.rules.admit()

    async def note_upload(self, path: str) -> None:
        """Note in the session of the running network that a file was written."""
        if self.session.is_running:
            file = self.folder.path / path
            with contextlib.suppress(WanlabError):
                await self.session.in_network(lambda network: network.session.note_upload(file))

    async def _note_running(self) -> None:
        with contextlib.suppress(WanlabError):
            await self.session.wait_until_started()
            self._watch.note(CanvasAction("run"))

    def _plan(self, document: Document, topology: Topology) -> RunPlan:
        chosen, folder, rules = document.preferences, self.folder.path, self.rules

        def make() -> Network:
            return Network(
                topology,
                clock=chosen.clock,
                wire=chosen.wire,
                seed=chosen.seed,
                folder=folder,
                **rules.machine_options(),
            )

        return RunPlan(document, topology, make)

    async def _set_link(self, command: commands.SetLinkCommand, by: str) -> None:
        """Change a link in the running network and, if that succeeds, in the document."""
        link = self._drawn_link(command.link)
        changed = changed_link(link, command.options, command.end)
        if self.session.is_running:
            before, after = conditions_of_ends(link), conditions_of_ends(changed)
            await self.session.links.set_conditions(
                link.id,
                {
                    end: {name: after[end].get(name) for name in command.options}
                    for end in after
                    if before[end] != after[end]
                },
            )
            self.session.links.note_drawn(changed)
        words = [option_name(name) for name in command.options]
        what = words[0] if len(words) == 1 else "conditions"
        label = f"Set {what} of {link_name(self.editor.document, link)}"
        edit = commands.EditCommand(put=Elements(links=(changed,)), label=label)
        self.editor.edit(edit, by)

    async def _take_tc(self, command: commands.TakeTcCommand, by: str) -> None:
        """Draw a link as `tc` has set it in the running network."""
        changed = self._drawn_link(command.link)
        for end, options in self.session.links.set_by_tc(command.link).items():
            changed = changed_link(changed, options, end)
        label = f"Copy tc settings of {link_name(self.editor.document, changed)}"
        edit = commands.EditCommand(put=Elements(links=(changed,)), label=label)
        self.editor.edit(edit, by)
        self.session.links.note_drawn(changed)
        await self.session.links.keep_tc(command.link)

    def _drawn_link(self, id_: str) -> DrawnLink:
        for link in self.editor.document.links:
            if link.id == id_:
                return link
        raise WanlabError("this link does not exist", "was it deleted in the meantime?")

    async def _lesson(self, command: commands.LessonCommand, by: str) -> object:
        lessons = self.lessons
        match command.action:
            case "start":
                await self._start_lesson(command, by)
                return None
            case "start_at":
                return await self._start_lesson_at(command, by)
            case "cancel_start":
                lessons.cancel_start()
                return None
            case "close":
                lessons.close()
                return None
            case "type":
                return await self._steps.type(command.step)
            case "interrupt":
                return self._steps.interrupt(command.step)
            case "perform":
                return await self._perform_canvas_step(command, by)
            case "progress":
                if command.step is None:
                    raise WanlabError("no step was named")
                lessons.mark_step(command.unit, command.step, is_done=command.done)
                return None
            case "check":
                return await self._steps.check()
            case "report":
                await lessons.report(command.unit)
                return None
            case "cancel_report":
                lessons.reports.cancel()
                return None
            case "raise_hand" | "lower_hand":
                lessons.raise_hand(is_raised=command.action == "raise_hand")
                return None
            case "hand_in":
                await self._hand_ins.hand_in(command.unit)
                return None

    async def _start_lesson(self, command: commands.LessonCommand, by: str) -> str | None:
        """Open the network of a unit; return the path of its file, if it has one."""
        self._check_replaceable()
        if self.lessons.is_starting:
            raise RefusedError(
                "a network is being started", "wait, or cancel that first", "running"
            )
        self.editor.check_saved(discard=command.discard)
        topology, path = await asyncio.to_thread(self.lessons.begin, command)
        self.lessons.push()
        name = Path(path).name if path is not None else UNTITLED
        seed = self.lessons.unit.seed if self.lessons.unit is not None else None
        self.editor.open_topology(topology, path, name, by, seed=seed)
        self._end_session_of_document()
        return path

    async def _start_lesson_at(self, command: commands.LessonCommand, by: str) -> list[str]:
        """Perform the steps of a unit before a given step, and run the resulting network.

        Return the ids of new terminals, one for each terminal that these steps have opened.
        """
        lessons, clock = self.lessons, self.editor.document.preferences.clock
        if command.step is None:
            raise WanlabError("no step was named")
        lessons.check_can_start_at(command.unit, command.step)
        path = await self._start_lesson(command, by)
        await self.rules.admit()
        kept: dict[str, object] = {"clock": clock, "seed": self.editor.document.preferences.seed}
        target = self._session_files.target(clock)
        started = await lessons.start_at(command.step, clock, target)
        try:
            name = Path(path).name if path is not None else UNTITLED
            self.editor.open_topology(arranged(started.topology), path, name, by)
            self.editor.edit(commands.EditCommand(preferences=kept, label="Set clock and seed"), by)
            document = self.editor.document
            plan = lessons.plan_run_of(document, started.topology, lambda: started.network)
            branch = self.branches.begin(plan)
            self.session.start(branch, is_paced=document.preferences.pace == "real")
        except BaseException:
            started.network.stop()
            raise
        self.branches.push()
        for problem in started.problems:
            what = f"an earlier step went wrong: {problem}"
            self.broadcast.push(messages.MessagePush(level="warning", what=what))
        for place, line in started.running:
            what = f"still running from an earlier step: {line} ({place})"
            self.broadcast.push(messages.MessagePush(level="info", what=what))
        return [await self._steps.open_terminal(*place) for place in started.folders.items()]

    async def _perform_canvas_step(self, command: commands.LessonCommand, by: str) -> list[str]:
        """Perform a canvas step of a unit, and return the ids of the terminals that it has opened.

        Refused if it would lose unsaved changes or replace a file, unless the command allows that.
        """
        if command.step is None:
            raise WanlabError("no step was named")
        step, folder = self.lessons.canvas_step(command.unit, command.step)
        terminals: list[str] = []
        for word, argument in step.do.items():
            path = f"{folder}/{argument}"
            match word:
                case "new":
                    await self.session.stop_completely()
                    self._new(commands.NewCommand(discard=command.discard), by)
                case "open":
                    await self.session.stop_completely()
                    self._open(commands.OpenCommand(path=path, discard=command.discard), by)
                case "save":
                    save = commands.SaveCommand(path=path, overwrite=command.overwrite)
                    self.editor.save(save, by)
                case "draw" | "properties" | "preferences":
                    edit = canvas_steps.edit_for(self.editor.document, word, argument)
                    self.editor.edit(edit, by)
                case "run":
                    await self._run_drawn(by)
                case "stop":
                    await self.session.stop()
                case "terminal":
                    if self.session.is_stopped:
                        await self._run_drawn(by)
                    names = canvas_steps.terminal_names(argument)
                    terminals += [await self._steps.open_terminal(name) for name in names]
        self.lessons.mark_step(command.unit, command.step, is_done=True)
        return terminals

    async def _run_drawn(self, by: str) -> None:
        """Start the drawn network, unless it is running already, and wait until it runs."""
        if self.session.is_running and self.session.is_stale:
            await self.session.stop_completely()
        if self.session.is_stopped:
            await self._run(commands.RunCommand(), by)
        await self.session.wait_until_started()

    def _show_file(self, path: Path) -> str:
        """Show a file in the browsers, for a program in the machine. Return "" or why not."""
        try:
            real = path.resolve()
            name = self.folder.path_of(real)
            self.folder.name(name)
        except (OSError, ValueError, WanlabError):
            return f"only files in {self.folder.path} can be shown"
        loop = self.session.loop
        push = messages.ShowPush(path=name)
        loop.call_soon_threadsafe(self.broadcast.push, push)
        return ""


def error_body(error: WanlabError) -> messages.ErrorBody:
    """Return an error as browsers get it."""
    code = error.code if isinstance(error, RefusedError) else ""
    if isinstance(error, TopologyError):
        return messages.ErrorBody(str(error), code=code)
    text = str(error)
    what = error.what if text in (error.what, f"{error.what} ({error.hint})") else text
    return messages.ErrorBody(what, error.hint if what == error.what else "", code=code)
