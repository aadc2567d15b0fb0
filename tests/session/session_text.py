"""Session files for tests, with correct checksums whatever they contain."""

from __future__ import annotations

import json
from collections.abc import Iterable

from wanlab.session.lines import FIRST_SUM, FORMAT, Line, check_sum, write_line

HEADER: Line = {
    "format": FORMAT,
    "id": "6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
    "began": "2026-01-01T00:00:00Z",
    "wanlab": "1",
    "machine": "embedded",
    "clock": "virtual",
    "seed": 1,
    "wire": "mtu",
    "nic": {},
    "cpu": {},
    "line_rate_bps": 0,
    "memory_bytes": 1 << 30,
    "sysctls": {},
    "kernel_release": "6.12",
    "kernel": "6.12",
    "kernel_manifest": "0" * 64,
    "architecture": "x86_64",
    "guest_folder": "/home/user/lab",
    "visible_folders": [],
    "allow_connect": [],
    "python": "/usr/bin/python3",
    "python_version": "3.11.2",
    "topology": {"nodes": [{"host": "h1"}, {"host": "h2"}], "links": [{"link": ["h1", "h2"]}]},
    "files_left_out": "",
}
START: Line = {
    "do": "start",
    "number": 2,
    "node": "h1",
    "arguments": ["ls"],
    "folder": "/home/user/lab",
    "environment": {},
    "stdin": True,
    "terminal": None,
}


def session_of(*lines: Line, **header: object) -> bytes:
    """Return a session with these lines after its header, in which these fields are different."""
    return written([{"session": {**HEADER, **header}}, *lines])


def written(lines: Iterable[Line]) -> bytes:
    """Return the text of a session file."""
    data, checksum = b"", FIRST_SUM
    for line in lines:
        text, checksum = write_line(line, checksum)
        data += text
    return data


def lines_of(data: bytes) -> list[Line]:
    """Return the lines of a session file as plain data."""
    lines, checksum = [], FIRST_SUM
    for line in data.splitlines(keepends=True):
        text, checksum = check_sum(line, checksum)
        lines.append(json.loads(text))
    return lines
