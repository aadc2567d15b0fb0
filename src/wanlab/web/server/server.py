"""`wanlab web`: run the server, from finding a free port to stopping the network at the end."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

import uvicorn
from starlette.types import ASGIApp

from wanlab.errors import WanlabError
from wanlab.network import NO_CHOICE, MachineChoice
from wanlab.shared_folder import SharedFolder, file_error

from ..folder import WorkingFolder
from ..laboratory import Laboratory
from ..limits import ClassRules
from ..protocol import commands
from .app import STATIC, application
from .auth import AuthMiddleware, ServerAddress, new_token
from .connections import ACCEPTED_AT_ONCE, LimitedProtocol

ADDRESS = "127.0.0.1"
ADDRESS_FILE, PAGE_FILE = "address", "open.html"
MAX_ADDRESS_BYTES = 1000
DEFAULT_PORT = 8765
MAX_PORTS_TRIED = 50
MAX_MESSAGE_BYTES = 8 << 20
CONFIRM_WITHIN_REAL_S = 5.0
REDIRECT_PAGE = (
    '<!doctype html><meta http-equiv="refresh" content="0; url={url}"><title>wanlab</title>'
)


def listen(port: int | None, address: str = ADDRESS) -> socket.socket:
    """Return a socket on a port; without one, on the default port or the next free one."""
    ports = [port] if port is not None else range(DEFAULT_PORT, DEFAULT_PORT + MAX_PORTS_TRIED)
    for number in ports:
        listening = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((address, number))
            listening.listen()
        except OSError as error:
            listening.close()
            failure = error
            continue
        return listening
    raise WanlabError(
        f"cannot listen on {address}:{ports[0]}: {failure.strerror}",
        "choose another port with --port",
    )


def run(
    file: Path | None,
    *,
    port: int | None,
    folder: Path | None,
    opens_browser: bool,
    session_file: Path | None = None,
    choice: MachineChoice = NO_CHOICE,
) -> None:
    """Serve until a signal ends the server. Sessions are recorded if there is a `session_file`."""
    working_folder, path = locate(file, folder)
    with contextlib.closing(listen(port)) as listening:
        make = partial(Laboratory, working_folder, session_file, ClassRules(choice=choice))
        asyncio.run(_serve(listening, make, working_folder, path, opens_browser=opens_browser))


def locate(file: Path | None, folder: Path | None) -> tuple[Path, str | None]:
    """Return the working folder, and the path of the file in it."""
    working_folder = (folder or Path()).resolve()
    if not working_folder.is_dir():
        raise WanlabError(f"there is no folder {working_folder}")
    if file is None:
        return working_folder, None
    if not file.is_file():
        raise WanlabError(f"there is no file {file}")
    real = file.resolve()
    if not real.is_relative_to(working_folder):
        if folder is not None:
            raise WanlabError(f"{file} is not in {folder}", "choose another folder with --folder")
        working_folder = real.parent
    return working_folder, real.relative_to(working_folder).as_posix()


@contextlib.contextmanager
def lock_folder(state_folder: SharedFolder) -> Iterator[BinaryIO]:
    """Keep a second server out of a working folder, where it would write the same drafts.

    The locked file holds the address of the first.
    """
    with _reporting_failures(state_folder):
        opened = state_folder.open_to_keep(ADDRESS_FILE)
    with opened as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            where = file.read(MAX_ADDRESS_BYTES).decode(errors="replace").strip()
            raise WanlabError(
                f"a laboratory is already open in {state_folder.parent.path}: "
                f"{where or 'another program uses it'}",
                "open that address, or choose another folder with --folder",
            ) from None
        file.truncate(0)
        try:
            yield file
        finally:
            file.truncate(0)


def write_address(file: BinaryIO, url: str, state_folder: SharedFolder) -> None:
    """Write this server's address for a second server to report."""
    with _reporting_failures(state_folder):
        os.pwrite(file.fileno(), f"{url}\n".encode(), 0)


@contextlib.contextmanager
def _reporting_failures(state_folder: SharedFolder) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        path, hint = state_folder.path / ADDRESS_FILE, "choose another folder with --folder"
        raise file_error("write", path, error, hint) from None


async def _serve(
    listening: socket.socket,
    make: Callable[[], Laboratory],
    folder: Path,
    path: str | None,
    *,
    opens_browser: bool,
) -> None:
    with lock_folder(WorkingFolder(folder).state_folder) as address:
        await _serve_locked(listening, make(), path, address, opens_browser=opens_browser)


async def _serve_locked(
    listening: socket.socket,
    laboratory: Laboratory,
    path: str | None,
    address: BinaryIO,
    *,
    opens_browser: bool,
) -> None:
    if path is not None:
        laboratory.editor.open(commands.OpenCommand(path=path))
    own = ServerAddress.of(listening.getsockname()[1])
    token, cookie = new_token(), new_token()
    url = f"{own.url}/?token={token}"
    app = AuthMiddleware(
        application(laboratory, STATIC), own, tokens={token: cookie}, cookies={cookie}
    )
    server = SignallessServer(configuration(app, LimitedProtocol))
    write_address(address, url, laboratory.folder.state_folder)
    print(f"the laboratory is open: {url}\npress Ctrl-C to end it", flush=True)
    if opens_browser:
        open_in_browser(url, laboratory.folder.state_folder)

    def running() -> str:
        return "" if laboratory.session.is_stopped else "a network is running"

    try:
        with signals_that_end(server, running, "it and the laboratory"):
            await server.serve(sockets=[listening])
    finally:
        await laboratory.close()


def configuration(app: ASGIApp, protocol: type[asyncio.Protocol]) -> uvicorn.Config:
    """Return how connections are served."""
    return uvicorn.Config(
        app,
        log_level="warning",
        http=protocol,
        ws="websockets-sansio",
        ws_max_size=MAX_MESSAGE_BYTES,
        backlog=ACCEPTED_AT_ONCE,
        lifespan="off",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )


class SignallessServer(uvicorn.Server):
    """A server that does not handle signals."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.contextmanager
def signals_that_end(
    server: uvicorn.Server, running: Callable[[], str], what_ends: str
) -> Iterator[None]:
    """Let signals end a server. `running` describes what would end with it, or returns ""."""
    loop = asyncio.get_running_loop()
    asked_at = -CONFIRM_WITHIN_REAL_S

    def end() -> None:
        server.should_exit = True

    def ask() -> None:
        """End the server; if something is running, only at the second Ctrl-C."""
        nonlocal asked_at
        now, reason = time.monotonic(), running()
        if not reason or now - asked_at < CONFIRM_WITHIN_REAL_S:
            end()
            return
        asked_at = now
        print(f"{reason}: press Ctrl-C again to end {what_ends}", flush=True)

    handlers = {signal.SIGINT: ask, signal.SIGTERM: end, signal.SIGHUP: end}
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)


def open_in_browser(url: str, state_folder: SharedFolder) -> None:
    """Open the address in a browser meanwhile, through a page that only this user can read.

    All users of this computer can see the arguments of processes, so these must not contain the token.
    """
    asyncio.get_running_loop().run_in_executor(None, _open_through, state_folder, url)


def _open_through(state_folder: SharedFolder, url: str) -> None:
    import webbrowser

    with contextlib.suppress(FileNotFoundError):
        state_folder.remove(PAGE_FILE)
    with state_folder.create(PAGE_FILE, 0o600) as file:
        file.write(REDIRECT_PAGE.format(url=url).encode())
    if not webbrowser.open((state_folder.path / PAGE_FILE).as_uri()):
        print("found no browser: open that address in one", file=sys.stderr)
