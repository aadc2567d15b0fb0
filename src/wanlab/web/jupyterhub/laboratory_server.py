"""`wanlab web --jupyterhub`: the laboratory of a user, which the spawner of a JupyterHub starts."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from wanlab.network import NO_CHOICE, MachineChoice

from ..folder import WorkingFolder
from ..laboratory import Laboratory
from ..limits import ClassRules
from ..protocol import commands
from ..server.app import STATIC, application
from ..server.connections import LimitedProtocol
from ..server.server import (
    SignallessServer,
    configuration,
    listen,
    locate,
    lock_folder,
    signals_that_end,
    write_address,
)
from .class_link import ClassLink
from .environment import HubEnvironment, read_environment
from .hub_api import HubApi, HubUnavailableError
from .sign_in import HubSignIn

CHECK_USE_REAL_S = 1.0


@dataclass(frozen=True)
class HubLaboratory:
    """What is served.

    memory_bytes   of a network
    class_url      the address of the class that the user belongs to, or ""
    """

    file: Path | None
    folder: Path | None
    session_file: Path | None
    memory_bytes: int
    class_url: str = ""
    choice: MachineChoice = NO_CHOICE


def run(options: HubLaboratory) -> None:
    """Serve the laboratory until the hub ends it."""
    environment = read_environment()
    root = os.environ.get("JUPYTERHUB_ROOT_DIR")
    folder, path = locate(options.file, options.folder or (Path(root) if root else None))
    host, port = environment.address
    with (
        contextlib.closing(listen(port, host)) as listening,
        lock_folder(WorkingFolder(folder).state_folder) as address,
    ):
        asyncio.run(_serve(options, environment, listening, folder, path, address))


async def _serve(
    options: HubLaboratory,
    environment: HubEnvironment,
    listening: socket.socket,
    folder: Path,
    path: str | None,
    address: BinaryIO,
) -> None:
    api = HubApi(environment)
    await api.check()
    rules = ClassRules(memory_bytes=options.memory_bytes, choice=options.choice)
    if class_link := ClassLink(options.class_url, environment.token) if options.class_url else None:
        connection, seed = await class_link.enrol()
        rules = replace(rules, seed=seed, hand_in=class_link.hand_in)
    laboratory = Laboratory(folder, options.session_file, rules)
    if path is not None:
        laboratory.editor.open(commands.OpenCommand(path=path))
    else:
        laboratory.editor.reopen()  # the hub ends unused laboratories, and starts them again
    write_address(address, environment.path, laboratory.folder.state_folder)
    app = application(laboratory, STATIC)
    signed_in = HubSignIn(app, environment, api)
    server = SignallessServer(configuration(signed_in, LimitedProtocol))
    tasks = [asyncio.create_task(_report_use(laboratory, environment, api))]
    if class_link is not None:
        tasks.append(asyncio.create_task(class_link.serve(laboratory, app, connection)))
    print(f"the laboratory is open for the JupyterHub: {environment.path}/", flush=True)
    try:
        # The hub asks nobody whether it may end a laboratory, so neither do we.
        with signals_that_end(server, lambda: "", ""):
            await server.serve(sockets=[listening])
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await laboratory.close()
        api.close()


async def _report_use(laboratory: Laboratory, environment: HubEnvironment, api: HubApi) -> None:
    """Report to the hub that the laboratory is in use, which means that a page is open.

    Networks do not count: at the pace of real time they run without end.
    """
    used_s, reported_s = time.time(), 0.0
    while environment.activity_url:
        if any(not browser.looks for browser in laboratory.broadcast.browsers):
            used_s = time.time()
        if used_s >= reported_s + environment.activity_real_s:
            with contextlib.suppress(HubUnavailableError):
                await api.note_activity(used_s)
                reported_s = used_s
        await asyncio.sleep(CHECK_USE_REAL_S)
