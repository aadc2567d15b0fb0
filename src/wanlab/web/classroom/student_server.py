"""The process of a student: the laboratory, its networks, and the connections of its browsers.

It starts with the rights of the hub and gives them up before it reads anything of the student's. The
hub hands it connections; it checks each request again. It ends when the hub does.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import socket
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import resource_tracker

import uvicorn
from uvicorn.server import ServerState

from wanlab.errors import WanlabError

from ..laboratory import Laboratory
from ..limits import ClassRules, FolderLimit
from ..measuring import curves  # noqa: F401  (loaded here, shared by all students)
from ..running_tasks import RunningTasks
from ..server.app import STATIC, application
from ..server.auth import USE_THE_LINK, AuthMiddleware, ServerAddress
from ..server.connections import LimitedProtocol
from ..server.server import configuration
from . import messages
from .looking import answer_look
from .messages import (
    Admitted,
    Ask,
    HandedIn,
    Kept,
    Look,
    Serve,
    Status,
    StopNetwork,
    ToHub,
)
from .sandbox import StudentSandbox
from .student_activity import BY_THE_TEACHER, status_of, stop_network

STATUS_REAL_S = 1.0
MEASURE_FOLDER_EVERY = 3
ANSWER_REAL_S = 10.0
ENDED_CONNECTIONS_REAL_S = 0.2


@dataclass(frozen=True)
class StudentSettings:
    """The settings of a student's process."""

    name: str
    seed: int
    memory_bytes: int
    disk_bytes: int
    kept_bytes: int
    cookie: str
    address: ServerAddress
    sandbox: StudentSandbox


def run(settings: StudentSettings, control: socket.socket) -> None:
    """Serve a student until the hub ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()  # memory from before the fork remains shared
    # The tracker removes any shared memory of the hub's account for those who have this descriptor.
    if (tracker := resource_tracker.getfd()) is not None:
        os.close(tracker)
    try:
        settings.sandbox.enter()
        asyncio.run(_StudentServer(settings, control).serve())
    except WanlabError as error:
        print(f"wanlab: {settings.name}: {error}", file=sys.stderr)
        sys.exit(1)


class _StudentServer:
    def __init__(self, settings: StudentSettings, control: socket.socket) -> None:
        self._settings = settings
        self._control = control
        self._control.setblocking(False)
        self._ended = asyncio.Event()
        # What the hub has answered: reasons why not, or "".
        self._admitted: asyncio.Queue[str] = asyncio.Queue()
        self._kept: asyncio.Queue[str] = asyncio.Queue()
        self._limit = FolderLimit(settings.sandbox.folder, settings.disk_bytes, settings.kept_bytes)
        self._last: Status | None = Status()
        """The last status that was sent to the hub."""
        self._tasks = RunningTasks()

    async def serve(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._ended.set)
        settings = self._settings
        rules = ClassRules(
            settings.seed, settings.memory_bytes, self._limit, self._ask, self._hand_in
        )
        self._laboratory = Laboratory(settings.sandbox.folder, rules=rules)
        self._laboratory.editor.reopen()  # students have not asked for a restart
        self._app = application(self._laboratory, STATIC)
        app = AuthMiddleware(
            self._app,
            settings.address,
            tokens={},
            cookies={settings.cookie},
            closes=True,
            advice=USE_THE_LINK,
        )
        self._config = configuration(app, LimitedProtocol)
        self._config.load()
        self._state = ServerState()
        loop.add_reader(self._control, self._receive)
        watch = asyncio.create_task(self._watch())
        try:
            await self._ended.wait()
        finally:
            watch.cancel()
            loop.remove_reader(self._control)
            for connection in list(self._state.connections):
                connection.shutdown()
            await self._laboratory.close()
            await asyncio.sleep(ENDED_CONNECTIONS_REAL_S)

    # -- the hub ----------------------------------------------------------------------------------

    def _receive(self) -> None:
        try:
            received = messages.receive(self._control, messages.TO_STUDENT)
        except BlockingIOError:
            return
        except (OSError, WanlabError):
            received = None
        if received is None:
            self._ended.set()
            return
        message, file = received
        match message:
            case Serve(received=data) if file is not None:
                self._tasks.start(self._serve_connection(file, data))
            case Look() if file is not None:
                self._tasks.start(answer_look(self._app, message, socket.socket(fileno=file)))
            case StopNetwork():
                self._tasks.start(stop_network(self._laboratory, BY_THE_TEACHER))
            case Admitted():
                self._admitted.put_nowait(message.reason)
            case Kept():
                if not message.reason:
                    self._limit.kept_bytes = message.kept_bytes
                self._kept.put_nowait(message.reason)

    async def _serve_connection(self, file: int, received: bytes) -> None:
        connection = socket.socket(fileno=file)
        connection.setblocking(False)
        with contextlib.suppress(OSError):
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: _HandedOver(self._config, self._state, received), connection
            )

    async def _ask(self) -> None:
        """Ask the hub whether a network may start; WanlabError if not."""
        # The hub counts an admitted network until it learns whether that has started.
        self._last = None
        if reason := await self._answer(self._admitted, Ask(), (), "try again"):
            raise WanlabError(
                reason, "try again when another network has ended, or ask your teacher"
            )

    async def _hand_in(self, unit: str, packed: bytes) -> None:
        """Give a hand-in to the hub; WanlabError if it was not kept."""
        file = messages.memory_file(packed)
        try:
            reason = await self._answer(self._kept, HandedIn(unit), [file], "hand in again")
        finally:
            os.close(file)
        if reason:
            raise WanlabError(f"your work was not handed in: {reason}", "tell your teacher")

    async def _answer(
        self, answers: asyncio.Queue[str], question: ToHub, files: Sequence[int], hint: str
    ) -> str:
        """Send a message to the hub, and return its answer; WanlabError if there is none."""
        while not answers.empty():  # an answer that came too late
            answers.get_nowait()
        if messages.send(self._control, question, files):
            with contextlib.suppress(TimeoutError):
                return await asyncio.wait_for(answers.get(), ANSWER_REAL_S)
        raise WanlabError("the server of the class does not answer", hint)

    # -- the student's activity -------------------------------------------------------------------

    async def _watch(self) -> None:
        """Report changes to the hub, and keep the folder within its limit."""
        turn = 0
        while True:
            try:
                if turn % MEASURE_FOLDER_EVERY == 0:
                    await self._check_folder()
                status = status_of(self._laboratory, self._limit)
                if status != self._last and messages.send(self._control, status):
                    self._last = status
            except Exception:
                traceback.print_exc()
            turn += 1
            await asyncio.sleep(STATUS_REAL_S)

    async def _check_folder(self) -> None:
        if await asyncio.to_thread(self._limit.is_exceeded):
            hint = "run it again and delete files in a terminal; the folder may not grow further"
            what = f"the network was stopped: {self._limit.reason()}"
            await stop_network(self._laboratory, what, hint)


class _HandedOver(LimitedProtocol):
    """A connection whose first bytes were read by the hub."""

    def __init__(self, config: uvicorn.Config, state: ServerState, received: bytes) -> None:
        super().__init__(config=config, server_state=state, app_state={})
        self._received = received

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.data_received(self._received)
