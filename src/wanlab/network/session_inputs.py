"""Repeats a session's inputs in another network, each at its recorded time.

A replay repeats everything, including the setup of the machine, so it cannot be trusted with a forged
session file. Here only the programs that were started, their inputs and the answers to their requests
come from the session. The network, its kernel parameters and its files are the caller's, and the
programs may be confined (see `Network.confine_programs`). Students' work is graded in this way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from wanlab.agent.messages import Frame, Kind
from wanlab.errors import WanlabError
from wanlab.json_text import decode_json
from wanlab.session import RecordedSession, SessionError
from wanlab.session.files import restore
from wanlab.session.frames import ResizeCall, SignalCall, StartCall, call_of
from wanlab.session.recorded import Event, ReceivedFrame, SentPiece
from wanlab.shared_folder import SharedFolder
from wanlab.units import format_time

from .host_service import Connection, HostService
from .node import LiveNode
from .process import Process
from .replay import refuse_unrepeatable
from .runtime import Runtime

REQUEST_LIMIT_NS = 60_000_000_000
"""How much later than recorded a program may make a request that the session answers."""
ROOT_FOLDER = "/"
LINE = "line"
"""The "do" of a prompt's request for its next line."""


class _RecordedRequest(msgspec.Struct):
    do: str


_REQUEST = msgspec.json.Decoder(_RecordedRequest)


class SessionInputs:
    """The inputs of a session, performed once by `perform`.

    `node` returns a node of the network by its namespace. Variables in `environment` replace the
    recorded ones.
    """

    def __init__(
        self,
        session: RecordedSession,
        runtime: Runtime,
        host_service: HostService,
        node: Callable[[str], LiveNode],
        environment: Mapping[str, str],
    ) -> None:
        refuse_unrepeatable(session)
        self.problems: list[str] = []
        """One sentence about each input that could not be performed."""
        self.processes: list[Process] = []
        """All that were started, in order."""
        self._session = session
        self._runtime = runtime
        self._host_service = host_service
        self._node = node
        self._environment = dict(environment)
        self._by_number: dict[int, Process] = {}
        self._recorded_requests: dict[int, tuple[str, int]] = {}
        self._counts: dict[str, int] = defaultdict(int)
        self._requests: dict[str, list[Connection]] = defaultdict(list)
        self._offset_ns = 0

    def perform(self) -> None:
        """Let time pass to the session's end. SessionError if the session file is malformed."""
        service = self._host_service
        epoch_ns = self._session.epoch_ns
        self._offset_ns = self._runtime.now_ns - epoch_ns
        handlers = dict(service)
        try:
            for moment in self._session.moments:
                if isinstance(moment, ReceivedFrame):
                    self._note_request(moment)
            for moment in self._session.moments:
                if moment.at_ns < epoch_ns:
                    continue
                if isinstance(moment, SentPiece):
                    for frame in moment.frames:
                        self._perform(frame, moment.at_ns)
                elif isinstance(moment, Event) and moment.what == "upload":
                    self._advance(moment.at_ns)
                    restore(moment.value, SharedFolder(self._runtime.options.folder))
            self._advance(self._session.end_ns)
        except _PerformedEnough:
            pass
        except (ValueError, OSError) as error:
            raise SessionError(
                f"{self._session.source}: not the session of a network: {error}"
            ) from None
        finally:
            service.clear()
            service.update(handlers)

    def _advance(self, at_ns: int) -> None:
        self._runtime.run_until(max(at_ns + self._offset_ns, self._runtime.now_ns))

    def _perform(self, frame: Frame, at_ns: int) -> None:
        if frame.kind is Kind.CALL:
            call = call_of(frame)
            if isinstance(call, StartCall | SignalCall | ResizeCall):
                self._advance(at_ns)
                self._call(call)
            return
        if frame.kind in (Kind.ANSWER, Kind.ANSWER_END):
            self._answer(frame, at_ns)
            return
        process = self._by_number.get(frame.number)
        if process is None:
            return
        self._advance(at_ns)
        if not process.is_running:
            return
        if frame.kind is Kind.INPUT:
            process.write(frame.body)
        elif frame.kind is Kind.INPUT_END:
            process.end_input()

    # -- processes --------------------------------------------------------------------------------

    def _call(self, call: StartCall | SignalCall | ResizeCall) -> None:
        if isinstance(call, StartCall):
            self._start(call)
            return
        process = self._by_number.get(call.number)
        if process is None or not process.is_running:
            return
        if isinstance(call, SignalCall):
            process.signal(call.signal_number)
        else:
            process.resize(call.rows, call.columns)

    def _start(self, call: StartCall) -> None:
        arguments = [self._with_our_folder(word) for word in call.arguments]
        if arguments[0] == self._session.header.python:
            arguments[0] = "wanlab-python"
        environment = {
            name: self._with_our_folder(value) for name, value in call.environment.items()
        }
        try:
            process = self._node(call.node).start(
                arguments,
                folder=self._with_our_folder(call.folder),
                environment={
                    **environment,
                    **self._runtime.machine.environment,
                    **self._environment,
                },
                stdin=call.stdin,
                terminal=call.terminal,
                merge_stderr=call.merge_stderr,
            )
        except WanlabError as error:
            self._note_problem(str(error))
            return
        self._by_number[call.number] = process
        self.processes.append(process)

    def _with_our_folder(self, text: str) -> str:
        """Replace the working folder of the session by ours."""
        theirs = str(Path(self._session.header.guest_folder))
        if not theirs.startswith("/") or theirs == ROOT_FOLDER:
            return text
        ours = self._runtime.options.guest_folder
        if text == theirs or text.startswith(f"{theirs}/"):
            return ours + text[len(theirs) :]
        return text

    # -- requests of programs, and the answers that were given --------------------------------------

    def _note_request(self, received: ReceivedFrame) -> None:
        frame = received.frame
        if frame.kind is not Kind.REQUEST:
            return
        word = ""
        with suppress(WanlabError):
            word = decode_json(frame.text, _REQUEST).do
        self._recorded_requests[frame.number] = (word, self._counts[word])
        self._counts[word] += 1
        # The request waits here for the recorded answer.
        self._host_service[word] = self._requests[word].append

    def _answer(self, frame: Frame, at_ns: int) -> None:
        word, position = self._recorded_requests.get(frame.number, ("", 0))
        requests = self._requests[word]
        self._advance(at_ns)
        if word == LINE and len(requests) <= position:
            self._runtime.run_until_condition(lambda: len(requests) > position, REQUEST_LIMIT_NS)
            if len(requests) <= position:
                self._note_problem("no prompt asked for the next line; the rest was not performed")
                raise _PerformedEnough
            # The rest of the session is delayed by as much as the request was.
            self._offset_ns = self._runtime.now_ns - at_ns
        if len(requests) <= position:
            return
        if frame.kind is Kind.ANSWER:
            requests[position].send(frame.body)
        else:
            requests[position].end()

    def _note_problem(self, text: str) -> None:
        self.problems.append(f"at {format_time(self._runtime.now_ns)}: {text}")


class _PerformedEnough(Exception):  # noqa: N818  (leaves a loop; not an error)
    """The rest of a session cannot be performed."""
