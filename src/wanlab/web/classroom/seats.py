"""The state of a class: students, what they do, and their hand-ins."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import msgspec

from wanlab.errors import WanlabError, did_you_mean
from wanlab.input_file import read_input
from wanlab.json_text import decode_json
from wanlab.labs import catalog

from ..folder import write_atomically
from .grading import ClassGrading, Grade
from .kept_hand_ins import hand_ins_in, keep, size_of
from .looking import AnswersLooks
from .messages import Status
from .page_state import StudentLink
from .roster import Participant, Roster

STATE = "students.json"
RUNNING = ("starting", "running", "stopping")


class SavedStudent(msgspec.Struct):
    """The data about a student that is kept when the server ends."""

    seen_s: float | None = None
    status: Status = Status()


SAVED_STUDENTS = msgspec.json.Decoder(dict[str, SavedStudent])


class StudentLaboratory(AnswersLooks, Protocol):
    """A student's laboratory that runs, wherever that may be."""

    def stop_network(self) -> None:
        """Stop its network, with a message to the student that the teacher did so."""


L = TypeVar("L", bound=StudentLaboratory)


@dataclass
class Seat(Generic[L]):
    """A student, with the student's laboratory while it runs."""

    participant: Participant
    number: int
    status: Status = field(default_factory=Status)
    seen_s: float | None = None
    laboratory: L | None = None
    kept_bytes: int = 0
    """The size of the student's hand-ins, as the laboratory knows it."""

    @property
    def is_online(self) -> bool:
        """Whether a browser of the student is connected."""
        return self.laboratory is not None and self.status.browsers > 0

    @property
    def is_running(self) -> bool:
        """Whether the student has a network."""
        return self.laboratory is not None and self.status.phase in RUNNING

    def note_status(self, status: Status) -> None:
        """Note what the student does."""
        if status.browsers or self.status.browsers:
            self.seen_s = time.time()
        self.status = status

    def note_end(self) -> None:
        """Note that the laboratory has ended."""
        self.laboratory = None
        self.status = _ended(self.status)


class Seats(Generic[L]):
    """The students of a class by name.

    networks    how many may run at once; None: as many as there are students
    has_links   whether students sign in with links
    """

    networks: int | None = None
    has_links = False

    def __init__(self, roster: Roster, grade: Grade) -> None:
        self.roster = roster
        self.grading = ClassGrading(roster, grade)
        self._state = roster.folder / ".wanlab" / STATE
        self._saved = _read_state(self._state)
        self.seats: dict[str, Seat[L]] = {}
        for participant in roster.participants:
            self.add(participant)

    def add(self, participant: Participant) -> Seat[L]:
        """Add a student."""
        resumed = _resumed(self._saved.get(participant.name))
        seat: Seat[L] = Seat(participant, len(self.seats), *resumed)
        self.seats[participant.name] = seat
        return seat

    def links(self) -> tuple[StudentLink, ...]:
        """Return the address with which each student signs in, if they do."""
        return ()

    def stop_network(self, name: str) -> None:
        """Stop the network of a student."""
        if name not in self.seats:
            raise WanlabError(f"there is no student {name}", did_you_mean(name, self.seats))
        laboratory = self.seats[name].laboratory
        if laboratory is None or not self.seats[name].is_running:
            raise WanlabError(f"{name} has no running network")
        laboratory.stop_network()

    def laboratory_of(self, number: int) -> L | None:
        """Return the laboratory of the student with this number, if it runs."""
        return next((it.laboratory for it in self.seats.values() if it.number == number), None)

    def keep(self, seat: Seat[L], unit: str, packed: bytes) -> int:
        """Keep a student's hand-in; return the bytes of all that are kept. WanlabError if it is not."""
        who = seat.participant
        if unit not in catalog.names():
            raise WanlabError(f"there is no unit {unit}")
        # What the laboratory reports includes the hand-ins that it knows of.
        folder_bytes = max(0, seat.status.disk_bytes - seat.kept_bytes)
        keep(
            who.hand_ins,
            unit,
            who.seed,
            packed,
            folder_bytes=folder_bytes,
            limit_bytes=who.limits.disk_bytes,
        )
        seat.kept_bytes = size_of(hand_ins_in(who.hand_ins))
        return seat.kept_bytes

    def save(self) -> None:
        """Save what the teacher's page shows about students who are offline."""
        saved = {
            name: SavedStudent(seat.seen_s, seat.status)
            for name, seat in self.seats.items()
            if seat.seen_s is not None
        }
        write_atomically(self._state, msgspec.json.encode(saved))


def _read_state(path: Path) -> dict[str, SavedStudent]:
    try:
        return decode_json(read_input(path), SAVED_STUDENTS)
    except WanlabError:
        return {}


def _resumed(saved: SavedStudent | None) -> tuple[Status, float | None]:
    if saved is None:
        return Status(), None
    return _ended(saved.status), saved.seen_s


def _ended(status: Status) -> Status:
    """Return what remains of a status once the laboratory has ended."""
    return msgspec.structs.replace(status, browsers=0, phase="stopped", nodes=0)
