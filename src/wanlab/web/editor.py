"""The document that is edited, its file, and its draft."""

from __future__ import annotations

import asyncio
import time
from pathlib import PurePosixPath

from wanlab import Topology, errors, load, save
from wanlab.errors import TopologyError, WanlabError
from wanlab.topology import loads
from wanlab.topology.layout import arranged

from .broadcast import Broadcast
from .commands import (
    DraftCommand,
    EditCommand,
    NewCommand,
    OpenCommand,
    RedoCommand,
    SaveCommand,
    UndoCommand,
)
from .document import History, document_of, ports_of, read
from .drafts import Drafts
from .folder import LARGEST_TOPOLOGY_BYTES, WorkingFolder
from .model import Document
from .protocol import (
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

UNTITLED = "untitled.mn"
DRAFT_AFTER_S = 0.3


class RefusedError(WanlabError):
    """Why a command was not carried out, with a word for programs."""

    def __init__(self, what: str, hint: str = "", code: str = "") -> None:
        super().__init__(what, hint)
        self.code = code


class DocumentEditor:
    """One for all browsers. What it does is done when its methods return; they never wait."""

    def __init__(self, folder: WorkingFolder, broadcast: Broadcast) -> None:
        self._folder = folder
        self._broadcast = broadcast
        self._drafts = Drafts(folder.ours)
        self._history = History(Document())
        self._path: str | None = None
        self._name = UNTITLED
        self._revision = 1
        self._was_saved = True
        self._draft_timer: asyncio.TimerHandle | None = None
        self._drafted_at_s = -DRAFT_AFTER_S
        self.topology, self.problems = read(self.document)
        self._ports = ports_of(self.document, self.topology)

    # -- what it is now ---------------------------------------------------------------------------

    @property
    def document(self) -> Document:
        return self._history.document

    @property
    def stem(self) -> str:
        """What files made of it are called."""
        return PurePosixPath(self._name).stem or "network"

    def told(self) -> DocumentPush:
        return self._document_push(document=self.document)

    def told_file(self) -> FilePush:
        return FilePush(path=self._path, name=self._name, is_saved=self._history.is_saved)

    def told_draft(self) -> DraftPush:
        return self._drafts.offered.told() if self._drafts.offered else DraftPush()

    def told_problems(self) -> ProblemsPush:
        return ProblemsPush(problems=self.problems)

    def told_ports(self) -> PortsPush:
        return PortsPush(ports=self._ports)

    def sound_topology(self) -> Topology:
        """The topology, if nothing is wrong with it. TopologyError with all that is."""
        if self.problems:
            raise TopologyError([_plain(self.document, problem) for problem in self.problems])
        return self.topology

    # -- edits ------------------------------------------------------------------------------------

    def edit(self, command: EditCommand, by: str = "") -> dict[str, int]:
        changes = self._history.edit(command)
        return self._changed(changes, command.label, by)

    def undo(self, command: UndoCommand, by: str = "") -> dict[str, int]:
        changes, label = self._history.undo()
        return self._changed(changes, f"Undo {label}", by)

    def redo(self, command: RedoCommand, by: str = "") -> dict[str, int]:
        changes, label = self._history.redo()
        return self._changed(changes, f"Redo {label}", by)

    def _changed(self, changes: DocumentChanges, label: str, by: str) -> dict[str, int]:
        if changes != DocumentChanges():
            self._revision += 1
            self._broadcast.tell(self._document_push(changes=changes, by=by, label=label))
            self._look()
        return {"revision": self._revision}

    # -- files ------------------------------------------------------------------------------------

    def new(self, command: NewCommand, by: str = "") -> None:
        self.keep_unsaved(discard=command.discard)
        self._begin(Document(), None, UNTITLED, by)

    def open(self, command: OpenCommand, by: str = "") -> None:
        name, path = PurePosixPath(command.path).name, None
        if command.text is None:
            path = command.path
            document = _drawn(self._load(path))
        else:
            name = name or UNTITLED
            if len(command.text) > LARGEST_TOPOLOGY_BYTES:
                raise WanlabError(f"{name} is too large for a topology")
            document = _drawn(loads(command.text, name))
        # Only now: nobody is asked to save for what cannot be opened.
        self.keep_unsaved(discard=command.discard)
        self._begin(document, path, name, by)

    def open_topology(self, topology: Topology, path: str | None, name: str, by: str = "") -> None:
        """Instead of what is there."""
        self._begin(document_of(topology), path, name, by)

    def _load(self, path: str) -> Topology:
        self._folder.read_bytes(path, LARGEST_TOPOLOGY_BYTES)  # or why not
        try:
            return load(self._folder.resolve(path))
        except TopologyError as error:
            raise TopologyError(error.problems, path) from None

    def save(self, command: SaveCommand, by: str = "") -> SavedFile:
        path = command.path or self._path
        if path is None:
            raise RefusedError("it has no name yet", "say where to save it", "no name")
        place = self._folder.resolve(path)
        if path != self._path and not command.overwrite and place.exists():
            raise RefusedError(f"{path} is there already", "replace it?", "exists")
        self._write(self.sound_topology(), path)
        self._path, self._name = path, PurePosixPath(path).name
        self._history.saved = self.document
        self._look_at_file(always=True)
        self._broadcast.tell(FilesPush(paths=(path,)))
        return SavedFile(path)

    def _write(self, topology: Topology, path: str) -> None:
        """All of it or nothing."""
        place = self._folder.resolve(path)
        part = place.with_name(f".wanlab-{place.name}")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            save(topology, part)
            part.replace(place)
        except OSError as error:
            raise WanlabError(f"cannot write {path}: {error.strerror or error}") from None
        except WanlabError as error:
            raise WanlabError(error.what.replace(str(part), path), error.hint) from None
        finally:
            part.unlink(missing_ok=True)

    def take_draft(self, command: DraftCommand, by: str = "") -> None:
        if self._drafts.offered is None:
            raise WanlabError("there is no draft")
        if command.take:
            draft = self._drafts.offered
            self._begin(draft.document, draft.path, draft.name, by)
            self._history.saved = None
            self._look_at_file(always=True)
        self._drafts.answer()
        self._broadcast.tell(self.told_draft())

    def keep_unsaved(self, *, discard: bool) -> None:
        """RefusedError where something would be lost."""
        if not discard and not self._history.is_saved:
            raise RefusedError(f"{self._name} has changes that are not saved", "", "not saved")

    def _begin(self, document: Document, path: str | None, name: str, by: str) -> None:
        self._history = History(document)
        self._path, self._name = path, name
        self._ports = ()
        self._revision += 1
        self._broadcast.tell(self._document_push(document=document, by=by, label=f"Open {name}"))
        self._broadcast.tell(self.told_ports())
        self._look_at_file(always=True)
        self._look()

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

    def _look(self) -> None:
        self.topology, problems = read(self.document)
        if problems != self.problems:
            self.problems = problems
            self._broadcast.tell(self.told_problems())
        if not problems:  # otherwise those of before stay
            ports = ports_of(self.document, self.topology)
            if ports != self._ports:
                self._ports = ports
                self._broadcast.tell(self.told_ports())
        self._look_at_file()

    def _look_at_file(self, *, always: bool = False) -> None:
        if always or self._history.is_saved != self._was_saved:
            self._was_saved = self._history.is_saved
            self._broadcast.tell(self.told_file())
        if self._draft_timer is None:
            loop = asyncio.get_running_loop()
            wait_s = self._drafted_at_s + DRAFT_AFTER_S - loop.time()
            if wait_s <= 0:
                self.write_draft()
            else:
                self._draft_timer = loop.call_later(wait_s, self.write_draft)

    def write_draft(self) -> None:
        """Now. An edit that comes alone is written before it is answered; of many in a row, some."""
        self._drafted_at_s = time.monotonic()
        if self._draft_timer is not None:
            self._draft_timer.cancel()
            self._draft_timer = None
        try:
            if self._history.is_saved:
                self._drafts.forget()
            else:
                self._drafts.keep(self.document, self._path, self._name)
        except OSError as error:
            what = f"the draft cannot be written: {error.strerror or error}"
            self._broadcast.tell(MessagePush(level="warning", what=what, hint="save your work"))


def _plain(document: Document, problem: DrawingProblem) -> errors.Problem:
    names: dict[str, str] = {node.id: node.name for node in document.nodes}
    names |= {link.id: f"link {names.get(link.a)}-{names.get(link.b)}" for link in document.links}
    place = " ".join(filter(None, [names.get(problem.place.id), problem.place.field]))
    return errors.Problem(place, problem.what, problem.hint)


def _drawn(topology: Topology) -> Document:
    """As a document. One that was written by hand says of no node where it stands."""
    places = {(node.x, node.y) for node in topology.nodes}
    return document_of(arranged(topology) if len(places) == 1 else topology)
