"""A student's process, seen from the hub: start it, pass connections, read its status, end it."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
from collections.abc import Callable
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path

from wanlab.errors import WanlabError

from . import messages
from .messages import Admitted, Ask, HandedIn, Kept, Look, Serve, Status, StopNetwork
from .student_server import StudentSettings, run

END_REAL_S = 20.0
SEND_BYTES = 1 << 20


class StudentProcess:
    """Starts a student's process. `on_end` is called in the loop when it has ended for any reason.

    on_status    what the student does has changed
    on_ask       may a network start? returns the reason why not, or ""
    on_hand_in   keeps what was handed in (the name of the unit, and the packed file); returns the bytes
                 of all that is kept
    """

    def __init__(
        self,
        context: ForkServerContext,
        settings: StudentSettings,
        *,
        on_status: Callable[[Status], None],
        on_ask: Callable[[], str],
        on_hand_in: Callable[[str, bytes], int],
        on_end: Callable[[], None],
    ) -> None:
        self._on_status = on_status
        self._on_ask = on_ask
        self._on_hand_in = on_hand_in
        self._on_end = on_end
        self._temporary = settings.sandbox.temporary
        self._loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)
        ours.setblocking(False)
        self._control = ours
        _make_empty(self._temporary)
        with theirs:
            self._process: ForkServerProcess = context.Process(
                target=run, args=(settings, theirs), name=settings.name, daemon=True
            )
            self._process.start()
        self.has_ended = False
        self._loop.add_reader(ours, self._receive)

    @property
    def pid(self) -> int:
        """The process id."""
        assert self._process.pid is not None
        return self._process.pid

    def serve(self, connection: int, received: bytes) -> bool:
        """Hand a copy of a connection's descriptor over; return whether that was possible."""
        return messages.send(self._control, Serve(received), [connection])

    def answer_look(self, look: Look, end: int) -> bool:
        """Have a look answered over a socket; return whether that was possible."""
        return messages.send(self._control, look, [end])

    def stop_network(self) -> None:
        """Stop the network, with a message to the student that the teacher did so."""
        messages.send(self._control, StopNetwork())

    def _receive(self) -> None:
        try:
            received = messages.receive(self._control, messages.TO_HUB)
        except BlockingIOError:
            return
        except (OSError, WanlabError):
            received = None
        if received is None:
            self._end()
            return
        message, file = received
        match message:
            case Status():
                self._on_status(message)
            case Ask():
                messages.send(self._control, Admitted(self._on_ask()))
            case HandedIn(unit=unit) if file is not None:
                messages.send(self._control, self._keep(unit, file))
                return
        if file is not None:
            os.close(file)

    def _keep(self, unit: str, file: int) -> Kept:
        """Keep a hand-in, if that is possible."""
        try:
            return Kept(kept_bytes=self._on_hand_in(unit, messages.content_of(file)))
        except OSError as error:
            return Kept(f"the server of the class cannot write it: {error.strerror or error}")
        except WanlabError as error:
            return Kept(str(error))

    def _end(self) -> None:
        if self.has_ended:
            return
        self.has_ended = True
        self._loop.remove_reader(self._control)
        self._control.close()
        self._on_end()

    async def close(self) -> None:
        """End the process and its networks, and wait until it is gone."""
        self._end()  # the process ends when its socket is closed
        await asyncio.to_thread(self._join)
        shutil.rmtree(self._temporary, ignore_errors=True)

    def _join(self) -> None:
        self._process.join(END_REAL_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join(END_REAL_S)


def _make_empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
