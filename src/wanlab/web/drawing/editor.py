"""The document that is being edited, its file and its draft."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from functools import partial
from pathlib import Path, PurePosixPath

import msgspec

from wanlab import Topology, errors
from wanlab.errors import TopologyError, WanlabError
from wanlab.topology import file_names, foreign, loads
from wanlab.topology.files import FORMATS, file_content, load_content
from wanlab.topology.layout import arranged

from ..broadcast import Broadcast
from ..folder import MAX_TOPOLOGY_BYTES, WorkingFolder
from ..protocol.commands import (
    DraftCommand,
    EditCommand,
    NewCommand,
    OpenCommand,
    RedoCommand,
    SaveCommand,
    UndoCommand,
)
from ..protocol.imports import ImportedFile, ImportNote
from ..protocol.messages import (
    DocumentChanges,
    DocumentPush,
    DraftPush,
    DrawingProblem,
    FilePush,
    FilesPush,
    MessagePush,
    PortsPush,
    ProblemsPush,
    SavedFile,
)
from ..protocol.model import Document, DocumentPreferences
from .document import History, document_of, ports_of, read
from .drafts import Drafts
from .drawing_advice import advice
from .option_names import field_name

UNTITLED = "untitled.mn"
DRAFT_AFTER_S = 0.3


class RefusedError(WanlabError):
    """A command was refused; `code` tells the browser what it can offer."""

    def __init__(self, what: str, hint: str = "", code: str = "") -> None:
        super().__init__(what, hint)
        self.code = code


class DocumentEditor:
    """Edits one document for all browsers. Its methods never wait."""

    def __init__(self, folder: WorkingFolder, broadcast: Broadcast) -> None:
        self._folder = folder
        self._broadcast = broadcast
        self._drafts = Drafts(folder.state_folder)
        self._history = History(Document())
        self._path: str | None = None
        self._name = UNTITLED
        self._revision = 1
        self._was_saved = True
        self._draft_timer: asyncio.TimerHandle | None = None
        self._draft_written_s = -DRAFT_AFTER_S
        self.topology, self.problems = read(self.document)
        self._ports = ports_of(self.document, self.topology)

    # -- state ------------------------------------------------------------------------------------

    @property
    def document(self) -> Document:
        """The document as it is now."""
        return self._history.document

    @property
    def stem(self) -> str:
        """The name of files made from the document, without suffix."""
        return PurePosixPath(self._name).stem or "network"

    def snapshot(self) -> DocumentPush:
        """Return the whole document."""
        return self._document_push(document=self.document)

    def file_snapshot(self) -> FilePush:
        """Return the state of the document's file."""
        return FilePush(path=self._path, name=self._name, is_saved=self._history.is_saved)

    def draft_snapshot(self) -> DraftPush:
        """Return what an earlier server had not saved."""
        return self._drafts.offered.snapshot() if self._drafts.offered else DraftPush()

    def problems_snapshot(self) -> ProblemsPush:
        """Return the problems of the document."""
        return ProblemsPush(problems=self.problems)

    def ports_snapshot(self) -> PortsPush:
        """Return the ports of the last sound revision of the document."""
        return PortsPush(ports=self._ports)

    def sound_topology(self) -> Topology:
        """Return the topology. TopologyError with all problems if there are any."""
        faults = [problem for problem in self.problems if problem.severity == "error"]
        if faults:
            raise TopologyError([_topology_problem(self.document, fault) for fault in faults])
        return self.topology

    # -- edits ------------------------------------------------------------------------------------

    def edit(self, command: EditCommand, by: str = "") -> dict[str, int]:
        """Change the document; return its revision."""
        changes = self._history.edit(command)
        return self._changed(changes, command.label, by)

    def undo(self, command: UndoCommand, by: str = "") -> dict[str, int]:
        """Undo the last edit; return the revision."""
        changes, label = self._history.undo()
        return self._changed(changes, f"Undo {label}", by)

    def redo(self, command: RedoCommand, by: str = "") -> dict[str, int]:
        """Redo the last edit that was undone; return the revision."""
        changes, label = self._history.redo()
        return self._changed(changes, f"Redo {label}", by)

    def _changed(self, changes: DocumentChanges, label: str, by: str) -> dict[str, int]:
        if changes != DocumentChanges():
            self._revision += 1
            self._broadcast.push(self._document_push(changes=changes, by=by, label=label))
            self._update_topology()
        return {"revision": self._revision}

    # -- files ------------------------------------------------------------------------------------

    def new(self, command: NewCommand, by: str = "") -> None:
        """Start an empty document."""
        self.check_saved(discard=command.discard)
        self._replace(Document(), None, UNTITLED, by)

    def open(self, command: OpenCommand, by: str = "") -> ImportedFile | None:
        """Open a file, or a text from the user's computer.

        A topology of another program is imported; return what did not map.
        """
        name, path = PurePosixPath(command.path).name or UNTITLED, None
        if command.text is not None and len(command.text) > MAX_TOPOLOGY_BYTES:
            limit = f"a topology file has at most {MAX_TOPOLOGY_BYTES >> 20} MiB"
            raise WanlabError(f"{name} is too large", limit)
        imported = self._imported(command, name)
        if imported is not None:
            document = _document_from(imported.topology)
            name = f"{name.split('.')[0] or 'imported'}.yaml"
        elif command.text is None:
            path = command.path
            document = _document_from(self._load(path))
        else:
            document = _document_from(loads(command.text, name))
        # Only now, so that nobody is asked about unsaved work for a file that cannot be opened.
        self.check_saved(discard=command.discard)
        self._replace(document, path, name, by)
        if imported is None:
            return None
        self._history.saved = None
        self._update_file_state(always=True)
        notes = tuple(ImportNote(note.place, note.what, note.hint) for note in imported.notes)
        return ImportedFile(imported.program, notes)

    def _imported(self, command: OpenCommand, name: str) -> foreign.Imported | None:
        """Import a topology of another program; None if wanlab or MiniEdit wrote the file."""
        if command.text is None:
            data = self._folder.read_bytes(command.path, MAX_TOPOLOGY_BYTES)
            if not foreign.program_of(name, data.decode(errors="replace")):
                return None
            path = self._folder.path / self._folder.name(command.path)
            return foreign.import_content(data, path, partial(self._text_beside, path.parent))
        if not foreign.program_of(name, command.text):
            return None
        if file_names.is_archive(name):
            hint = "upload it in the tab Files, and open it there"
            raise WanlabError(f"{name} is an archive, which cannot be opened directly", hint)
        return foreign.import_text(command.text, name)

    def _text_beside(self, folder: Path, name: str) -> str | None:
        """Return the text of a file beside an imported topology, or below; None if there is none."""
        path = os.path.normpath(folder / name)
        try:
            inside = str(Path(path).relative_to(folder))
            shared = self._folder.shared.subfolder(self._folder.path_of(folder))
            return shared.read(inside, MAX_TOPOLOGY_BYTES).decode()
        except (OSError, ValueError, WanlabError):
            return None

    def reopen(self) -> None:
        """Open the file that was open when the last server ended, if it can be opened."""
        path = self._drafts.last_open()
        if path:
            with contextlib.suppress(WanlabError):
                self.open(OpenCommand(path=path))

    def open_topology(
        self,
        topology: Topology,
        path: str | None,
        name: str,
        by: str = "",
        *,
        seed: int | None = None,
    ) -> None:
        """Replace the document by a topology; `seed` is the default for a topology without a seed."""
        document = document_of(topology)
        chosen = document.preferences
        if seed is not None and chosen.seed == DocumentPreferences().seed:
            document = msgspec.structs.replace(
                document, preferences=msgspec.structs.replace(chosen, seed=seed)
            )
        self._replace(document, path, name, by)

    def _load(self, path: str) -> Topology:
        data = self._folder.read_bytes(path, MAX_TOPOLOGY_BYTES)
        try:
            return load_content(data, self._folder.path / path)
        except TopologyError as error:
            raise TopologyError(error.problems, path) from None

    def save(self, command: SaveCommand, by: str = "") -> SavedFile:
        """Save the document. Refused if it has no path or would replace another file."""
        path = command.path or self._path
        if path is None:
            raise RefusedError("this network has no file yet", "choose where to save it", "no name")
        exists = self._folder.shared.exists(self._folder.name(path))
        if path != self._path and not command.overwrite and exists:
            raise RefusedError(f"{path} already exists", "replace it?", "exists")
        self._write(self.sound_topology(), path)
        self._path, self._name = path, PurePosixPath(path).name
        self._history.saved = self.document
        self._update_file_state(always=True)
        self._broadcast.push(FilesPush(paths=(path,)))
        return SavedFile(path)

    def _write(self, topology: Topology, path: str) -> None:
        """Write a topology atomically."""
        file = self._folder.path / path
        try:
            # Not a picture, which could not be opened again.
            content = file_content(topology, file, FORMATS)
        except WanlabError as error:
            raise WanlabError(error.what.replace(str(file), path), error.hint) from None
        self._folder.write_bytes(path, content)

    def answer_draft(self, command: DraftCommand, by: str = "") -> None:
        """Restore the draft of an earlier server, or discard it."""
        if self._drafts.offered is None:
            raise WanlabError("there are no unsaved changes to restore")
        if command.take:
            draft = self._drafts.offered
            self._replace(draft.document, draft.path, draft.name, by)
            self._history.saved = None
            self._update_file_state(always=True)
        self._drafts.close_offer()
        self._broadcast.push(self.draft_snapshot())

    def check_saved(self, *, discard: bool) -> None:
        """Raise RefusedError if there are unsaved changes, unless they are to be discarded."""
        if not discard and not self._history.is_saved:
            raise RefusedError(f"{self._name} has unsaved changes", "", "not saved")

    def _replace(self, document: Document, path: str | None, name: str, by: str) -> None:
        self._history = History(document)
        self._path, self._name = path, name
        self._ports = ()
        self._revision += 1
        self._broadcast.push(self._document_push(document=document, by=by, label=f"Open {name}"))
        self._broadcast.push(self.ports_snapshot())
        self._update_file_state(always=True)
        self._update_topology()

    # -- what follows from an edit ----------------------------------------------------------------

    def _document_push(
        self,
        *,
        document: Document | None = None,
        changes: DocumentChanges | None = None,
        by: str = "",
        label: str = "",
    ) -> DocumentPush:
        return DocumentPush(
            revision=self._revision,
            document=document,
            changes=changes,
            by=by,
            label=label,
            undo=self._history.undo_label,
            redo=self._history.redo_label,
        )

    def _update_topology(self) -> None:
        self.topology, problems = read(self.document)
        is_sound = not problems
        if is_sound:
            problems = advice(self.document, self.topology)
        if problems != self.problems:
            self.problems = problems
            self._broadcast.push(self.problems_snapshot())
        if is_sound:  # otherwise the ports of the last sound revision stay
            ports = ports_of(self.document, self.topology)
            if ports != self._ports:
                self._ports = ports
                self._broadcast.push(self.ports_snapshot())
        self._update_file_state()

    def _update_file_state(self, *, always: bool = False) -> None:
        if always:
            self._drafts.note_open(self._path)
        if always or self._history.is_saved != self._was_saved:
            self._was_saved = self._history.is_saved
            self._broadcast.push(self.file_snapshot())
        if self._draft_timer is None:
            loop = asyncio.get_running_loop()
            wait_s = self._draft_written_s + DRAFT_AFTER_S - loop.time()
            if wait_s <= 0:
                self.write_draft()
            else:
                self._draft_timer = loop.call_later(wait_s, self.write_draft)

    def write_draft(self) -> None:
        """Write the draft now, or delete it if everything is saved.

        A single edit is written before its command is answered; of many in a row, only some are.
        """
        self._draft_written_s = time.monotonic()
        if self._draft_timer is not None:
            self._draft_timer.cancel()
            self._draft_timer = None
        try:
            if self._history.is_saved:
                self._drafts.forget()
            else:
                self._drafts.keep(self.document, self._path, self._name)
        except OSError as error:
            what = f"cannot keep a copy of your unsaved changes: {error.strerror or error}"
            hint = "save the network, and check the space and permissions of the working folder"
            self._broadcast.push(MessagePush(level="warning", what=what, hint=hint))


def _topology_problem(document: Document, problem: DrawingProblem) -> errors.Problem:
    names: dict[str, str] = {node.id: node.name for node in document.nodes}
    ends = {
        link.id: {"a": names[link.a], "b": names[link.b]}
        for link in document.links
        if link.a in names and link.b in names
    }
    names |= {link: f"link {pair['a']}-{pair['b']}" for link, pair in ends.items()}
    place = problem.place
    field = field_name(place.field, ends.get(place.id, {}))
    where = ", ".join(filter(None, [names.get(place.id), field]))
    return errors.Problem(where, problem.what, problem.hint)


def _document_from(topology: Topology) -> Document:
    """Return the document that draws a topology, arranged if no node has a position."""
    positions = {(node.x, node.y) for node in topology.nodes}
    return document_of(arranged(topology) if len(positions) == 1 else topology)
