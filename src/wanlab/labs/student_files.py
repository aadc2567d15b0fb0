"""The files of a student: /home/admin, with the folders that the manual names.

    lab_topologies/"Lab 6.mn"                    topologies of all units
    NTP_Exercises/Exercise4/                     set_env.sh and other files of an exercise
    NTP_Problems/Problem1/

It is the lab's working folder, which the machine shares with the computer under the name
/home/admin, so that the files of a student outlive the machine.
"""

from __future__ import annotations

import base64
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from wanlab import Network
from wanlab.network import StartJitter
from wanlab.shared_folder import SharedFolder
from wanlab.units import format_time

from . import lesson, seed_values
from .unit import Unit

HOME = "/home/admin"
TOPOLOGIES = "lab_topologies"
FOLDERS = {"exercise": ("NTP_Exercises", "Exercise"), "problem": ("NTP_Problems", "Problem")}
# Where the computer has a user "admin", a link would be made inside that user's folder.
LINK = (
    'mkdir -p /home && { [ "$1" = /home/admin ] || { if [ -d /home/admin ] && ! [ -L /home/admin ]; then'
    ' mount --bind "$1" /home/admin; else ln -sfn "$1" /home/admin; fi; }; }'
)
KEEP_SETTINGS = (
    'kept="$1/.sysctl.conf"; if [ -e "$kept" ]; then sysctl -q -p "$kept" 2>/dev/null;'
    ' else cp -L /etc/sysctl.conf "$kept" 2>/dev/null || : > "$kept"; fi;'
    ' ln -sfn "$kept" /etc/sysctl.conf'
)
UNPACK = "sys.stdout.buffer.write(zlib.decompress(base64.decodebytes(sys.stdin.buffer.read())))"
NOT_FOR_STUDENTS = {
    "instructor.md",
    "__init__.py",
    "__pycache__",
    "solution.yaml",
    "wrong",
    "lab.yaml",
}


def folder_of(unit: Unit) -> str:
    """Return the folder where a unit's terminals open, relative to the home folder."""
    if unit.own_name:
        return unit.own_name
    if unit.kind == "lab":
        return ""
    folder, name = FOLDERS[unit.kind]
    return f"{folder}/{name}{unit.number}"


def topology_folder_of(unit: Unit) -> str:
    """Return the folder of a unit's topologies, relative to the home folder."""
    return folder_of(unit) or TOPOLOGIES


def student_topology(unit: Unit) -> str:
    """Return the name of a student's own topology, which is opened instead of the unit's."""
    return f"{topology_folder_of(unit)}/{unit.file}"


def figures_of(unit: Unit) -> list[Path]:
    """Return the figures of a unit's lesson."""
    return sorted(unit.folder.glob("*.svg"))


def files_of(unit: Unit) -> Iterator[tuple[str, Path]]:
    """Yield the files that a student needs: each name in the home folder, and its source."""
    folder = folder_of(unit)
    # Where students draw the topology themselves, there is no topology to open.
    is_opened = unit.kind == "lab" or any("open" in step.do for step in unit.steps)
    if is_opened and unit.topology.is_file():
        for name in (unit.file, *unit.aliases):
            yield f"{topology_folder_of(unit)}/{Path(name).name}", unit.topology
    if not folder:
        return
    figures = figures_of(unit)
    for file in sorted(unit.folder.iterdir()):
        if file.name in NOT_FOR_STUDENTS or file.name.startswith("solution"):
            continue
        if file.is_file() and file != unit.topology and file not in figures:
            yield f"{folder}/{file.name}", file


def install(
    home: SharedFolder, units: Iterable[Unit], edition: lesson.Edition = lesson.TERMINAL
) -> None:
    """Copy the files that are missing; files that a student has changed stay.

    Files that depend on the seed are always replaced. Raises OSError if a file cannot be written, or
    UnsafeFileError if a program has put a link in its place.
    """
    for unit in units:
        for name, source in files_of(unit):
            is_drawn = unit.draws and source.name in ("set_env.sh", "lesson.md")
            if home.exists(name) and not is_drawn:
                continue
            data = source.read_bytes()
            if source.name == "lesson.md":
                data = lesson.student_edition(unit, edition).encode()
            elif is_drawn:
                data = _packed_script(data.decode(), unit).encode()
            home.write(name, data, 0o755 if name.endswith(".sh") else 0o644)


def _packed_script(text: str, unit: Unit) -> str:
    """Return set_env.sh with the seed's values, encoded, so that nobody reads the fault by accident."""
    script = seed_values.shell_assignments(unit.values) + text
    packed = base64.encodebytes(zlib.compress(script.encode(), 9)).decode()
    return (
        "#!/bin/sh\n"
        f"# {unit.heading}: sets up the network. You can run it again to start over.\n"
        "# Your task is to find out what it does, so it is packed.\n"
        f"unpack='import base64,sys,zlib;{UNPACK}'\n"
        "script=$(wanlab-python -I -S -c \"$unpack\" <<'END'\n"
        f"{packed}END\n"
        ')\nexec /bin/sh -c "$script" set_env.sh\n'
    )


def guest_folder() -> str:
    """Return where to mount the folder, so that no result depends on its path on the computer.

    It is the home folder, unless the computer has such a folder: wanlab itself may be in it.
    """
    return "" if os.path.lexists(HOME) else HOME


def link_home(network: Network) -> None:
    """Make the working folder the home folder of the network's terminals."""
    network.root.run(["/bin/sh", "-c", LINK, "sh", network.options.guest_folder])


def keep_settings(network: Network) -> None:
    """Keep /etc/sysctl.conf beyond the machine's end, and apply it, as a computer does at boot."""
    network.root.run(["/bin/sh", "-c", KEEP_SETTINGS, "sh", network.options.guest_folder])


def name_in_home(path: str) -> str | None:
    """Return the name in the home folder of a file in the machine; None if it is elsewhere."""
    return path[len(HOME) :].lstrip("/") if path.startswith(f"{HOME}/") else None


def machine_path(home: Path, path: str) -> str:
    """Return a path in the machine as students know it: the home folder has two names there."""
    return HOME + path[len(str(home)) :] if path.startswith(f"{home}/") else path


def environment(seed: int, start_jitter_ns: int = 0) -> dict[str, str]:
    """Return the environment of every terminal. A pager would wait for a key that nobody presses."""
    jitter = {StartJitter.VARIABLE: format_time(start_jitter_ns)} if start_jitter_ns else {}
    return {
        **jitter,
        "HOME": HOME,
        "PAGER": "cat",
        "SYSTEMD_PAGER": "",
        StartJitter.SEED_VARIABLE: str(seed),
    }
