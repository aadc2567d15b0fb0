"""Records the session of a network: the machine's settings, its input and its output.

All input of a machine is frames to its agent. Recording these frames therefore covers the Python
API, the prompt, terminals, and the page in the browser. A frame is recorded when it is sent, while the
machine's time stands still.
"""

from __future__ import annotations

import platform
import sys
import time
import uuid
from pathlib import Path

from wanlab.agent.messages import Frame
from wanlab.errors import RequirementError, WanlabError
from wanlab.machine import Machine
from wanlab.session import SessionRecorder
from wanlab.session.files import TooMuch, folder_lines, upload_lines
from wanlab.session.lines import FORMAT, Line
from wanlab.shared_folder import SharedFolder
from wanlab.topology.cpu import cpu_words
from wanlab.topology.files import plain
from wanlab.topology.model import Topology
from wanlab.topology.nic import nic_words
from wanlab.topology.references import self_contained
from wanlab.version import VERSION

from .options import NetworkOptions
from .provenance import tool_versions


class NetworkRecording:
    """Opens the session file at once; the machine is observed from `begin` on.

    `target` is the session file; True keeps the session without a file of its own. Programs in the
    network can write `shared`.
    """

    def __init__(self, target: Path | bool, options: NetworkOptions, shared: Path) -> None:
        if options.traits.is_shared:
            raise RequirementError(
                "a network inside a machine cannot record a session: only the whole machine's session "
                "can be recorded, from outside",
                "start it with: wanlab python --session FILE SCRIPT",
            )
        self._options = options
        self.path = target if isinstance(target, Path) else None
        self._recorder = SessionRecorder(self.path, shared)
        self.has_files = False
        """Whether the working folder's files are kept."""

    def begin(self, machine: Machine, topology: Topology) -> None:
        """Write the data that a replay needs, and record the machine from now on."""
        self._recorder.clock = lambda: machine.now_ns
        file_lines, left_out = self._read_folder()
        self.has_files = not left_out
        self._recorder.write({"session": self._header(machine, topology, left_out)})
        for line in file_lines:
            self._recorder.write(line)
        self._recorder.write({"programs": tool_versions(machine.environment)})
        self.observe(machine)

    def observe(self, machine: Machine) -> None:
        machine.observe(self._recorder.sent, self._recorder.received)

    def sent(self, data: bytes) -> None:
        self._recorder.sent(data)

    def received(self, frame: Frame) -> None:
        self._recorder.received(frame)

    def _header(self, machine: Machine, topology: Topology, left_out: str) -> Line:
        options = self._options
        described = machine.describe()
        return {
            "format": FORMAT,
            "id": str(uuid.uuid4()),
            "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "wanlab": VERSION,
            "machine": described["machine"],
            "clock": options.clock,
            "seed": options.seed,
            "wire": options.wire,
            "nic": nic_words(options.nic),
            **({"cpu": cpu_words(options.cpu)} if options.cpu else {}),
            "line_rate_bps": options.line_rate_bps,
            "memory_bytes": options.memory_bytes,
            "sysctls": dict(options.sysctls),
            "kernel_release": described["kernel_release"],
            "kernel": described["kernel"],
            "kernel_manifest": described["kernel_manifest"],
            "architecture": described["architecture"],
            "guest_folder": options.guest_folder,
            "visible_folders": list(options.visible_folders),
            "allow_connect": [f"{address}:{port}" for address, port in options.allow_connect],
            "python": sys.executable,
            "python_version": platform.python_version(),
            "topology": plain.topology_to_plain(self_contained(topology)),
            "files_left_out": left_out,
        }

    def _read_folder(self) -> tuple[list[Line], str]:
        """Return lines about the working folder, or none and the reason."""
        folder = self._options.folder
        try:
            return folder_lines(SharedFolder(folder)), ""
        except TooMuch as reason:
            left_out = str(reason)
        except WanlabError as error:
            left_out = error.what
        except OSError as error:
            left_out = f"{error.filename}: {error.strerror}"
        if self.path is not None:
            print(
                f"wanlab: the session file does not contain the files of the working folder {folder}: "
                f"{left_out} (a replay elsewhere needs a copy of the folder; to include the files, "
                "start in a smaller folder)",
                file=sys.stderr,
            )
        return [], left_out

    def note(self, what: str, value: object = None) -> None:
        """Note an event at this instant that is not a frame."""
        self._recorder.note(what, value)

    def note_topology(self, topology: Topology) -> None:
        self.note("topology", plain.topology_to_plain(self_contained(topology)))

    def note_upload(self, path: Path) -> None:
        """Note the content of a file that wanlab has written into the working folder."""
        try:
            folder = self._options.folder
            name = str(path.absolute().relative_to(folder))
            self.note("upload", upload_lines(SharedFolder(folder), name))
        except (OSError, ValueError):
            self.note("unrepeatable", f"{path} was written and could not be recorded")

    def content(self, *, is_whole: bool = False) -> bytes:
        """Return the session file as it is now; with `is_whole`, as if the session ended now."""
        return self._recorder.content(is_whole=is_whole)

    def end(self, machine: Machine) -> None:
        """Write the last line, and observe the machine no longer."""
        for preemption in machine.preemptions[:1]:
            self.note("unrepeatable", preemption.time_ns)
        self._recorder.end()
        machine.observe(None, None)

    def abandon(self) -> None:
        """Remove the file: the machine did not start."""
        self._recorder.abandon()
