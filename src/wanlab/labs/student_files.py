"""The manual's folders: /home/admin, as a student finds it.

    lab_topologies/"Lab 6.mn"                    topologies of all units
    NTP_Exercises/Exercise4/                     set_env.sh and what else an exercise comes with
    NTP_Problems/Problem1/

All of it is the lab's working folder, which the machine shares with the computer: in the machine it is
called /home/admin, too. So what a student writes there is still there afterwards.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from wanlab import Network

from .unit import Unit

HOME = "/home/admin"
TOPOLOGIES = "lab_topologies"
PLACES = {"exercise": ("NTP_Exercises", "Exercise"), "problem": ("NTP_Problems", "Problem")}
# Where the computer has such a user, the link would end up in that user's folder.
LINK = (
    'mkdir -p /home && { [ "$1" = /home/admin ] || { if [ -d /home/admin ] && ! [ -L /home/admin ]; then'
    ' mount --bind "$1" /home/admin; else ln -sfn "$1" /home/admin; fi; }; }'
)
NOT_FOR_STUDENTS = {
    "__init__.py",
    "__pycache__",
    "solution.yaml",
    "wrong",
    "lab.yaml",
    "figure.svg",
}


def folder_of(unit: Unit) -> str:
    """Where a unit's terminals begin, from home."""
    if unit.kind == "lab":
        return ""
    place, name = PLACES[unit.kind]
    return f"{place}/{name}{unit.number}"


def topology_folder_of(unit: Unit) -> str:
    """Where its topologies are opened from and saved to, from home."""
    return folder_of(unit) or TOPOLOGIES


def student_topology(home: Path, unit: Unit) -> Path:
    """A student's own file counts, as it would in MiniEdit; without one, what the unit comes with."""
    return home / topology_folder_of(unit) / unit.file


def files_of(unit: Unit) -> Iterator[tuple[str, Path]]:
    """What a student finds of a unit: the name from home, and the file."""
    place = folder_of(unit)
    # What an exercise has its students draw is not there yet.
    is_given = unit.kind == "lab" or any("open" in step.do for step in unit.steps)
    if is_given and unit.topology.is_file():
        for name in (unit.file, *unit.aliases):
            yield f"{topology_folder_of(unit)}/{Path(name).name}", unit.topology
    if not place:
        return
    for file in sorted(unit.folder.iterdir()):
        if file.name in NOT_FOR_STUDENTS or file.name.startswith("solution"):
            continue
        if file.is_file() and file != unit.topology:
            yield f"{place}/{file.name}", file


def install(home: Path, units: Iterable[Unit]) -> None:
    """Puts there what is missing; what a student has changed stays."""
    for unit in units:
        for name, source in files_of(unit):
            target = home / name
            if target.exists():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            target.chmod(0o755 if target.suffix == ".sh" else 0o644)


def link_home(network: Network) -> None:
    """Makes the working folder the home of the network's terminals."""
    network.root.run(["/bin/sh", "-c", LINK, "sh", str(network.folder)])


def host_path(home: Path, name: str) -> Path:
    """A file of the machine's home, or of a folder in it, as the computer has it."""
    if name == HOME or name.startswith(f"{HOME}/"):
        return home / name[len(HOME) :].lstrip("/")
    return Path(name)


def environment(seed: int) -> dict[str, str]:
    """Of every terminal. No pager waits for a key that nobody presses."""
    return {
        "HOME": HOME,
        "PAGER": "cat",
        "SYSTEMD_PAGER": "",
        "WANLAB_SEED": str(seed),
    }
