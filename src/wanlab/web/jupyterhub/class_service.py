"""`wanlab web --jupyterhub --class FOLDER`: a class as a service of a JupyterHub.

The hub's users of a group are teachers, who get the teacher's page. All others whom the hub admits are
students: their laboratories connect to the class (`class_link`). A student belongs to the class from the
first connection on, with a row in FOLDER/students.csv.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from pathlib import Path

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from wanlab.errors import WanlabError
from wanlab.network import NO_CHOICE, MachineChoice
from wanlab.shared_folder import SharedFolder

from ..classroom import messages
from ..classroom.grading import grade_class
from ..classroom.messages import Enrolled, Look, Status, StopNetwork, ToStudent
from ..classroom.roster import Limits, Roster, enrol, read_roster
from ..classroom.seats import Seat, Seats
from ..classroom.server import save_regularly
from ..classroom.teacher import error_response, teacher_application
from ..folder import make_state_folder
from ..server.app import STATIC
from ..server.auth import answer, forbidden
from ..server.connections import LimitedProtocol
from ..server.server import (
    SignallessServer,
    configuration,
    listen,
    lock_folder,
    signals_that_end,
    write_address,
)
from ..server.uploads import Uploads
from .byte_stream import carry
from .environment import HubEnvironment, read_environment
from .hub_api import HubApi, HubUser
from .sign_in import HubSignIn

LOOK_REAL_S = 20.0
LABORATORY = "/api/laboratory"
NOT_A_TEACHER = 'This page is for teachers. <a href="{}">Your laboratory</a> is part of the class.'


@dataclass(frozen=True)
class HubClass:
    """What is served. `teachers` is the group of the hub's users who see the teacher's page."""

    folder: Path
    teachers: str
    disk_bytes: int
    choice: MachineChoice = NO_CHOICE


def run(options: HubClass) -> None:
    """Serve the class until the hub ends it."""
    if not options.folder.is_dir():
        raise WanlabError(f"there is no folder {options.folder}", "make one")
    environment = read_environment()
    folder = options.folder.resolve()
    host, port = environment.address
    state = make_state_folder(SharedFolder(folder))
    with (
        contextlib.closing(listen(port, host)) as listening,
        lock_folder(state) as address,
    ):
        write_address(address, environment.path, state)
        asyncio.run(_serve(replace(options, folder=folder), environment, listening))


async def _serve(options: HubClass, environment: HubEnvironment, listening: socket.socket) -> None:
    api = HubApi(environment)
    await api.check()
    seats = HubSeats(options)
    app = ClassService(seats, options.teachers, environment.home_url)
    server = SignallessServer(configuration(HubSignIn(app, environment, api), LimitedProtocol))
    saving = asyncio.create_task(save_regularly(seats))
    print(f"the class is open for the JupyterHub: {environment.path}/", flush=True)
    try:
        with signals_that_end(server, lambda: "", ""):
            await server.serve(sockets=[listening])
    finally:
        saving.cancel()
        await seats.grading.close()
        seats.save()
        api.close()


class LinkedLaboratory:
    """A laboratory that has connected to the class, over a WebSocket."""

    def __init__(self) -> None:
        self._outgoing: asyncio.Queue[ToStudent] = asyncio.Queue()
        self._looks: dict[int, socket.socket] = {}
        self._count = 0

    def stop_network(self) -> None:
        """Stop the network, with a message to the student that the teacher did so."""
        self._outgoing.put_nowait(StopNetwork())

    def answer_look(self, look: Look, end: int, /) -> bool:
        """Ask the laboratory to answer a look over a WebSocket that it opens."""
        self._count += 1
        self._looks[self._count] = socket.socket(fileno=os.dup(end))
        self._outgoing.put_nowait(msgspec.structs.replace(look, number=self._count))
        asyncio.get_running_loop().call_later(LOOK_REAL_S, self._drop_look, self._count)
        return True

    def take_look(self, number: int) -> socket.socket | None:
        """Return the socket of a look that waits for its WebSocket."""
        return self._looks.pop(number, None)

    def _drop_look(self, number: int) -> None:
        if (end := self.take_look(number)) is not None:
            end.close()

    async def send(self, opened: WebSocket, seed: int) -> None:
        """Send the messages for the laboratory until the connection ends."""
        await opened.send_bytes(msgspec.msgpack.encode(Enrolled(seed)))
        while True:
            await opened.send_bytes(msgspec.msgpack.encode(await self._outgoing.get()))


class HubSeats(Seats[LinkedLaboratory]):
    """The students of the class."""

    def __init__(self, options: HubClass) -> None:
        self._limits = Limits(0, options.disk_bytes)
        super().__init__(self._read(options.folder), partial(grade_class, choice=options.choice))

    def _read(self, folder: Path) -> Roster:
        return read_roster(folder, self._limits, may_be_empty=True)

    def seat_of(self, name: str) -> Seat[LinkedLaboratory]:
        """Return the seat of a student, who is enrolled if new. WanlabError if that is not possible."""
        if name not in self.seats:
            enrol(self.roster.folder, name)
            self.roster = self._read(self.roster.folder)
            for participant in self.roster.participants:
                if participant.name not in self.seats:
                    self.add(participant)
        return self.seats[name]


class ClassService:
    """The application: the teacher's page for teachers, and what laboratories connect to."""

    def __init__(self, seats: HubSeats, teachers: str, home_url: str) -> None:
        self._teachers = teachers
        self._home_url = home_url
        self._for_teachers = teacher_application(seats, STATIC)
        self._for_laboratories = laboratories_application(seats)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        user: HubUser = scope["hub_user"]
        path = scope["path"].removeprefix(scope["root_path"])
        if user.kind == "user" and (path == LABORATORY or path.startswith(f"{LABORATORY}/")):
            await self._for_laboratories(scope, receive, send)
        elif self._teachers in user.groups:
            await self._for_teachers(scope, receive, send)
        else:
            refusal = forbidden(NOT_A_TEACHER.format(escape(self._home_url)))
            await answer(refusal, scope, receive, send)


