"""Performs a recorded session again, in a fresh machine.

All frames that were sent to the agent are sent again at their recorded instants. The same kernel with
the same seed then does the same, so its output can be compared with the recording. Afterwards the
network is in the state of that instant, with its processes, and can continue differently.
"""

from __future__ import annotations

import platform
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from wanlab.agent.messages import Frame, Kind, encode, encode_json
from wanlab.errors import RequirementError
from wanlab.fields import Fields, Problems
from wanlab.machine.embedded import find_image, is_known
from wanlab.machine.guest_environment import ENVIRONMENT
from wanlab.session import RecordedSession, SessionComparison, SessionError
from wanlab.session.files import restore
from wanlab.session.recorded import Event, SentPiece
from wanlab.topology.files import plain
from wanlab.topology.model import Topology
from wanlab.units import FOREVER_NS
from wanlab.version import VERSION

from .host_service import HostService
from .live_topology import LiveTopology
from .process import Command, Process, ProcessLog
from .provenance import tool_versions
from .runtime import Runtime

OnOutput = Callable[[int, Process, bytes], None]
"""Called with the network's time in ns, a process that the user had started, and its output."""
SHELL = ["/bin/bash", "-c"]


@dataclass(frozen=True)
class ReplayGoal:
    """What to replay, up to which instant of the network's clock (None: all of it)."""

    session: RecordedSession
    until_ns: int | None = None
    speed: float | None = None
    """Network seconds per real second at most; None: as fast as it can be computed."""
    on_output: OnOutput | None = None

    @property
    def end_ns(self) -> int:
        """The last instant, on the machine's clock."""
        if self.until_ns is None:
            return self.session.end_ns
        return min(self.until_ns + self.session.epoch_ns, self.session.end_ns)


def topology_at(session: RecordedSession, time_ns: int) -> Topology:
    """Return the topology at an instant of the machine's clock."""
    data = session.header["topology"]
    for moment in session.moments:
        if isinstance(moment, Event) and moment.what == "topology" and moment.at_ns <= time_ns:
            data = moment.value
    return plain.read_topology(Fields(data, "", Problems()))


def refuse_unrepeatable(session: RecordedSession) -> None:
    """Raise SessionError if a session cannot be performed again on any computer."""
    header = session.header
    if header["clock"] != "virtual":
        raise SessionError(
            f"{session.source}: a session on the real clock cannot be replayed: its timing depended on "
            "the computer",
            "record it on virtual time: --clock virtual",
        )


def kernel_of(session: RecordedSession) -> str:
    """Return the kernel to replay on, as the argument `kernel` of `Network`.

    That is the default kernel ("") if its image is the recorded one, so that the image may have another
    name here; otherwise the recorded name. If that name is unknown here, it is the default kernel,
    which `branching.check` compares with the recorded one.
    """
    with suppress(RequirementError):
        if find_image().manifest_hash == session.header["kernel_manifest"]:
            return ""
    name = str(session.header.get("kernel", ""))
    return name if is_known(name) else ""


def differences_here(session: RecordedSession) -> list[str]:
    """Return what differs between this computer and the one that recorded the session."""
    header = session.header
    kernel_manifest = find_image(kernel_of(session)).manifest_hash
    differences = []
    if header["wanlab"] != VERSION:
        differences.append(f"wanlab {header['wanlab']} recorded it, this is {VERSION}")
    if header["kernel_manifest"] != kernel_manifest:
        differences.append(
            f"the kernel {header['kernel_release']} (manifest {header['kernel_manifest'][:12]}) "
            f"recorded it, this one has the manifest {kernel_manifest[:12]}"
        )
    # Mininet scripts and the prompt run in wanlab's own Python. Older session files do not name it.
    python, our_python = header.get("python_version"), platform.python_version()
    if python is not None and python != our_python:
        differences.append(f"wanlab's Python: recorded with {python}, here is {our_python}")
    here = tool_versions(ENVIRONMENT)
    for name, version in session.programs.items():
        if name in here and here[name] != version:
            differences.append(f"{name}: recorded with {version!r}, here is {here[name]!r}")
    return differences


