"""The one thread that owns a running network.

    browsers --> event loop of the server --> calls --> this thread --> network
                                          <-- callbacks <--

A network must not be used by two threads at once, and letting time pass blocks for as long as that
takes. So every action on the network is a call in a queue, carried out between two slices of time;
a waiting call cuts the current slice short. Keys for a program need no such pause:
they are passed on during a slice, and also while a call itself lets time pass, as the check of a
lesson does.

`pacer` decides when time passes. This module reads the clocks, lets time pass and does the waiting.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import NamedTuple, TypeVar

from wanlab import Network, Process
from wanlab.errors import MachineError, WanlabError
from wanlab.measure.queue_lengths import QueueReader

from .breakpoints import Breakpoints
from .pacer import REPORT_REAL_S, Clock, ClockMeter, Pacer, Tempo

Result = TypeVar("Result")
STALLED_REAL_S = 2.0
IDLE_REAL_S = 1.0
# When the network is to end, a running call may take the first time, and the end itself (stop
# commands) the second. After that the machine is killed, because it has too much to do at one
# instant.
LEAVE_REAL_S = 3.0
END_REAL_S = 30.0
INTERNAL_ERROR_HINT = "please report this, with what `wanlab web` has printed in its terminal"


class TimedCall(NamedTuple):
    """A call to carry out in the network's thread at an instant of its clock."""

    at_ns: int
    perform: Callable[[Network], None]


class NetworkStopped(WanlabError):  # noqa: N818  (a call that was not carried out is no mistake)
    """The network was stopped before or during a call."""


class Life(enum.Enum):
    """The progress of the thread."""

    RUNNING = enum.auto()
    ENDING = enum.auto()
    ENDED = enum.auto()


