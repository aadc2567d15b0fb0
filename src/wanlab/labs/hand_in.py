"""A hand-in: a student's work on a unit, packed into one file.

prob1-seed4711.zip
  manifest.json       unit, seed, versions, when it was packed, and the SHA-256 of each file
  script.sh           the commands to grade (script.yaml: steps)
  transcripts/        what each terminal showed, and the commands that were typed
  sessions/           the newest session files, which `wanlab replay` repeats
"""

from __future__ import annotations

import hashlib
import itertools
import json
import platform
import re
import time
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from wanlab import __version__
from wanlab.errors import WanlabError
from wanlab.machine.embedded import find_image

from .shell import plain
from .unit import Unit

TRANSCRIPTS = "transcripts"
COMMANDS = "commands"
MANIFEST = "manifest.json"
SUFFIXES = (".sh", ".yaml")
SESSIONS, SESSION_SUFFIX = "sessions", ".wanlab"
MAX_SESSION_BYTES = 16 << 20
"""The limit of all session files in a hand-in together."""
MAX_BYTES = 1 << 20
"""The limit of a script. Of a longer transcript, only the end is packed."""
SHOWN_DIGITS = 12
PROMPT_NUMBERS = 100_000
"""Numbers of the prompt's lines begin here, so that they differ from those of the shells' histories."""
TIME = "%Y-%m-%d %H:%M:%S"
# Commands that only show or measure something are not part of a solution.
_READ_ONLY = re.compile(
    r"(sudo )?(ping|iperf3|ls|cd|cat|less|man|clear|exit|history|wanlab lab|tc (-\S+ )*(qdisc|class|"
    r"filter)( show| ls|$)|sysctl (?!-w)[\w.]+$|ip (-\S+ )*\w+( show|$)|ethtool -k|set_env|\./set_env|"
    r"ifconfig|dmesg|plot_|watch|echo|pwd|nano|vi|featherpad)\b"
)
_HISTORY = re.compile(r"\s*(\d+)[ *]+(.*)")


@dataclass(frozen=True)
class HandIn:
    """A hand-in that was read."""

    unit: str
    seed: int
    script: str
    suffix: str
    packed: str
    wanlab: str
    sessions: tuple[bytes, ...]
    """Contents of session files, the newest last."""
    is_intact: bool
    """Whether every file still has the digest that it was packed with."""


def pack(
    unit: Unit, seed: int, home: Path, script: Path, target: Path, session: Path | None = None
) -> str:
    """Write a hand-in to `target` and return its SHA-256.

    `session` is the only session file to pack; by default, the newest ones are packed. Raises
    WanlabError if a file cannot be read or written.
    """
    files = {f"script{script.suffix}": _bytes(script)}
    for file in sorted((home / TRANSCRIPTS).glob("*")):
        if file.suffix == SESSION_SUFFIX:
            continue
        text = plain(_bytes(file)[-MAX_BYTES:].decode(errors="replace"))
        files[f"{TRANSCRIPTS}/{file.name}"] = text.encode()
    files.update(_newest_sessions([session] if session is not None else sessions_in(home)))
    manifest = {
        "unit": unit.name,
        "seed": seed,
        "packed": time.strftime(TIME),
        "wanlab": __version__,
        "kernel": find_image().release,
        "system": platform.platform(),
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    }
    try:
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(MANIFEST, json.dumps(manifest, indent=2, sort_keys=True) + "\n")
            for name, data in files.items():
                archive.writestr(name, data)
        return hashlib.sha256(target.read_bytes()).hexdigest()
    except OSError as error:
        raise WanlabError(f"cannot write {target}: {error.strerror or error}") from None


def new_session(home: Path) -> Path:
    """Return the file for the session that begins now."""
    names = (
        home / TRANSCRIPTS / f"session-{number}{SESSION_SUFFIX}" for number in itertools.count(1)
    )
    return next(path for path in names if not path.exists())


def sessions_in(home: Path) -> list[Path]:
    """Return the session files of a student's folder, the oldest first."""
    files = (home / TRANSCRIPTS).glob(f"*{SESSION_SUFFIX}")
    return sorted(files, key=lambda file: file.stat().st_mtime)


