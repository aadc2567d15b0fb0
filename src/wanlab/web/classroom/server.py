"""`wanlab web --class FOLDER`: the server of a class, from its folder to the end of all networks."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from wanlab.errors import WanlabError
from wanlab.machine.compiled_modules import compile_libraries_ahead
from wanlab.network import NO_CHOICE, MachineChoice
from wanlab.shared_folder import SharedFolder
from wanlab.temporary import TemporaryFolder

from ..folder import make_state_folder
from ..server.app import STATIC
from ..server.auth import NAMES, USE_THE_LINK, AuthMiddleware, ServerAddress
from ..server.server import (
    SignallessServer,
    configuration,
    listen,
    lock_folder,
    open_in_browser,
    signals_that_end,
    write_address,
)
from .front import front_protocol
from .hub import Hub
from .roster import Limits, Roster, link, read_roster, write_links
from .sandbox import MEMORY, runs_as_root
from .seats import Seats
from .teacher import teacher_application

SAVE_REAL_S = 30.0
MAX_NAMES = 5


@dataclass(frozen=True)
class ServedClass:
    """How a class is served.

    url        how students' browsers reach the server, if not at this computer's own address
    networks   how many may run at once; None: one for each student
    nice       of students' processes and networks
    """

    folder: Path
    port: int | None
    address: str
    url: str
    limits: Limits
    networks: int | None
    nice: int
    opens_browser: bool
    choice: MachineChoice = NO_CHOICE


def run(options: ServedClass) -> None:
    """Serve a class until a signal ends the server."""
    if not options.folder.is_dir():
        raise WanlabError(
            f"there is no folder {options.folder}", "make one, with students.csv in it"
        )
    check_address(options.address, options.url)
    roster = read_roster(options.folder, options.limits)
    state = make_state_folder(SharedFolder(roster.folder))
    with (
        lock_folder(state) as file,
        contextlib.closing(listen(options.port, options.address)) as listening,
        _temporary_folder() as temporary,
    ):
        address = ServerAddress.of(listening.getsockname()[1], options.url)
        hub = Hub(
            roster,
            address,
            temporary,
            networks=options.networks,
            nice=options.nice,
            choice=options.choice,
        )
        url = link(address.url, roster.teacher_token)
        write_address(file, url, state)
        links = write_links(roster, address.url)
        compile_libraries_ahead()
        hub.prepare()
        asyncio.run(_serve(listening, hub, links, url, opens_browser=options.opens_browser))


def check_address(address: str, url: str) -> None:
    """WanlabError if students' browsers could not reach the server, or would be refused."""
    is_local = address in NAMES
    if not is_local and not url:
        raise WanlabError(
            f"--address {address} needs --url, the address at which browsers reach this computer",
            "as in --url http://lab.example.edu:8765, or https:// behind a proxy with TLS",
        )
    if url:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.query:
            raise WanlabError(
                f"{url} is not the address of a server", "as in https://lab.example.edu"
            )


def _temporary_folder() -> TemporaryFolder:
    try:
        return TemporaryFolder("class", MEMORY)
    except OSError as error:
        raise WanlabError(f"cannot make a folder in {MEMORY}: {error.strerror or error}") from None


async def _serve(
    listening: socket.socket, hub: Hub, links: Path, url: str, *, opens_browser: bool
) -> None:
    app = AuthMiddleware(
        teacher_application(hub, STATIC),
        hub.address,
        tokens=hub.tokens(),
        cookies={hub.teacher_cookie},
        closes=True,
        advice=USE_THE_LINK,
    )
    protocol = front_protocol(hub.address, hub.find_server)
    server = SignallessServer(configuration(app, protocol))
    _announce(hub.roster, links, url)
    if opens_browser:
        open_in_browser(url, make_state_folder(SharedFolder(hub.roster.folder)))

    def running() -> str:
        count = sum(seat.is_running for seat in hub.seats.values())
        return f"networks are running ({count})" if count else ""

    saving = asyncio.create_task(save_regularly(hub))
    try:
        with signals_that_end(server, running, "them all"):
            await server.serve(sockets=[listening])
    finally:
        saving.cancel()
        await hub.close()


def _announce(roster: Roster, links: Path, url: str) -> None:
    as_root = [it.name for it in roster.participants if runs_as_root(it.user)]
    if as_root:
        some = ", ".join(as_root[:MAX_NAMES]) + (", ..." if as_root[MAX_NAMES:] else "")
        whose = "all students" if len(as_root) == len(roster.participants) else some
        print(
            f"wanlab: the networks of {whose} run as root; a column `user` in students.csv can give "
            "each student a separate user (see wanlab docs class)",
            file=sys.stderr,
        )
    print(
        f"the class is open: {url}\n"
        f"links of {len(roster.participants)} students: {links}\n"
        "press Ctrl-C to end it",
        flush=True,
    )


async def save_regularly(seats: Seats[Any]) -> None:
    """Save what the teacher's page shows, again and again."""
    while True:
        await asyncio.sleep(SAVE_REAL_S)
        with contextlib.suppress(OSError):
            await asyncio.to_thread(seats.save)
