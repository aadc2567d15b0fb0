"""`wanlab web`: the server's life, from a free port to the last machine's end."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import uvicorn

from wanlab.errors import WanlabError

from . import protocol
from .app import STATIC, application
from .gate import Gate
from .laboratory import Laboratory

ADDRESS = "127.0.0.1"
USUAL_PORT = 8765
PORTS_TRIED = 50
LARGEST_MESSAGE_BYTES = 8 << 20


def listen(port: int | None) -> socket.socket:
    """A socket on that port, or on the usual one or the next free one after it."""
    wanted = [port] if port is not None else range(USUAL_PORT, USUAL_PORT + PORTS_TRIED)
    for number in wanted:
        listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((ADDRESS, number))
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


async def _serve(
    listening: socket.socket, place: Path, path: str | None, *, opens_browser: bool
) -> None:
    laboratory = Laboratory(place)
    if path is not None:
        laboratory.editor.open(protocol.Open(path=path))
    gate = Gate(application(laboratory, STATIC), port=listening.getsockname()[1])
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
    print(f"the laboratory is open: {gate.url}\nCtrl-C ends it", flush=True)
    if opens_browser:
        asyncio.get_running_loop().call_soon(_open_browser, gate.url)
    try:
        with _signals(server):
            await server.serve(sockets=[listening])
    finally:
        await laboratory.close()


class _Server(uvicorn.Server):
    """Signals are ours."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.contextmanager
def _signals(server: uvicorn.Server) -> Iterator[None]:
    loop = asyncio.get_running_loop()

    def end() -> None:
        server.should_exit = True

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in numbers:
        loop.add_signal_handler(number, end)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


def _open_browser(url: str) -> None:
    import webbrowser

    if not webbrowser.open(url):
        print("no browser was found: open that address in one", file=sys.stderr)