def read(path: Path) -> HandIn:
    """Read a hand-in. Raises WanlabError if the file is not a hand-in."""
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = json.loads(_member(archive, MANIFEST))
            digests = {str(name): str(digest) for name, digest in manifest["files"].items()}
            data = {name: _member(archive, name) for name in digests}
        name = next(name for name in data if name.startswith("script"))
        return HandIn(
            unit=str(manifest["unit"]),
            seed=int(manifest["seed"]),
            script=data[name].decode(),
            suffix=Path(name).suffix if Path(name).suffix in SUFFIXES else ".sh",
            packed=str(manifest["packed"]),
            wanlab=str(manifest["wanlab"]),
            sessions=tuple(data[name] for name in data if name.startswith(f"{SESSIONS}/")),
            is_intact=all(hashlib.sha256(data[n]).hexdigest() == digests[n] for n in data),
        )
    except (OSError, zipfile.BadZipFile, KeyError, ValueError, TypeError, StopIteration) as error:
        reason = str(error) or "it has no script"
        raise WanlabError(
            f"{path} is not a hand-in: {reason}", "it is written by: wanlab lab hand-in UNIT"
        ) from None


def find_script(unit: Unit, home: Path) -> Path | None:
    """Return the script that a student has written for a unit, if there is one."""
    for folder in (home, home.parent):
        for suffix in SUFFIXES:
            if (folder / f"{unit.name}{suffix}").is_file():
                return folder / f"{unit.name}{suffix}"
    return None


def script_of(unit: Unit, home: Path) -> tuple[Path, bool]:
    """Return the script to hand in, and whether it was just written from the typed commands.

    Raises WanlabError if there is no script and nothing was typed; it then writes an empty script.
    """
    script = find_script(unit, home)
    if script is not None:
        return script, False
    script = home / f"{unit.name}.sh"
    typed = draft(home)
    text = f"# {unit.heading}: the typed commands that changed something.\n{typed}"
    script.write_text(text, encoding="utf-8")
    if not typed:
        raise WanlabError(
            f"there is no script to hand in, and nothing was typed: wrote an empty {script}",
            "write the commands that solve the task into it and hand in again",
        )
    return script, True


def note_line(transcripts: Path, nodes: Sequence[str], line: str) -> None:
    """Record a line that was typed at mininet>: such lines are edited outside the machine."""
    first, _, command = line.strip().partition(" ")
    terminal = f"root@{first}" if first in nodes else "client" if first == "sh" else ""
    with suppress(OSError):
        with (transcripts / "mininet").open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
        if terminal and command:
            with (transcripts / COMMANDS).open("a+", encoding="utf-8") as file:
                file.seek(0)
                number = PROMPT_NUMBERS + sum(1 for _ in file)
                file.write(f"0\t{terminal}\t{number} {command}\n")


def draft(home: Path) -> str:
    """Return the commands that were typed and changed something, as a script for the client.

    Commands on a host get the prefix `wanlab-node HOST`. Commands that failed, or that only show or
    measure something, are left out.
    """
    try:
        text = (home / TRANSCRIPTS / COMMANDS).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    lines: list[str] = []
    before: dict[str, str] = {}
    for line in text.splitlines():
        status, _, rest = line.partition("\t")
        terminal, _, typed = rest.partition("\t")
        match = _HISTORY.match(typed)
        # After an empty line, the history still ends with the previous command.
        if match is None or before.get(terminal) == match[1]:
            continue
        before[terminal] = match[1]
        command = match[2].strip()
        if status != "0" or not command or _READ_ONLY.match(command):
            continue
        node = terminal.rpartition("@")[2] if "@" in terminal else ""
        lines.append(f"wanlab-node {node} {command}" if node else command)
    return "".join(f"{line}\n" for line in lines)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise WanlabError(f"cannot read {path}: {error.strerror or error}") from None


def _newest_sessions(sessions: Sequence[Path]) -> dict[str, bytes]:
    """Return the newest session files that a hand-in has space for, the oldest first."""
    newest: list[tuple[str, bytes]] = []
    left_bytes = MAX_SESSION_BYTES
    for file in reversed(sessions):
        left_bytes -= file.stat().st_size
        if left_bytes < 0:
            break
        newest.append((f"{SESSIONS}/{file.name}", _bytes(file)))
    return dict(reversed(newest))


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    is_session = name.startswith(f"{SESSIONS}/")
    if archive.getinfo(name).file_size > (MAX_SESSION_BYTES if is_session else 2 * MAX_BYTES):
        raise ValueError(f"{name} is too large for a hand-in")
    return archive.read(name)
