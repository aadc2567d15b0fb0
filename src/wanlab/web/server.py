"""`wanlab web`: the server's life, from a free port to the last machine's end."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import uvicorn

from wanlab.errors import WanlabError

from . import commands
from .app import STATIC, application
from .auth import AuthMiddleware
from .folder import WorkingFolder
from .laboratory import Laboratory

ADDRESS = "127.0.0.1"
USUAL_PORT = 8765
PORTS_TRIED = 50
LARGEST_MESSAGE_BYTES = 8 << 20
ASKS_AGAIN_REAL_S = 5.0
PAGE = '<!doctype html><meta http-equiv="refresh" content="0; url={url}"><title>wanlab</title>'


def listen(port: int | None) -> socket.socket:
    """A socket on that port, or on the usual one or the next free one after it."""
    wanted = [port] if port is not None else range(USUAL_PORT, USUAL_PORT + PORTS_TRIED)
    for number in wanted:
        listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((ADDRESS, number))
            listening.listen()
        except OSError as error:
            listening.close()
            failed = error
            continue
        return listening
    raise WanlabError(
        f"cannot listen on {ADDRESS}:{wanted[0]}: {failed.strerror}", "choose one with --port"
    )


def run(file: Path | None, *, port: int | None, folder: Path | None, opens_browser: bool) -> None:
    """Serves until it is told to end."""
    place, path = _place_of(file, folder)
    with contextlib.closing(listen(port)) as listening:
        asyncio.run(_serve(listening, place, path, opens_browser=opens_browser))


def _place_of(file: Path | None, folder: Path | None) -> tuple[Path, str | None]:
    """The working folder, and the file's path in it."""
    place = (folder or Path()).resolve()
    if not place.is_dir():
        raise WanlabError(f"there is no folder {place}")
    if file is None:
        return place, None
    if not file.is_file():
        raise WanlabError(f"there is no file {file}")
    real = file.resolve()
    if not real.is_relative_to(place):
        if folder is not None:
            raise WanlabError(f"{file} is not in {folder}", "choose another folder")
        place = real.parent
    return place, real.relative_to(place).as_posix()


@contextlib.contextmanager
def only_one(ours: Path) -> Iterator[TextIO]:
    """Two in one folder would write the same drafts. The file that is locked says where the first is."""
    with (ours / "address").open("a+", encoding="utf-8") as file:
        Path(file.name).chmod(0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            where = file.read().strip() or "another program has it"
            raise WanlabError(
                f"a laboratory is open in {ours.parent} already: {where}",
                "go there, or choose another folder with --folder",
            ) from None
        file.truncate(0)
        try:
            yield file
        finally:
            file.truncate(0)


async def _serve(
    listening: socket.socket, place: Path, path: str | None, *, opens_browser: bool
) -> None:
    with only_one(WorkingFolder(place).ours) as address:
        await _serve_alone(listening, place, path, address, opens_browser=opens_browser)


async def _serve_alone(
    listening: socket.socket,
    place: Path,
    path: str | None,
    address: TextIO,
    *,
    opens_browser: bool,
) -> None:
    laboratory = Laboratory(place)
    if path is not None:
        laboratory.editor.open(commands.OpenCommand(path=path))
    gate = AuthMiddleware(application(laboratory, STATIC), port=listening.getsockname()[1])
    server = _Server(
        uvicorn.Config(
            gate,
            log_level="warning",
            ws="websockets-sansio",
            ws_max_size=LARGEST_MESSAGE_BYTES,
            lifespan="off",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=1,
        )
    )
    print(gate.url, file=address, flush=True)
    print(f"the laboratory is open: {gate.url}\nCtrl-C ends it", flush=True)
    if opens_browser:
        page = laboratory.folder.ours / "open.html"
        asyncio.get_running_loop().run_in_executor(None, _open_browser, gate.url, page)
    try:
        with _signals(server, laboratory):
            await server.serve(sockets=[listening])
    finally:
        await laboratory.close()


class _Server(uvicorn.Server):
    """Signals are ours."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.contextmanager
def _signals(server: uvicorn.Server, laboratory: Laboratory) -> Iterator[None]:
    loop = asyncio.get_running_loop()

    asked_at = -ASKS_AGAIN_REAL_S

    def end() -> None:
        server.should_exit = True

    def ask() -> None:
        """A network that runs is not ended by one slip of a hand."""
        nonlocal asked_at
        now = time.monotonic()
        if laboratory.running.is_stopped or now - asked_at < ASKS_AGAIN_REAL_S:
            end()
            return
        asked_at = now
        print("a network is running: Ctrl-C once more ends it, and the laboratory", flush=True)

    handlers = {signal.SIGINT: ask, signal.SIGTERM: end, signal.SIGHUP: end}
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)


def _open_browser(url: str, page: Path) -> None:
    """Through a page that only we can read: arguments of programs are seen by everybody here."""
    import webbrowser

    with contextlib.suppress(FileNotFoundError):
        page.unlink()
    number = os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(number, "w", encoding="utf-8") as file:
        file.write(PAGE.format(url=url))
    if not webbrowser.open(page.as_uri()):
        print("no browser was found: open that address in one", file=sys.stderr)
