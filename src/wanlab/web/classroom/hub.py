"""The state of a class: students, their running networks, and their hand-ins."""

from __future__ import annotations

import asyncio
import hmac
import multiprocessing
import os
import time
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.context import ForkServerContext
from pathlib import Path

import msgspec

from wanlab.errors import WanlabError, did_you_mean
from wanlab.input_file import read_input
from wanlab.json_text import decode_json
from wanlab.labs import catalog
from wanlab.machine.embedded import find_image
from wanlab.network import NO_CHOICE, MachineChoice

from ..folder import write_atomically
from ..running_tasks import RunningTasks
from ..server.auth import ServerAddress
from .front import ServeConnection
from .grading import ClassGrading, grade_class
from .kept_hand_ins import hand_ins_in, keep, size_of
from .messages import Status
from .process_limits import process_limits
from .roster import Participant, Roster, cookie_of
from .sandbox import (
    StudentSandbox,
    check_readable,
    check_separation,
    needed_folders,
    readable_folders,
)
from .student_process import StudentProcess
from .student_server import StudentSettings

STATE = "students.json"
PRELOADED = ("__main__", "wanlab.web.classroom.student_server")
MORE_FILE_BYTES = 256 << 20
"""A file with the memory of a network is that much larger than the memory."""
RUNNING = ("starting", "running", "stopping")


class SavedStudent(msgspec.Struct):
    """The data about a student that is kept when the server ends."""

    seen_s: float | None = None
    status: Status = Status()


SAVED_STUDENTS = msgspec.json.Decoder(dict[str, SavedStudent])


@dataclass
class Seat:
    """A student, with the student's process while it runs."""

    participant: Participant
    number: int
    status: Status = field(default_factory=Status)
    seen_s: float | None = None
    process: StudentProcess | None = None
    kept_bytes: int = 0
    """The size of the student's hand-ins, as the student's process knows it."""

    @property
    def is_online(self) -> bool:
        """Whether a browser of the student is connected."""
        return self.process is not None and self.status.browsers > 0

    @property
    def is_running(self) -> bool:
        """Whether the student has a network."""
        return self.process is not None and self.status.phase in RUNNING


