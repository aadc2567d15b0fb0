"""Performs a recorded session again, in a fresh machine.

All frames that were sent to the agent are sent again at their recorded instants. The same kernel with
the same seed then does the same, so its output can be compared with the recording. Afterwards the
network is in the state of that instant, with its processes, and can continue differently.
"""

from __future__ import annotations

import platform
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from wanlab.agent.messages import HEADER, Frame, Kind, encode, encode_json
from wanlab.errors import RequirementError, TopologyError
from wanlab.fields import Fields, Problems
from wanlab.machine import Channel
from wanlab.machine.embedded import find_image, is_known
from wanlab.machine.guest_environment import ENVIRONMENT
from wanlab.session import RecordedSession, SessionComparison, SessionError
from wanlab.session.files import restore
from wanlab.session.frames import StartCall, call_of
from wanlab.session.recorded import Event, SentPiece
from wanlab.shared_folder import SharedFolder
from wanlab.topology.check import ensure
from wanlab.topology.files import plain
from wanlab.topology.model import Topology
from wanlab.units import FOREVER_NS
from wanlab.version import VERSION

from .host_service import HostService
from .live_topology import LiveTopology
from .process import Process, ProcessLog
from .provenance import tool_versions
from .runtime import Runtime

OnOutput = Callable[[int, Process, bytes], None]
"""Called with the network's time in ns, a process that the user had started, and its output."""
SHELL = ["/bin/bash", "-c"]
"""What `LiveNode.start` puts before a command that is a string."""


@dataclass(frozen=True)
class ReplayGoal:
    """What to replay, up to which instant of the network's clock (None: all of it)."""

    session: RecordedSession
    until_ns: int | None = None
    speed: float | None = None
    """Network seconds per real second at most; None: as fast as it can be computed."""
    on_output: OnOutput | None = None
    kernel: str = ""
    """The default kernel; "": the user's."""
    is_reached: bool = False
    """Whether the network's clock has shown `until_ns`, even if nothing happened shortly before."""

    @property
    def end_ns(self) -> int:
        """The last instant, on the machine's clock."""
        if self.until_ns is None:
            return self.session.end_ns
        until_ns = self.until_ns + self.session.epoch_ns
        return until_ns if self.is_reached else min(until_ns, self.session.end_ns)


def topology_at(session: RecordedSession, time_ns: int) -> Topology:
    """Return the topology at an instant of the machine's clock."""
    data = session.header.topology
    for moment in session.moments:
        if isinstance(moment, Event) and moment.what == "topology" and moment.at_ns <= time_ns:
            data = moment.value
    return _topology(session, data)


def refuse_wrong_topologies(session: RecordedSession) -> None:
    """Raise SessionError if a topology in the session cannot be built."""
    _topology(session, session.header.topology)
    for moment in session.moments:
        if isinstance(moment, Event) and moment.what == "topology":
            _topology(session, moment.value)


def _topology(session: RecordedSession, data: Mapping[str, object]) -> Topology:
    problems = Problems()
    topology = plain.read_topology(Fields(data, "", problems))
    try:
        if problems:
            raise TopologyError(problems)
        return ensure(topology)
    except TopologyError as error:
        raise SessionError(
            f"{session.source}: a topology of this session is wrong: {error}"
        ) from None


def refuse_unrepeatable(session: RecordedSession) -> None:
    """Raise SessionError if a session cannot be performed again on any computer."""
    header = session.header
    if header.clock != "virtual":
        raise SessionError(
            f"{session.source}: a session on the real clock cannot be replayed: its timing depended on "
            "the computer",
            "record it on virtual time: --clock virtual",
        )


def kernel_of(session: RecordedSession, default: str = "") -> str:
    """Return the kernel to replay on, as the argument `kernel` of `Network`.

    That is the `default` ("": the user's) if its image is the recorded one, so that the image may have
    another name here; otherwise the recorded name. If that name is unknown here, it is the default,
    which `branching.check` compares with the recorded one.
    """
    try:
        is_default = find_image(default).manifest_hash == session.header.kernel_manifest
    except RequirementError:  # there is no default kernel here
        is_default = False
    if is_default:
        return default
    name = session.header.kernel
    return name if is_known(name) else default


