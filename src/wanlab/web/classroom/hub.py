"""The class of one computer: a process for each student."""

from __future__ import annotations

import asyncio
import hmac
import multiprocessing
import os
from functools import partial
from multiprocessing.context import ForkServerContext
from pathlib import Path

import msgspec

from wanlab.machine.embedded import find_image
from wanlab.network import NO_CHOICE, MachineChoice

from ..running_tasks import RunningTasks
from ..server.auth import ServerAddress
from .front import ServeConnection
from .grading import grade_class
from .kept_hand_ins import hand_ins_in, size_of
from .page_state import StudentLink
from .process_limits import process_limits
from .roster import Roster, cookie_of, link
from .sandbox import (
    StudentSandbox,
    check_readable,
    check_separation,
    needed_folders,
    readable_folders,
)
from .seats import Seat, Seats
from .student_process import StudentProcess
from .student_server import StudentSettings

PRELOADED = ("__main__", "wanlab.web.classroom.student_server")
MORE_FILE_BYTES = 256 << 20
"""A file with the memory of a network is that much larger than the memory."""


class Hub(Seats[StudentProcess]):
    """Starts a process for each student who connects. In all, `networks` may run at once."""

    has_links = True

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
        super().__init__(roster, partial(grade_class, choice=choice))
        self.address = address
        self.networks = networks
        self._nice = nice
        self._cpu = choice.cpu or ""
        self._temporary = temporary
        self._context = forkserver_context()
        self._context.set_forkserver_preload(list(PRELOADED))
        self._ending = RunningTasks()
        self._by_cookie = {_digest(it.cookie): it.name for it in roster.participants}
        self.teacher_cookie = cookie_of(roster.teacher_token)

    def tokens(self) -> dict[str, str]:
        """Return the cookie for each token, the teacher's included."""
        pairs = [(it.token, it.cookie) for it in self.roster.participants]
        return {self.roster.teacher_token: self.teacher_cookie, **dict(pairs)}

    def links(self) -> tuple[StudentLink, ...]:
        """Return the link of each student."""
        url = self.address.url
        return tuple(StudentLink(it.name, link(url, it.token)) for it in self.roster.participants)

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

    def _serve(self, seat: Seat[StudentProcess], connection: int, received: bytes) -> bool:
        if seat.laboratory is None:
            seat.laboratory = self._start(seat)
        return seat.laboratory.serve(connection, received)

    def _start(self, seat: Seat[StudentProcess]) -> StudentProcess:
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
            on_status=seat.note_status,
            on_ask=lambda: self._reason_against(seat),
            on_hand_in=partial(self.keep, seat),
            on_end=lambda: self._note_end(seat),
        )

    def _note_end(self, seat: Seat[StudentProcess]) -> None:
        process = seat.laboratory
        seat.note_end()
        if process is not None:
            self._ending.start(process.close())

    def _reason_against(self, asking: Seat[StudentProcess]) -> str:
        """Return why a network of a student must not start now, or ""."""
        if self.networks is None:
            return ""
        others = sum(seat.is_running for seat in self.seats.values() if seat is not asking)
        if others < self.networks:
            asking.status = msgspec.structs.replace(asking.status, phase="starting")
            return ""
        return f"the class has reached its limit of running networks ({self.networks})"

    # -- the end ----------------------------------------------------------------------------------

    async def close(self) -> None:
        """End all processes and their networks."""
        await self.grading.close()
        processes = [seat.laboratory for seat in self.seats.values() if seat.laboratory is not None]
        await asyncio.gather(*(process.close() for process in processes))
        await self._ending.wait()
        self.save()


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
