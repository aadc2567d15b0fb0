"""`wanlab web --class`: check the options and serve a class."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from wanlab.errors import WanlabError
from wanlab.network import MachineChoice
from wanlab.units import parse_size


def run(
    folder: Path,
    *,
    single_user: Mapping[str, object],
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

    `single_user` has the options that cannot be combined with --class. Raises WanlabError if one of
    them has a value, if the limits are too small, or if another mode than ptrace is chosen.
    """
    from wanlab.machine.embedded import protecting_mode
    from wanlab.web.classroom import server
    from wanlab.web.classroom.roster import MIN_MEMORY_BYTES, Limits

    for name, value in single_user.items():
        if value is not None:
            raise WanlabError(f"{name} cannot be combined with --class")
    protecting_mode("a class cannot be served", choice.traps)
    limits = Limits(parse_size(memory), parse_size(disk))
    if limits.memory_bytes < MIN_MEMORY_BYTES:
        raise WanlabError(f"--memory {memory} is too little for a network", "at least 128 MiB")
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