class NetworkWorker:
    """Starts the network that `make` returns, and runs it until `end`.

    The callbacks are called in the worker's thread:

    on_running   the network has started
    on_ended     the network is gone, with the error that ended it, or None
    on_clock     the state of the clock: several times a second while time passes, and when it stops
    every        between slices, at most ten times a second, and when time has stopped
    on_building  while the network starts: how many operations of the plan have been performed, of all
    on_break     time was paused at a breakpoint, with the reason
    on_leaving   the network is about to end, or has died
    """

    def __init__(
        self,
        make: Callable[[], Network],
        *,
        on_running: Callable[[Network], None],
        on_ended: Callable[[BaseException | None], None],
        on_clock: Callable[[Clock], None],
        every: Callable[[Network], None],
        on_building: Callable[[int, int], None] = lambda done, of: None,
        on_break: Callable[[str], None] = lambda why: None,
        on_leaving: Callable[[Network], None] = lambda network: None,
        tempo: Tempo = Tempo(),  # noqa: B008  (it is immutable)
    ) -> None:
        self._make = make
        self._on_running = on_running
        self._on_ended = on_ended
        self._on_clock = on_clock
        self._every = every
        self._on_building = on_building
        self._on_break = on_break
        self._on_leaving = on_leaving
        self.breakpoints = Breakpoints()
        """Changed by calls, in the thread."""
        self._queues: QueueReader | None = None
        self._pacer = Pacer(tempo)
        self._meter = ClockMeter(0, time.monotonic())
        self._life = Life.RUNNING
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._calls: deque[tuple[Callable[[Network], None], Callable[[BaseException], None]]]
        self._calls = deque()
        """For each waiting call, how to perform it, and how to make its future fail."""
        self._keys: deque[tuple[Sequence[Process], bytes]] = deque()
        self._timed: deque[TimedCall] = deque()
        self._tempo_after: Tempo | None = None
        """The tempo after the last timed call."""
        self._network: Network | None = None
        self._programs: list[Process] = []
        self._busy: tuple[Process, ...] = ()
        self._call_began_real_s: float | None = None
        self._advanced_real_s: float | None = None
        self._ending_since_real_s = 0.0
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="network", daemon=True)

    # -- from any thread --------------------------------------------------------------------------

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def submit(self, call: Callable[[Network], Result]) -> Future[Result]:
        """Queue `call` for the thread; the call may let time pass.

        The future fails with NetworkStopped if the network ends before the call is done.
        """
        future: Future[Result] = Future()
        with self._lock:
            if self._life is not Life.RUNNING:
                future.set_exception(NetworkStopped("the network is not running"))
                return future
            perform = functools.partial(_settle, future, call)
            self._calls.append((perform, functools.partial(_fail, future)))
        self._wake.set()
        return future

    def send_keys(self, process: Process, data: bytes) -> None:
        """Pass on keys that were typed for a program."""
        self.send_keys_together([process], data)

    def send_keys_together(self, processes: Sequence[Process], data: bytes) -> None:
        """Pass on keys that were typed for several programs, to all at the same instant."""
        self._keys.append((processes, data))
        self._wake.set()

    def end(self) -> None:
        """Begin to end the network; `join` waits until it is gone. Call it again to insist."""
        with self._lock:
            if self._life is Life.RUNNING:
                self._life = Life.ENDING
                self._ending_since_real_s = time.monotonic()
        self._wake.set()
        ending_real_s = time.monotonic() - self._ending_since_real_s
        if ending_real_s > (END_REAL_S if self._is_closing else LEAVE_REAL_S):
            self._kill()
        elif self.stalled_real_s > STALLED_REAL_S:
            self.end_stalled_process()

    def join(self, real_s: float | None = None) -> bool:
        """Wait until the thread has ended, `real_s` seconds at most; return whether it has."""
        self._thread.join(real_s)
        return not self._thread.is_alive()

    @property
    def stalled_real_s(self) -> float:
        """The number of seconds that a slice has run without time passing.

        Virtual time cannot pass while a program computes without a pause.
        """
        advanced_real_s = self._advanced_real_s
        return 0.0 if advanced_real_s is None else time.monotonic() - advanced_real_s

    @property
    def is_slow(self) -> bool:
        """Whether time passes slowly enough to see single packets move, or is paused."""
        return self._pacer.is_slow

    @property
    def has_ended(self) -> bool:
        """Whether the network ends, or is gone."""
        return self._life is not Life.RUNNING

    def is_busy(self, process: Process) -> bool:
        """Return whether a program was busy at the last check."""
        return any(program is process for program in self._busy)

    def end_stalled_process(self) -> None:
        """End the program that keeps time from passing."""
        if self._network is not None:
            self._network.end_stalled_process()

    def _kill(self) -> None:
        network = self._network
        if network is not None:
            with contextlib.suppress(WanlabError):  # it has ended by itself
                network.kill()

    # -- from calls, in the thread ----------------------------------------------------------------

    def follow(self, process: Process) -> None:
        """Let time pass while this program is busy."""
        self._programs.append(process)
        self._pacer.note_work()

    def note_output(self, data: bytes) -> None:
        """Note the output of a program."""
        self._pacer.note_output(data)

    def set_pace(self, network: Network, *, is_paced: bool, speed: float = 1.0) -> None:
        """Let virtual time pass no faster than `speed` times the real clock, or as fast as it can be
        computed."""
        self._set_tempo(network, replace(self._pacer.tempo, is_paced=is_paced, speed=speed))

    def let_run(self, network: Network, *, always: bool) -> None:
        """Let virtual time pass always, or only while a program is busy."""
        self._set_tempo(network, replace(self._pacer.tempo, runs_always=always))

    def _set_tempo(self, network: Network, tempo: Tempo) -> None:
        self._pacer.set_tempo(tempo)
        self._apply_tempo(network)
        self._every(network)
        self._report_clock(network)

    def _apply_tempo(self, network: Network) -> None:
        tempo, has_real_clock = self._pacer.tempo, network.clock == "real"
        network.pace_to_real(
            tempo.is_paced or has_real_clock, speed=1.0 if has_real_clock else tempo.speed
        )

    def pause(self, network: Network, *, is_paused: bool) -> None:
        """Let virtual time stand still, or pass again."""
        if network.clock == "real":
            raise WanlabError("the real clock cannot be paused", "choose the virtual clock")
        if is_paused:
            self._pacer.pause()
        else:
            self._pacer.resume()
        self._every(network)
        self._report_clock(network)

    def hold(self) -> None:
        """Begin paused; called when the network has started."""
        self._pacer.pause()

    def perform_at(self, network: Network, calls: Sequence[TimedCall]) -> None:
        """Carry out calls at their instants, in order. Until the last one, time passes as fast as it
        can be computed, whether programs are busy or not."""
        self._timed = deque(calls)
        self._tempo_after = self._pacer.tempo
        self._pacer.resume()
        self._set_tempo(network, replace(self._pacer.tempo, is_paced=False))

    def perform_later(self, call: TimedCall) -> None:
        """Carry out another call after those of `perform_at`, while one of them is carried out."""
        self._timed.append(call)

    def forget_timed(self) -> bool:
        """Forget the calls of `perform_at`; return whether there were any."""
        had_any = bool(self._timed)
        self._timed.clear()
        return had_any

    def write_now(self, network: Network, process: Process, data: bytes) -> None:
        """Write keys for a program at this instant."""
        process.write(data)
        self._pacer.note_keys(network.now_ns)

    def end_step(self, network: Network) -> None:
        """Return to the chosen pace after a call that let time pass at another one."""
        self._apply_tempo(network)
        self._meter.stop()
        self._every(network)
        self._report_clock(network)

    def step(self, network: Network, duration_ns: int) -> None:
        """Let `duration_ns` of virtual time pass, then pause."""
        if network.clock == "real":
            raise WanlabError("the real clock cannot be stepped", "choose the virtual clock")
        self._pacer.step(network.now_ns, duration_ns)
        self._every(network)

    # -- the thread -------------------------------------------------------------------------------

    def _run(self) -> None:
        cause: BaseException | None = None
        try:
            network = self._make()
            network.on_building = self._while_building
            with network:
                self._begin(network)
                try:
                    while self._life is Life.RUNNING:
                        self._turn(network)
                finally:
                    self._on_leaving(network)
                self._is_closing = True
                network.on_time = None  # stop commands may take as long as they need
        except (MachineError, NetworkStopped) as error:
            # In another state, the machine was killed because it did not end.
            if self._life is Life.RUNNING:
                cause = error
        except BaseException as error:
            cause = error
        finally:
            self._network = None
            with self._lock:
                self._life = Life.ENDED
                waiting, self._calls = self._calls, deque()
            for _, fail in waiting:
                fail(NetworkStopped("the network was stopped"))
            self._on_ended(cause)

    def _begin(self, network: Network) -> None:
        has_real_clock = network.clock == "real"
        self._pacer = Pacer(self._pacer.tempo, has_real_clock=has_real_clock)
        self._network = network
        network.on_time = self._while_time_passes
        self._apply_tempo(network)
        self._on_running(network)

    def _while_building(self, done: int, of: int) -> None:
        if self._life is not Life.RUNNING:
            raise NetworkStopped("the network was stopped")
        self._on_building(done, of)

    def _turn(self, network: Network) -> None:
        """Perform the queued commands, then let a slice of time pass or wait for more."""
        self._wake.clear()
        self._pass_keys_on(network)
        while self._calls and self._life is Life.RUNNING:
            self._carry_out(network, self._calls.popleft()[0])
        self._carry_out_timed(network)
        if self._life is not Life.RUNNING:
            return
        waits = bool(self._timed) and not self._pacer.is_paused
        if self._pacer.may_advance(network.now_ns) or waits:
            self._run_slice(network)
            return
        if self._meter.stop():
            self._every(network)
            self._report_clock(network)
        if not self._wake.wait(IDLE_REAL_S):
            network.read([])  # fails if the machine has died

    def _carry_out(self, network: Network, call: Callable[[Network], None]) -> None:
        self._call_began_real_s = time.monotonic()
        try:
            call(network)
        finally:
            self._call_began_real_s = None

    def _carry_out_timed(self, network: Network) -> None:
        while self._timed and self._timed[0].at_ns <= network.now_ns:
            self._carry_out(network, self._timed.popleft().perform)
        if self._tempo_after is not None and not self._timed:
            tempo, self._tempo_after = self._tempo_after, None
            self._set_tempo(network, tempo)

    def _pass_keys_on(self, network: Network) -> None:
        while self._keys:
            processes, data = self._keys.popleft()
            for process in processes:
                if process.is_running:
                    process.write(data)
            self._pacer.note_keys(network.now_ns)

    def _run_slice(self, network: Network) -> None:
        before_ns = network.now_ns
        limit_ns = self._pacer.begin_slice(before_ns)
        until_break_ns = self.breakpoints.limit_ns(before_ns)
        if until_break_ns is not None:
            limit_ns = min(limit_ns, until_break_ns)
        if self._timed:
            limit_ns = min(limit_ns, self._timed[0].at_ns - before_ns)
        self._begin_to_move(network)
        self._advanced_real_s = time.monotonic()
        try:
            network.run_until_condition(lambda: self._should_cut_slice(network), limit_ns)
        finally:
            self._advanced_real_s = None
        if until_break_ns is not None:
            self._check_breakpoints(network, before_ns)
        if self._pacer.end_slice(network.now_ns, time.monotonic()):
            self._check_programs(network)
        if self._meter.is_report_due(time.monotonic()):
            self._every(network)
            self._report_clock(network)

    def _check_breakpoints(self, network: Network, before_ns: int) -> None:
        """Pause at a breakpoint that was reached."""
        queues = {}
        if self.breakpoints.reads_queues:
            if self._queues is None:
                self._queues = QueueReader(network)
            queues = self._queues.read()
        if why := self.breakpoints.reached(before_ns, network.now_ns, queues):
            self._pacer.pause()
            self._on_break(why)

    def _should_cut_slice(self, network: Network) -> bool:
        self._pass_keys_on(network)
        return (
            bool(self._calls)
            or self._life is not Life.RUNNING
            or self._pacer.should_cut_slice(network.now_ns, time.monotonic())
        )

    def _begin_to_move(self, network: Network) -> None:
        if self._meter.start(network.now_ns, time.monotonic()):
            self._report_clock(network)

    def _while_time_passes(self, now_ns: int, until_ns: int | None) -> None:
        """Serve keys and browsers; the network calls this often, also during a call."""
        real_s = time.monotonic()
        if self._advanced_real_s is not None:
            self._advanced_real_s = real_s
        assert self._network is not None
        if self._call_began_real_s is not None:
            if self._life is not Life.RUNNING:
                raise NetworkStopped("the network was stopped")
            if real_s - self._call_began_real_s > REPORT_REAL_S:
                self._begin_to_move(self._network)
                if self._meter.is_report_due(real_s):
                    self._report_clock(self._network)
        self._pass_keys_on(self._network)

    def _check_programs(self, network: Network) -> None:
        self._programs = [program for program in self._programs if program.is_running]
        flags = network.are_busy(self._programs) if self._programs else []
        self._busy = tuple(
            program for program, is_busy in zip(self._programs, flags, strict=True) if is_busy
        )
        self._pacer.note_check(time.monotonic(), is_any_busy=bool(self._busy))

    def _report_clock(self, network: Network) -> None:
        self._on_clock(self._meter.report(network.now_ns, time.monotonic(), self._pacer))


def _settle(future: Future[Result], call: Callable[[Network], Result], network: Network) -> None:
    """Carry out a call and set its future. Raise again an exception that ends the network."""
    if not future.set_running_or_notify_cancel():  # nobody waits for it any more
        return
    try:
        future.set_result(call(network))
    except MachineError as error:
        future.set_exception(error)
        raise
    except WanlabError as error:
        future.set_exception(error)
    except BaseException as error:
        future.set_exception(WanlabError(f"internal error: {error!r}", INTERNAL_ERROR_HINT))
        raise


def _fail(future: Future[Result], error: BaseException) -> None:
    """Let a call fail that was not carried out."""
    if future.set_running_or_notify_cancel():
        future.set_exception(error)
