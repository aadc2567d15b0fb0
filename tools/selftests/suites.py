"""The suites, and the command that performs each of their tests in a machine."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from .sources import Sources, names_of

# The machine's modprobe, which knows the drivers in its kernel, and Debian's folders of programs: the
# tests use the system's Python, not that of this checkout.
_PATH = "/run/wanlab/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
TC_FILE = Path(__file__).with_name("tc_file.py")


@dataclass(frozen=True)
class Case:
    """A test: `command` is text for a shell, to be performed in `folder`."""

    name: str
    folder: Path
    command: str


def cases_of(sources: Sources, names: Iterable[str]) -> list[Case]:
    """Return the tests whose name is one of `names`, or begins with one of them and a slash."""
    wanted = tuple(names)
    return [
        case
        for suite, list_cases in SUITES.items()
        for case in (list_cases(sources) if _may_have(suite, wanted) else ())
        if not wanted
        or any(case.name == name or case.name.startswith(f"{name}/") for name in wanted)
    ]


def _may_have(suite: str, names: tuple[str, ...]) -> bool:
    return not names or any(name.partition("/")[0] == suite for name in names)


def _tc_testing(sources: Sources) -> list[Case]:
    folder = sources.selftests / "tc-testing"
    files = sorted(folder.glob("tc-tests/*/*.json"))
    return [
        Case(
            f"tc-testing/{file.parent.name}/{file.stem}",
            folder,
            f"python3 {shlex.quote(str(TC_FILE))} {shlex.quote(str(file.relative_to(folder)))}",
        )
        for file in files
    ]


def _packetdrill(sources: Sources) -> list[Case]:
    if sources.packetdrill is None:
        return []
    folder = sources.selftests / "net" / "packetdrill"
    program = sources.packetdrill / "gtests" / "net" / "packetdrill"
    path = f"PATH={shlex.quote(str(program))}:$PATH"
    return [
        Case(f"packetdrill/{script.stem}", folder, f"{path} ./ksft_runner.sh {script.name}")
        for script in sorted(folder.glob("*.pkt"))
    ]


def _listed(suite: str, folder: str) -> Callable[[Sources], list[Case]]:
    """Return a suite of the tests that the Makefile of a folder lists."""

    def cases(sources: Sources) -> list[Case]:
        place = sources.selftests / folder
        return [
            Case(f"{suite}/{name}", place, f"./{shlex.quote(name)}") for name in names_of(place)
        ]

    return cases


SUITES: dict[str, Callable[[Sources], list[Case]]] = {
    "tc-testing": _tc_testing,
    "packetdrill": _packetdrill,
    "net": _listed("net", "net"),
    "af_unix": _listed("af_unix", "net/af_unix"),
    "forwarding": _listed("forwarding", "net/forwarding"),
    "mptcp": _listed("mptcp", "net/mptcp"),
    "netfilter": _listed("netfilter", "net/netfilter"),
    "tcp_ao": _listed("tcp_ao", "net/tcp_ao"),
}


def script_of(case: Case, port_mbps: int | None) -> str:
    """Return the shell commands that perform a test; its errors are part of its output."""
    lines = [
        "exec 2>&1",
        "unset PYTHONPATH",
        f"export PATH={_PATH}",
        f"cd {shlex.quote(str(case.folder))}",
    ]
    if port_mbps is not None:
        lines.append(f"echo {port_mbps} > /sys/module/veth/parameters/speed")
    return "\n".join([*lines, f"{case.command}", ""])