def differences_here(session: RecordedSession) -> list[str]:
    """Return what differs between this computer and the one that recorded the session."""
    header = session.header
    kernel_manifest = find_image(kernel_of(session)).manifest_hash
    differences = []
    if header.wanlab != VERSION:
        differences.append(f"wanlab {header.wanlab} recorded it, this is {VERSION}")
    if header.kernel_manifest != kernel_manifest:
        differences.append(
            f"the kernel {header.kernel_release} (manifest {header.kernel_manifest[:12]}) "
            f"recorded it, this one has the manifest {kernel_manifest[:12]}"
        )
    # Mininet scripts and the prompt run in wanlab's own Python. Older session files do not name it.
    python, our_python = header.python_version, platform.python_version()
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
    for call in session.start_calls():
        command = command_of(call)
        words = command.split() if isinstance(command, str) else command
        name = words[0] if words else ""
        if name in session.programs and shutil.which(name, path=path) is None:
            missing.add(name)
    if missing:
        raise RequirementError(
            f"{session.source} uses {', '.join(sorted(missing))}, which this computer does not have",
            "install it",
        )


def command_of(call: StartCall) -> str | list[str]:
    """Return the command that a call starts: a string if bash runs it."""
    is_shell = len(call.arguments) > 2 and call.arguments[:2] == SHELL
    return call.arguments[2] if is_shell else call.arguments


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
        self._earlier_processes: Mapping[int, Process] = {
            number: process
            for number, process in runtime.processes.items()
            if isinstance(process, Process)
        }
        """Process handles from before a rewind, by number; they are reused."""
        self.comparison = SessionComparison(goal.session)
        self.processes: dict[int, Process] = {}
        """All processes that the session has started so far, by number."""
        self._process_of_call: dict[int, int] = {}
        """The number of the process that a "start" call starts, by the number of the call."""
        self._open_requests: dict[int, Frame] = {}
        """The requests of programs that neither side has ended, by number."""
        self._answered_requests: set[int] = set()
        """The numbers of the requests to which the session sent at least a part of an answer."""
        self._watches: dict[int, int] = {}
        """When the watches that have not ended began, by their numbers."""
        self._highest_number = 0
        """The highest number of a call, a process or a watch so far."""
        self._user_process_numbers = goal.session.user_processes()
        """The numbers of the processes that the user started; only their output is shown."""

    def run(self) -> None:
        """Bring the machine, the topology, processes and timers to the goal."""
        channel = self._runtime.machine.channel
        self._take_over(channel)
        with self._replaying(), _without_outside_connections(channel):
            self._repeat_moments()
            self._await_answers(channel)
        self.comparison.ended(self._runtime.machine.now_ns)
        self._hand_back(channel)
        self._end_later_processes()
        self._live.restore(topology_at(self._goal.session, self._end_ns))
        self._host_service.attach(channel)
        self._end_broken_connections()

    @contextmanager
    def _replaying(self) -> Iterator[None]:
        """Keep repeated output from handlers. Afterwards return from the replay's pace to the
        network's."""
        self._runtime.is_replaying = True
        try:
            yield
        finally:
            self._runtime.is_replaying = False
            self._runtime.pace_again()

    def _take_over(self, channel: Channel) -> None:
        """Receive the agent's frames and requests, and begin at the session's epoch."""
        runtime, recording = self._runtime, self._runtime.recording
        channel.on_request = self._note_request
        runtime.machine.observe(recording.sent if recording else None, self._received)
        runtime.epoch_ns = self._goal.session.epoch_ns
        self._process_log.commands.clear()  # those before a rewind; the replay notes them again

    def _repeat_moments(self) -> None:
        """Send what the session sent, and note its events, up to the goal's last instant."""
        for moment in self._goal.session.moments:
            if moment.at_ns > self._end_ns:
                break
            if isinstance(moment, SentPiece):
                self._repeat(moment)
            elif isinstance(moment, Event):
                self._repeat_event(moment)
        self._advance(self._end_ns)

    def _await_answers(self, channel: Channel) -> None:
        """Wait for the answers to the last calls. The channel would refuse them afterwards."""
        self._runtime.machine.run(FOREVER_NS, lambda: not channel.awaits_answer)

    def _hand_back(self, channel: Channel) -> None:
        """Let the network make its own calls, and only its recording observe the machine."""
        channel.finish_repeating(self._highest_number)
        if self._runtime.recording is not None:
            self._runtime.recording.observe(self._runtime.machine)
        else:
            self._runtime.machine.observe(None, None)

    def _end_later_processes(self) -> None:
        """After a rewind: mark processes that the session starts only later as killed."""
        for number, process in self._earlier_processes.items():
            if number not in self.processes:
                process.vanish()

    def _advance(self, time_ns: int) -> None:
        machine, runtime = self._runtime.machine, self._runtime
        end_ns = self._end_ns - runtime.epoch_ns

        def never_stop() -> bool:
            """Report the time. Return False: only reaching `time_ns` ends the run."""
            if runtime.on_time is not None:
                runtime.on_time(runtime.now_ns, end_ns)
            return False

        machine.run(max(time_ns, machine.now_ns), never_stop)

    def _repeat(self, piece: SentPiece) -> None:
        self._advance(piece.at_ns)
        piece = self._with_our_python(piece)
        self.comparison.sent(piece)
        channel = self._runtime.machine.channel
        for frame in piece.frames:
            if frame.kind is Kind.CALL:
                self._note_call(frame)
            elif frame.kind is Kind.ANSWER:
                self._answered_requests.add(frame.number)
            elif frame.kind is Kind.ANSWER_END:
                self._open_requests.pop(frame.number, None)
        channel.repeat(piece.data, piece.frames)

    def _note_call(self, frame: Frame) -> None:
        call = call_of(frame)
        self._highest_number = max(self._highest_number, frame.number, call.number)
        if isinstance(call, StartCall):
            self._note_start(frame.number, call)
        elif call.do == "watch":
            self._watches[call.number] = self._runtime.now_ns
        elif call.do == "unwatch":
            self._watches.pop(call.number, None)

    def _note_start(self, call_number: int, call: StartCall) -> None:
        """Create the process that a call starts, or reuse its handle from before a rewind."""
        number = call.number
        self._process_of_call[call_number] = number
        process = self._earlier_processes.get(number)
        if process is not None:
            process.begin_again()
        else:
            process = Process(self._runtime, call.node, command_of(call), number=number)
        process.has_terminal = call.terminal is not None
        self.processes[number] = process

    def _with_our_python(self, piece: SentPiece) -> SentPiece:
        """Return the piece with the path of the Python that we run in, where it starts Python."""
        theirs = self._goal.session.header.python
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
            number = event.value.number
            if number in self.processes:
                is_new = number not in self._earlier_processes
                node, process = event.value.node, self.processes[number]
                self._process_log.note(node, process, is_new=is_new)
        elif event.what == "upload" and not runtime.options.traits.is_shared:
            restore(event.value, SharedFolder(runtime.options.folder))
        if event.what not in ("end", "process"):
            self._runtime.note(event.what, event.value)

    def _received(self, frame: Frame) -> None:
        runtime = self._runtime
        if runtime.recording is not None:
            runtime.recording.received(frame)
        self.comparison.received(runtime.machine.now_ns, frame)
        if frame.kind is Kind.REPLY and frame.number in self._process_of_call:
            self.processes[self._process_of_call[frame.number]].pid = frame.json()
        elif frame.kind is Kind.FAILURE and frame.number in self._process_of_call:
            del self.processes[self._process_of_call[frame.number]]
        elif frame.kind in (Kind.OUTPUT, Kind.STDERR) and self._goal.on_output is not None:
            process = self.processes.get(frame.number)
            if process is not None and frame.number in self._user_process_numbers:
                self._goal.on_output(runtime.now_ns, process, frame.body)

    def user_processes(self) -> list[Process]:
        """Return the processes that the user had started, in order."""
        return [
            process
            for number, process in self.processes.items()
            if number in self._user_process_numbers
        ]

    # -- requests of programs -----------------------------------------------------------------------

    def _note_request(self, frame: Frame) -> None:
        if frame.kind is Kind.REQUEST:
            self._open_requests[frame.number] = frame
        elif frame.kind is Kind.REQUEST_END:
            self._open_requests.pop(frame.number, None)

    def _end_broken_connections(self) -> None:
        """End connections whose other end, such as a window, belonged to the recorded session."""
        channel = self._runtime.machine.channel
        for number in self._answered_requests & set(self._open_requests):
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


@contextmanager
def _without_outside_connections(channel: Channel) -> Iterator[None]:
    """Keep connections outside the machine from sending it anything beside the recorded frames."""
    serve, channel.serve = channel.serve, lambda: None
    try:
        yield
    finally:
        channel.serve = serve


def _with_program(frame: Frame, before: str, after: str) -> Frame:
    """Return the frame with the program `after`, if it is a call that starts `before`."""
    if before == after or frame.kind is not Kind.CALL or before.encode() not in frame.body:
        return frame
    call = frame.json()
    if call["do"] != "start" or call["arguments"][0] != before:
        return frame
    call["arguments"][0] = after
    number = frame.number
    return Frame(Kind.CALL, number, encode_json(Kind.CALL, number, call)[HEADER.size :])