def refuse_missing(session: RecordedSession) -> None:
    """Raise RequirementError for programs that the session starts and that this computer lacks."""
    path = ENVIRONMENT["PATH"]
    missing = set()
    for call in session.calls("start"):
        arguments = list(call["arguments"])
        words = arguments[2].split()[:1] if arguments[:2] == SHELL else arguments[:1]
        for name in words:
            if name in session.programs and shutil.which(name, path=path) is None:
                missing.add(name)
    if missing:
        raise RequirementError(
            f"{session.source} uses {', '.join(sorted(missing))}, which this computer does not have",
            "install it",
        )


class Replay:
    """One replay in a machine that has just booted."""

    def __init__(
        self,
        goal: ReplayGoal,
        runtime: Runtime,
        live: LiveTopology,
        host_service: HostService,
        process_log: ProcessLog,
    ) -> None:
        self._goal = goal
        self._end_ns = goal.end_ns  # kept, because computing it searches the session
        self._runtime = runtime
        self._live = live
        self._host_service = host_service
        self._process_log = process_log
        self._handles: Mapping[int, Process] = {
            number: process
            for number, process in runtime.processes.items()
            if isinstance(process, Process)
        }
        """Process handles from before a rewind, which are reused."""
        self.comparison = SessionComparison(goal.session)
        self.processes: dict[int, Process] = {}
        """All processes that the session has started so far, by number."""
        self._starts: dict[int, int] = {}
        self._open_requests: dict[int, Frame] = {}
        self._watches: dict[int, int] = {}
        """When the watches that have not ended began, by their numbers."""
        self._answered: set[int] = set()
        self._highest_number = 0
        self._shown = goal.session.user_processes()

    def run(self) -> None:
        """Bring the machine, the topology, processes and timers to the goal."""
        runtime, channel = self._runtime, self._runtime.machine.channel
        serve, channel.serve = channel.serve, lambda: None
        channel.on_request = self._note_request
        recording = runtime.recording
        runtime.machine.observe(recording.sent if recording else None, self._received)
        runtime.epoch_ns = self._goal.session.epoch_ns
        runtime.is_replaying = True
        self._process_log.commands.clear()
        try:
            for moment in self._goal.session.moments:
                if moment.at_ns > self._end_ns:
                    break
                if isinstance(moment, SentPiece):
                    self._repeat(moment)
                elif isinstance(moment, Event):
                    self._repeat_event(moment)
            self._advance(self._end_ns)
            runtime.machine.run(FOREVER_NS, lambda: not channel.awaits_answer)
        finally:
            runtime.is_replaying = False
            channel.serve = serve
            runtime.pace_again()
        self.comparison.ended(runtime.machine.now_ns)
        channel.finish_repeating(self._highest_number)
        if recording is not None:
            recording.observe(runtime.machine)
        else:
            runtime.machine.observe(None, None)
        for number, handle in self._handles.items():
            if number not in self.processes:
                handle.vanish()
        self._live.restore(topology_at(self._goal.session, self._end_ns))
        self._host_service.attach(channel)
        self._end_broken_connections()

    def _advance(self, time_ns: int) -> None:
        machine, runtime = self._runtime.machine, self._runtime
        end_ns = self._end_ns - runtime.epoch_ns

        def report_time() -> bool:
            if runtime.on_time is not None:
                runtime.on_time(runtime.now_ns, end_ns)
            return False

        machine.run(max(time_ns, machine.now_ns), report_time)

    def _repeat(self, piece: SentPiece) -> None:
        self._advance(piece.at_ns)
        piece = self._with_our_python(piece)
        self.comparison.sent(piece)
        channel = self._runtime.machine.channel
        for frame in piece.frames:
            if frame.kind is Kind.CALL:
                self._note_call(frame)
            elif frame.kind is Kind.ANSWER:
                self._answered.add(frame.number)
            elif frame.kind is Kind.ANSWER_END:
                self._open_requests.pop(frame.number, None)
        channel.repeat(piece.data, piece.frames)

    def _note_call(self, frame: Frame) -> None:
        call = frame.json()
        self._highest_number = max(self._highest_number, frame.number, call.get("number", 0))
        if call["do"] == "watch":
            self._watches[call["number"]] = self._runtime.now_ns
        elif call["do"] == "unwatch":
            self._watches.pop(call["number"], None)
        if call["do"] != "start":
            return
        number = call["number"]
        self._starts[frame.number] = number
        process = self._handles.get(number)
        if process is not None:
            process.begin_again()
        else:
            arguments = list(call["arguments"])
            command: Command = arguments[2] if arguments[:2] == SHELL else arguments
            process = Process(self._runtime, call["node"], command, number=number)
        process.has_terminal = call["terminal"] is not None
        self.processes[number] = process

    def _with_our_python(self, piece: SentPiece) -> SentPiece:
        """Return the piece with the path of the Python that we run in, where it starts Python."""
        theirs = self._goal.session.header["python"]
        frames = tuple(_with_program(frame, theirs, sys.executable) for frame in piece.frames)
        if frames == piece.frames:
            return piece
        return replace(piece, frames=frames, data=b"".join(encode(*frame) for frame in frames))

    def _repeat_event(self, event: Event) -> None:
        runtime = self._runtime
        self._advance(event.at_ns)
        if event.what == "began" and self._goal.speed is not None:
            runtime.machine.pace_to_real(True, self._goal.speed)
        if event.what == "process":
            number = event.value["number"]
            if number in self.processes:
                is_new = number not in self._handles
                node, process = event.value["node"], self.processes[number]
                self._process_log.note(node, process, is_new=is_new)
        elif event.what == "upload" and runtime.options.traits.boots_kernel:
            restore(event.value, runtime.options.folder)
        if event.what not in ("end", "process"):
            self._runtime.note(event.what, event.value)

    def _received(self, frame: Frame) -> None:
        runtime = self._runtime
        if runtime.recording is not None:
            runtime.recording.received(frame)
        self.comparison.received(runtime.machine.now_ns, frame)
        if frame.kind is Kind.REPLY and frame.number in self._starts:
            self.processes[self._starts[frame.number]].pid = frame.json()
        elif frame.kind is Kind.FAILURE and frame.number in self._starts:
            del self.processes[self._starts[frame.number]]
        elif frame.kind in (Kind.OUTPUT, Kind.STDERR) and self._goal.on_output is not None:
            process = self.processes.get(frame.number)
            if process is not None and frame.number in self._shown:
                self._goal.on_output(runtime.now_ns, process, frame.body)

    def shown_processes(self) -> list[Process]:
        """Return the processes that the user had started, in order."""
        return [process for number, process in self.processes.items() if number in self._shown]

    # -- requests of programs -----------------------------------------------------------------------

    def _note_request(self, frame: Frame) -> None:
        if frame.kind is Kind.REQUEST:
            self._open_requests[frame.number] = frame
        elif frame.kind is Kind.REQUEST_END:
            self._open_requests.pop(frame.number, None)

    def _end_broken_connections(self) -> None:
        """End connections whose other end, such as a window, belonged to the recorded session."""
        channel = self._runtime.machine.channel
        for number in self._answered & set(self._open_requests):
            del self._open_requests[number]
            channel.end_request(number)

    def end_watches(self) -> None:
        """End the watches of the recorded session, whose readings nobody receives."""
        runtime = self._runtime
        for number, began_ns in self._watches.items():
            runtime.machine.agent.unwatch(number=number, time_ns=runtime.now_ns - began_ns)
        self._watches.clear()

    def deliver_open_requests(self) -> None:
        """Let the current handlers answer the requests that are still open."""
        for number, frame in list(self._open_requests.items()):
            if frame.json().get("do") in self._host_service:
                del self._open_requests[number]
                self._host_service.accept(frame)


def _with_program(frame: Frame, before: str, after: str) -> Frame:
    if before == after or frame.kind is not Kind.CALL or before.encode() not in frame.body:
        return frame
    call = frame.json()
    if call["do"] != "start" or call["arguments"][0] != before:
        return frame
    call["arguments"][0] = after
    number = frame.number
    return Frame(Kind.CALL, number, encode_json(Kind.CALL, number, call)[9:])