def laboratories_application(seats: HubSeats) -> ASGIApp:
    """Return the application for laboratories, whose users are known."""
    routes = [
        WebSocketRoute(LABORATORY, _laboratory),
        WebSocketRoute(f"{LABORATORY}/looks/{{number:int}}", _look),
        Route(f"{LABORATORY}/hand-ins/{{unit}}", _hand_in, methods=["POST"]),
    ]
    app = Starlette(routes=routes, exception_handlers={WanlabError: error_response})  # type: ignore[dict-item]
    app.state.seats = seats
    app.state.uploads = Uploads()
    return app


def _seat_of(connection: Request | WebSocket) -> Seat[LinkedLaboratory]:
    seats: HubSeats = connection.app.state.seats
    return seats.seat_of(connection.scope["hub_user"].name)


async def _laboratory(opened: WebSocket) -> None:
    """Serve the connection of a laboratory until it ends."""
    try:
        seat = _seat_of(opened)
    except WanlabError as error:
        print(f"wanlab: {error}", flush=True)
        await opened.close(1008)
        return
    await opened.accept()
    laboratory = LinkedLaboratory()
    seat.laboratory = laboratory
    sending = asyncio.create_task(laboratory.send(opened, seat.participant.seed))
    try:
        while True:
            message = messages.TO_HUB.decode(await opened.receive_bytes())
            # A user may have opened a second laboratory since.
            if isinstance(message, Status) and seat.laboratory is laboratory:
                seat.note_status(message)
    except (WebSocketDisconnect, msgspec.MsgspecError, KeyError, RuntimeError):
        pass  # the laboratory has ended
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        if seat.laboratory is laboratory:
            seat.note_end()


async def _look(opened: WebSocket) -> None:
    """Carry a look to the laboratory that has opened this WebSocket for it."""
    laboratory = _seat_of(opened).laboratory
    end = laboratory.take_look(opened.path_params["number"]) if laboratory is not None else None
    if end is None:
        await opened.close(1008)
        return
    await opened.accept()

    async def receive() -> bytes | None:
        with contextlib.suppress(WebSocketDisconnect, KeyError):
            return await opened.receive_bytes()
        return None

    await carry(end, opened.send_bytes, receive)
    with contextlib.suppress(RuntimeError):
        await opened.close()


async def _hand_in(request: Request) -> Response:
    uploads: Uploads = request.app.state.uploads
    seats: HubSeats = request.app.state.seats
    seat = _seat_of(request)
    async with uploads.body(request) as packed:
        try:
            seats.keep(seat, request.path_params["unit"], packed)
        except OSError as error:
            reason = error.strerror or str(error)
            raise WanlabError(f"the server of the class cannot write it: {reason}") from None
    return Response(status_code=204)
