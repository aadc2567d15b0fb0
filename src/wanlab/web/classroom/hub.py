"""The state of a class: students, their running networks, and their hand-ins."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import multiprocessing
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec

from wanlab.errors import WanlabError, did_you_mean
from wanlab.labs import catalog

from ..auth import ServerAddress
from ..folder import write_atomically
from ..running_tasks import RunningTasks
from .front import ServeConnection
from .messages import Status
from .roster import Participant, Roster, cookie_of
from .sandbox import (
    MEMORY,
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
MAX_HAND_INS = 100
"""Hand-ins kept of a student in a unit; the oldest are removed."""
TIME = "%Y%m%d-%H%M%S"
RUNNING = ("starting", "running", "stopping")


class SavedStudent(msgspec.Struct):
    """The data about a student that is kept when the server ends."""

    seen_s: float | None = None
    status: Status = Status()


@dataclass
class Seat:
    """A student, with the student's process while it runs."""

    participant: Participant
    number: int
    status: Status = field(default_factory=Status)
    seen_s: float | None = None
    process: StudentProcess | None = None

    @property
    def is_online(self) -> bool:
        """Whether a browser of the student is connected."""
        return self.process is not None and self.status.browsers > 0

    @property
    def is_running(self) -> bool:
        """Whether the student has a network."""
        return self.process is not None and self.status.phase in RUNNING


@dataclass(frozen=True)
class HandInFile:
    """A file that was handed in."""

    unit: str
    path: Path
    at_s: float


class Hub:
    """Starts a process for each student who connects. In all, `networks` may run at once."""

    def __init__(
        self, roster: Roster, address: ServerAddress, *, networks: int | None, nice: int
    ) -> None:
        self._readable = readable_folders()
        check_separation(roster.folder, self._readable)
        needed = needed_folders()
        for it in roster.participants:
            if it.user:
                check_readable(it.user, needed)
        self.roster = roster
        self.address = address
        self.networks = networks
        self._nice = nice
        self._temporary = _temporary_folder(roster.folder)
        self._context = multiprocessing.get_context("forkserver")
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
        shutil.rmtree(self._temporary, ignore_errors=True)  # left by a server that was killed
        try:
            self._temporary.mkdir(mode=0o711)
        except OSError as error:
            raise WanlabError(
                f"cannot make {self._temporary}: {error.strerror}", "remove it, if it exists"
            ) from None
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
        settings = StudentSettings(
            name=who.name,
            seed=who.seed,
            memory_bytes=limits.memory_bytes,
            disk_bytes=limits.disk_bytes,
            cookie=who.cookie,
            address=self.address,
            sandbox=StudentSandbox(
                folder=who.folder,
                temporary=self._temporary / str(seat.number),
                readable=self._readable,
                nice=self._nice,
                max_file_bytes=max(limits.memory_bytes, limits.disk_bytes) + MORE_FILE_BYTES,
                user=who.user,
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

    # -- hand-ins ---------------------------------------------------------------------------------

    def _keep(self, seat: Seat, unit: str, packed: bytes) -> None:
        """Write a student's hand-in under a name that the hub chooses."""
        if unit not in catalog.names():
            return
        folder = seat.participant.hand_ins
        old = [it for it in hand_ins_in(folder) if it.unit == unit]
        stamp = time.strftime(TIME)
        path = folder / f"{unit}-seed{seat.participant.seed}-{stamp}.zip"
        write_atomically(path, packed)
        for it in old[: max(0, len(old) + 1 - MAX_HAND_INS)]:
            with contextlib.suppress(OSError):
                it.path.unlink()

    # -- the end ----------------------------------------------------------------------------------

    async def close(self) -> None:
        """End all processes and their networks."""
        processes = [seat.process for seat in self.seats.values() if seat.process is not None]
        await asyncio.gather(*(process.close() for process in processes))
        await self._ending.wait()
        self.save()
        shutil.rmtree(self._temporary, ignore_errors=True)

    def save(self) -> None:
        """Save what the teacher's page shows about students who are offline."""
        saved = {
            name: SavedStudent(seat.seen_s, seat.status)
            for name, seat in self.seats.items()
            if seat.seen_s is not None
        }
        write_atomically(self._state, msgspec.json.encode(saved))


def hand_ins_in(folder: Path) -> list[HandInFile]:
    """Return a student's hand-ins, the oldest first."""
    return sorted(_hand_ins(folder), key=lambda it: it.at_s)


def _hand_ins(folder: Path) -> Iterator[HandInFile]:
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if entry.name.endswith((".zip", ".sh", ".yaml")) and not entry.name.startswith("."):
                unit = entry.name.partition("-")[0].partition(".")[0]
                yield HandInFile(unit, Path(entry.path), entry.stat().st_mtime)


def _temporary_folder(class_folder: Path) -> Path:
    """Return the folder in memory for the class; the next server of this class uses the same one."""
    digest = hashlib.sha256(os.fsencode(class_folder)).hexdigest()[:12]
    return MEMORY / f"wanlab-class-{os.getuid()}-{digest}"


def _digest(cookie: str) -> bytes:
    """Return the digest by which a cookie is looked up, so that timing reveals nothing about cookies."""
    return hmac.digest(b"wanlab", cookie.encode(), "sha256")


def _read_state(path: Path) -> dict[str, SavedStudent]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, SavedStudent])
    except (OSError, msgspec.MsgspecError):
        return {}


def _resumed(saved: SavedStudent | None) -> tuple[Status, float | None]:
    if saved is None:
        return Status(), None
    status = msgspec.structs.replace(saved.status, browsers=0, phase="stopped", nodes=0)
    return status, saved.seen_s
