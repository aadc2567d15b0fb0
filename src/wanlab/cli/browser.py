"""`wanlab web`: the laboratory in the browser."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from wanlab.errors import WanlabError

from .display import has_display
from .options import Cpu, Kernel, SessionFile, Traps, folder_option, machine_choice

CLASS, JUPYTERHUB = "A class", "With a JupyterHub"
ADDRESS, MEMORY, DISK, NICE = "127.0.0.1", "512MB", "1GB", 5
TEACHERS = "teachers"
USED = {
    (False, False): {"FILE", "--port", "--folder", "--session"},
    (True, False): {"--port", "--address", "--url", "--memory", "--disk", "--networks", "--nice"},
    (False, True): {"FILE", "--folder", "--session", "--memory", "--class-url"},
    (True, True): {"--disk", "--teachers"},
}
"""The options that have an effect with and without --class and --jupyterhub."""


def web(
    file: Annotated[
        Path | None,
        typer.Argument(help="The topology to open (.mn, .yaml).", metavar="FILE"),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=65535,
            help="Port to serve on (default: 8765, or the next free one).",
            metavar="PORT",
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        folder_option("The working folder (default: that of FILE, or the current one)."),
    ] = None,
    class_folder: Annotated[
        Path | None,
        typer.Option(
            "--class",
            help="Serve a class: FOLDER/students.csv lists the students in a column `student`.",
            metavar="FOLDER",
            rich_help_panel=CLASS,
        ),
    ] = None,
    address: Annotated[
        str,
        typer.Option(
            help="Class: listen on this address; 0.0.0.0 admits other computers (needs --url).",
            metavar="ADDRESS",
            rich_help_panel=CLASS,
        ),
    ] = ADDRESS,
    url: Annotated[
        str,
        typer.Option(
            help="Class: how browsers reach the server, as in https://lab.example.edu.",
            metavar="URL",
            rich_help_panel=CLASS,
        ),
    ] = "",
    memory: Annotated[
        str,
        typer.Option(
            help="Class: memory of each student's network.", metavar="SIZE", rich_help_panel=CLASS
        ),
    ] = MEMORY,
    disk: Annotated[
        str,
        typer.Option(
            help="Class: size of each student's folder.", metavar="SIZE", rich_help_panel=CLASS
        ),
    ] = DISK,
    networks: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Class: how many networks may run at once (default: one for each student).",
            metavar="NUMBER",
            rich_help_panel=CLASS,
        ),
    ] = None,
    nice: Annotated[
        int,
        typer.Option(
            min=0,
            max=19,
            help="Class: niceness of students' networks, so that the server stays responsive.",
            metavar="NUMBER",
            rich_help_panel=CLASS,
        ),
    ] = NICE,
    jupyterhub: Annotated[
        bool,
        typer.Option(
            "--jupyterhub",
            help="Serve a user of the JupyterHub that starts this command; with --class, a class.",
            rich_help_panel=JUPYTERHUB,
        ),
    ] = False,
    class_url: Annotated[
        str,
        typer.Option(
            help="The class that the user belongs to: the address of its service.",
            metavar="URL",
            rich_help_panel=JUPYTERHUB,
        ),
    ] = "",
    teachers: Annotated[
        str,
        typer.Option(
            help="With --class: the group of the hub's users who are teachers.",
            metavar="GROUP",
            rich_help_panel=JUPYTERHUB,
        ),
    ] = TEACHERS,
    session: SessionFile = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address and do not open a browser.")
    ] = False,
    kernel: Kernel = None,
    cpu: Cpu = None,
    traps: Traps = None,
) -> None:
    """Open the laboratory in the browser.

    Draw a network there, run it, and use its terminals.

    \b
    wanlab web
    wanlab web topology.mn
    wanlab web --no-browser --port 9000       on a remote computer, with ssh -L 9000:localhost:9000
    wanlab web --class networks-2026          one server for a class; see wanlab docs class
    wanlab web --jupyterhub                   for a JupyterHub's spawner; see wanlab docs jupyterhub

    With --class, each student has a separate URL, folder, networks and limits, and there is a
    teacher's page. A student runs one network at a time. The URLs are written to
    FOLDER/tokens.csv, which only you can read.

    With --session FILE, each run of a network is recorded: in FILE, FILE-2 and so on. These files
    contain everything that is typed, including passwords.
    """
    choice = machine_choice(kernel, traps, cpu)
    options: dict[str, tuple[object, object]] = {
        "FILE": (file, None),
        "--port": (port, None),
        "--folder": (folder, None),
        "--session": (session, None),
        "--address": (address, ADDRESS),
        "--url": (url, ""),
        "--memory": (memory, MEMORY),
        "--disk": (disk, DISK),
        "--networks": (networks, None),
        "--nice": (nice, NICE),
        "--class-url": (class_url, ""),
        "--teachers": (teachers, TEACHERS),
    }
    given = [name for name, (value, default) in options.items() if value != default]
    _check_options(given, is_class=class_folder is not None, is_hub=jupyterhub)
    opens_browser = not no_browser and has_display()
    if jupyterhub:
        from . import hub_server

        if class_folder is not None:
            hub_server.run_class(class_folder, teachers=teachers, disk=disk, choice=choice)
        else:
            hub_server.run_laboratory(
                file, folder, session, memory=memory, class_url=class_url, choice=choice
            )
    elif class_folder is not None:
        from . import class_server

        class_server.run(
            class_folder,
            port=port,
            address=address,
            url=url,
            memory=memory,
            disk=disk,
            networks=networks,
            nice=nice,
            opens_browser=opens_browser,
            choice=choice,
        )
    else:
        from wanlab.web.server import server

        server.run(
            file,
            port=port,
            folder=folder,
            opens_browser=opens_browser,
            session_file=session,
            choice=choice,
        )


def _check_options(given: Iterable[str], *, is_class: bool, is_hub: bool) -> None:
    """Raise WanlabError if one of the given options has no effect together with the others."""
    used = USED[is_class, is_hub]
    for name in given:
        if name in used:
            continue
        if name in ("--class-url", "--teachers") and not is_hub:
            raise WanlabError(f"{name} is for a JupyterHub only", "add --jupyterhub")
        if not is_class and not is_hub:
            raise WanlabError(f"{name} is for classes only", "add --class FOLDER")
        others = ["--jupyterhub"] * is_hub + ["--class"] * is_class
        raise WanlabError(f"{name} cannot be combined with {' and '.join(others)}")


def opens_without_arguments() -> bool:
    """Whether `wanlab` without arguments opens the browser (as on a desktop) instead of its help."""
    return sys.stdin.isatty() and sys.stdout.isatty() and has_display()
