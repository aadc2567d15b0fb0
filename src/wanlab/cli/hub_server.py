"""`wanlab web --jupyterhub`: serve what a JupyterHub has started."""

from __future__ import annotations

from pathlib import Path

from wanlab.network import MachineChoice
from wanlab.units import parse_size

from .class_server import memory_of_network


def run_laboratory(
    file: Path | None,
    folder: Path | None,
    session: Path | None,
    *,
    memory: str,
    class_url: str,
    choice: MachineChoice,
) -> None:
    """Serve the laboratory of a user. WanlabError if no JupyterHub has started this command."""
    from wanlab.web.jupyterhub import laboratory_server

    laboratory_server.run(
        laboratory_server.HubLaboratory(
            file=file,
            folder=folder,
            session_file=session,
            memory_bytes=memory_of_network(memory),
            class_url=class_url,
            choice=choice,
        )
    )


def run_class(folder: Path, *, teachers: str, disk: str, choice: MachineChoice) -> None:
    """Serve a class as a service. WanlabError if no JupyterHub has started this command."""
    from wanlab.web.jupyterhub import class_service

    class_service.run(class_service.HubClass(folder, teachers, parse_size(disk), choice))
