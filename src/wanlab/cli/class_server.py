"""`wanlab web --class`: check the options and serve a class."""

from __future__ import annotations

from pathlib import Path

from wanlab.errors import WanlabError
from wanlab.network import MachineChoice
from wanlab.units import parse_size


def run(
    folder: Path,
    *,
    port: int | None,
    address: str,
    url: str,
    memory: str,
    disk: str,
    networks: int | None,
    nice: int,
    opens_browser: bool,
    choice: MachineChoice,
) -> None:
    """Serve a class.

    Raises WanlabError if the limits are too small, or if another mode than ptrace is chosen.
    """
    from wanlab.machine.embedded import protecting_mode
    from wanlab.web.classroom import server
    from wanlab.web.classroom.roster import Limits

    protecting_mode("a class cannot be served", choice.traps)
    limits = Limits(memory_of_network(memory), parse_size(disk))
    server.run(
        server.ServedClass(
            folder=folder,
            port=port,
            address=address,
            url=url,
            limits=limits,
            networks=networks,
            nice=nice,
            opens_browser=opens_browser,
            choice=choice,
        )
    )


def memory_of_network(text: str) -> int:
    """Return the bytes of --memory. WanlabError if they are too few."""
    from wanlab.web.classroom.roster import MIN_MEMORY_BYTES

    memory_bytes = parse_size(text)
    if memory_bytes < MIN_MEMORY_BYTES:
        raise WanlabError(f"--memory {text} is too little for a network", "at least 128 MiB")
    return memory_bytes