class Hub:
    """Starts a process for each student who connects. In all, `networks` may run at once."""

    def __init__(
        self,
        roster: Roster,
        address: ServerAddress,
        temporary: Path,
        *,
        networks: int | None,
        nice: int,
        choice: MachineChoice = NO_CHOICE,
    ) -> None:
        """`temporary` is an empty folder in memory, for the temporary files of all students."""
        self._kernel = find_image(choice.kernel).folder.absolute()
        self._readable = readable_folders(choice.kernel)
        self._max_processes = process_limits(roster.participants)
        check_separation(roster.folder, self._readable)
        needed = needed_folders(choice.kernel)
        for it in roster.participants:
            if it.user:
                check_readable(it.user, needed)
        self.roster = roster
        self.grading = ClassGrading(roster, partial(grade_class, choice=choice))
        self.address = address
        self.networks = networks
        self._nice = nice
        self._cpu = choice.cpu or ""
        self._temporary = temporary
        self._context = forkserver_context()
        self._context.set_forkserver_preload(list(PRELOADED))
        self._ending = RunningTasks()
        self._state = roster.folder / ".wanlab" / STATE
        saved = _read_state(self._state)
        self.seats = {
            it.name: Seat(it, number, *_resumed(saved.get(it.name)))
            for number, it in enumerate(roster.participants)
        }
        self._by_cookie = {_digest(it.cookie): it.name for it in roster.participants}
        self.teacher_cookie = cookie_of(roster.teacher_token)

    def tokens(self) -> dict[str, str]:
        """Return the cookie for each token, the teacher's included."""
        pairs = [(it.token, it.cookie) for it in self.roster.participants]
        return {self.roster.teacher_token: self.teacher_cookie, **dict(pairs)}

    def prepare(self) -> None:
        """Load the modules that all students' processes share, which takes a few seconds."""
        self._temporary.chmod(0o711)  # a student's process may run as another user
        first = self._context.Process(target=os.getpid, daemon=True)
        first.start()
        first.join()

    # -- connections ------------------------------------------------------------------------------

    def find_server(self, cookie: str) -> ServeConnection | None:
        """Return the function that serves connections with a cookie; None if it is no student's."""
        name = self._by_cookie.get(_digest(cookie))
        return None if name is None else partial(self._serve, self.seats[name])

    def _serve(self, seat: Seat, connection: int, received: bytes) -> bool:
        if seat.process is None:
            seat.process = self._start(seat)
        return seat.process.serve(connection, received)

    def _start(self, seat: Seat) -> StudentProcess:
        who, limits = seat.participant, seat.participant.limits
        seat.kept_bytes = size_of(hand_ins_in(who.hand_ins))
        settings = StudentSettings(
            name=who.name,
            seed=who.seed,
            memory_bytes=limits.memory_bytes,
            disk_bytes=limits.disk_bytes,
            kept_bytes=seat.kept_bytes,
            cookie=who.cookie,
            address=self.address,
            sandbox=StudentSandbox(
                folder=who.folder,
                kernel=self._kernel,
                temporary=self._temporary / str(seat.number),
                readable=self._readable,
                nice=self._nice,
                max_file_bytes=max(limits.memory_bytes, limits.disk_bytes) + MORE_FILE_BYTES,
                max_processes=self._max_processes[who.user],
                user=who.user,
                cpu=self._cpu,
            ),
        )
        return StudentProcess(
            self._context,
            settings,
            on_status=partial(self._note_status, seat),
            on_ask=lambda: self._reason_against(seat),
            on_hand_in=partial(self._keep, seat),
            on_end=lambda: self._note_end(seat),
        )

    def _note_status(self, seat: Seat, status: Status) -> None:
        if status.browsers or seat.status.browsers:
            seat.seen_s = time.time()
        seat.status = status

    def _note_end(self, seat: Seat) -> None:
        process, seat.process = seat.process, None
        seat.status = msgspec.structs.replace(seat.status, browsers=0, phase="stopped", nodes=0)
        if process is not None:
            self._ending.start(process.close())

    def _reason_against(self, asking: Seat) -> str:
        """Return why a network of a student must not start now, or ""."""
        if self.networks is None:
            return ""
        others = sum(seat.is_running for seat in self.seats.values() if seat is not asking)
        if others < self.networks:
            asking.status = msgspec.structs.replace(asking.status, phase="starting")
            return ""
        return f"the class has reached its limit of running networks ({self.networks})"

    # -- the teacher ------------------------------------------------------------------------------

    def stop_network(self, name: str) -> None:
        """Stop the network of a student."""
        if name not in self.seats:
            raise WanlabError(f"there is no student {name}", did_you_mean(name, self.seats))
        process = self.seats[name].process
        if process is None or not self.seats[name].is_running:
            raise WanlabError(f"{name} has no running network")
        process.stop_network()

    def process_of(self, number: int) -> StudentProcess | None:
        """Return the process of the student with this number, if it runs."""
        return next((it.process for it in self.seats.values() if it.number == number), None)

    # -- hand-ins ---------------------------------------------------------------------------------

    def _keep(self, seat: Seat, unit: str, packed: bytes) -> int:
        """Keep a student's hand-in; return the bytes of all that are kept. WanlabError if it is not."""
        who = seat.participant
        if unit not in catalog.names():
            raise WanlabError(f"there is no unit {unit}")
        # What the student's process reports includes the hand-ins that it knows of.
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

    # -- the end ----------------------------------------------------------------------------------

    async def close(self) -> None:
        """End all processes and their networks."""
        await self.grading.close()
        processes = [seat.process for seat in self.seats.values() if seat.process is not None]
        await asyncio.gather(*(process.close() for process in processes))
        await self._ending.wait()
        self.save()

    def save(self) -> None:
        """Save what the teacher's page shows about students who are offline."""
        saved = {
            name: SavedStudent(seat.seen_s, seat.status)
            for name, seat in self.seats.items()
            if seat.seen_s is not None
        }
        write_atomically(self._state, msgspec.json.encode(saved))


def forkserver_context() -> ForkServerContext:
    """Return the context of students' processes.

    multiprocessing starts Python with a text, so it would find modules in the current folder first, in
    which a program of a network may have left some. Every Python that we start is affected.
    """
    os.environ["PYTHONSAFEPATH"] = "1"
    return multiprocessing.get_context("forkserver")


def _digest(cookie: str) -> bytes:
    """Return the digest by which a cookie is looked up, so that timing reveals nothing about cookies."""
    return hmac.digest(b"wanlab", cookie.encode(), "sha256")


def _read_state(path: Path) -> dict[str, SavedStudent]:
    try:
        return decode_json(read_input(path), SAVED_STUDENTS)
    except WanlabError:
        return {}


def _resumed(saved: SavedStudent | None) -> tuple[Status, float | None]:
    if saved is None:
        return Status(), None
    status = msgspec.structs.replace(saved.status, browsers=0, phase="stopped", nodes=0)
    return status, saved.seen_s
