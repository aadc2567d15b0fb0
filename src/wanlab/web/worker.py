"""The one thread that owns a running network, and decides when time passes in it.

    browsers --> loop of the server --> orders --> this thread --> network
                                    <--  told  <--

A network is not to be called by two at once, and letting time pass takes as long as it takes. So all
that is to be done with it is an order in a queue, done between two strides of time; a stride ends when
an order comes. Keys for a program need no standstill, so they are passed on also while an order itself
lets time pass (a check of a lesson does).

On virtual time, time passes while some program is at work: one that has been started and is not just a
shell which waits for a line. Otherwise, and when paused, it stands still.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from wanlab import Network, Process
from wanlab.errors import MachineError, WanlabError

Result = TypeVar("Result")
Order = Callable[[Network], Any]

STRIDE_LEAST_NS = 1_000_000
STRIDE_EARLY_NS = 8_000_000
STRIDE_PACED_NS = 50_000_000
STRIDE_FAST_NS = 1_000_000_000
LOOK_REAL_S = 0.15
LOOK_AT_PROMPT_REAL_S = 0.02
LOOK_ON_REAL_CLOCK_REAL_S = 0.5
TELL_REAL_S = 0.1
SPEED_REAL_S = 1.0
STUCK_REAL_S = 2.0
IDLE_REAL_S = 1.0


@dataclass(frozen=True)
class Clock:
    """What time does."""

    now_ns: int = 0
    speed: float = 0.0
    is_moving: bool = False
    is_paused: bool = False
    is_paced: bool = True


class NetworkStopped(WanlabError):  # noqa: N818  (an order that was not done is no mistake)
    """The network was stopped before, or while, an order was done."""


class NetworkWorker:
    """`make` gives a network that is not yet started. What is told is told from the thread:

    on_running   it is there; on_ended: it is gone, with the error that it died of
    on_clock     what time does, several times a second while it passes, and when it stops
    every        called between strides, at most ten times a second, and when time has come to stand
    """

    def __init__(
        self,
        make: Callable[[], Network],
        *,
        on_running: Callable[[Network], None],
        on_ended: Callable[[BaseException | None], None],
        on_clock: Callable[[Clock], None],
        every: Callable[[Network], None],
        is_paced: bool = True,
    ) -> None:
        self._make = make
        self._on_running = on_running
        self._on_ended = on_ended
        self._on_clock = on_clock
        self._every = every
        self._is_paced = is_paced
        self._orders: deque[tuple[Order, Future[Any]]] = deque()
        self._keys: deque[tuple[Process, bytes]] = deque()
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._is_ending = False
        self._has_ended = False
        self._network: Network | None = None
        self._programs: list[Process] = []
        """Whose work lets time pass."""
        self._is_at_work = True
        self._working: tuple[Process, ...] = ()
        """Those of them that were at work when they were looked at last."""
        self._may_be_prompt = False
        self._keys_ns = -STRIDE_LEAST_NS
        """When keys were passed on last."""
        self._is_fresh = True
        self._does_order = False
        self._ordered_real_s = 0.0
        self._stride_ns = STRIDE_LEAST_NS
        self._is_paused = False
        self._until_ns: int | None = None
        self._looked_real_s = self._told_real_s = 0.0
        self._moved_real_s = time.monotonic()
        self._is_striding = False
        self._speed_from = (time.monotonic(), 0)
        self._speed = 0.0
        self._was_moving = False
        self._thread = threading.Thread(target=self._run, name="network", daemon=True)

    # -- from any thread --------------------------------------------------------------------------

    def start(self) -> None:
        self._thread.start()

    def do(self, order: Callable[[Network], Result]) -> Future[Result]:
        """Has something done with the network; it may let time pass."""
        future: Future[Result] = Future()
        with self._lock:
            if self._has_ended or self._is_ending:
                future.set_exception(NetworkStopped("the network is not running"))
                return future
            self._orders.append((order, future))
        self._wake.set()
        return future

    def write(self, process: Process, data: bytes) -> None:
        """Keys for a program."""
        self._keys.append((process, data))
        self._wake.set()

    def attend(self, process: Process) -> None:
        """From now on time passes while this program is at work. Called in the thread."""
        self._programs.append(process)
        self._begin_work()

    def said_something(self, data: bytes) -> None:
        """One of them has. What does not end a line may be a prompt. Called in the thread."""
        if not data.endswith(b"\n"):
            self._may_be_prompt = True

    def end(self) -> None:
        """The sooner the better; `join` waits for it."""
        with self._lock:
            self._is_ending = True
        self._wake.set()
        if self.stuck_real_s > STUCK_REAL_S:
            self.end_stalled_process()

    def join(self, real_s: float | None = None) -> bool:
        """Whether it has ended."""
        self._thread.join(real_s)
        return not self._thread.is_alive()

    @property
    def stuck_real_s(self) -> float:
        """How long a stride has lasted without time passing: a program computes without a pause."""
        return time.monotonic() - self._moved_real_s if self._is_striding else 0.0

    def is_at_work(self, process: Process) -> bool:
        """Whether this program was, when it was looked at last."""
        return any(it is process for it in self._working)

    def end_stalled_process(self) -> None:
        if self._network is not None:
            self._network.end_stalled_process()

    # -- orders of time, given in the thread ------------------------------------------------------

    def set_pace(self, network: Network, *, is_paced: bool) -> None:
        self._is_paced = is_paced
        network.pace_to_real(is_paced or network.clock == "real")
        self._begin_work()
        self._tell_clock(network, always=True)

    def pause(self, network: Network, *, is_paused: bool) -> None:
        if network.clock == "real":
            raise WanlabError("the real clock cannot be paused", "choose the virtual one")
        self._is_paused = is_paused
        self._until_ns = None
        self._begin_work()
        self._tell_clock(network, always=True)

    def step(self, network: Network, duration_ns: int) -> None:
        if network.clock == "real":
            raise WanlabError("the real clock makes no steps", "choose the virtual one")
        self._is_paused = True
        self._until_ns = network.now_ns + duration_ns
        self._begin_work()

    # -- the thread -------------------------------------------------------------------------------

    def _run(self) -> None:
        died: BaseException | None = None
        try:
            network = self._make()
            with network:
                self._network = network
                network.on_time = self._while_time_passes
                network.pace_to_real(self._is_paced or network.clock == "real")
                self._on_running(network)
                while not self._is_ending:
                    self._turn(network)
                network.on_time = None  # its stop commands take the time that they need
        except BaseException as error:
            died = error
        finally:
            self._network = None
            with self._lock:
                self._has_ended = True
                left, self._orders = list(self._orders), deque()
            for _, future in left:
                future.set_exception(NetworkStopped("the network was stopped"))
            self._on_ended(died)

    def _turn(self, network: Network) -> None:
        self._wake.clear()
        self._pass_keys_on()
        while self._orders and not self._is_ending:
            self._perform(network, *self._orders.popleft())
        if self._is_ending:
            return
        if self._may_move(network):
            self._stride(network)
            return
        if self._was_moving:
            self._was_moving = False
            self._every(network)
            self._tell_clock(network, always=True)
        if not self._wake.wait(IDLE_REAL_S):
            network.read([])  # whether the machine is still there

    def _perform(self, network: Network, order: Order, future: Future[Any]) -> None:
        self._does_order = True
        self._ordered_real_s = time.monotonic()
        try:
            future.set_result(order(network))
        except MachineError as error:
            future.set_exception(error)
            raise
        except WanlabError as error:
            future.set_exception(error)
        except BaseException as error:
            future.set_exception(WanlabError(f"this went wrong: {error!r}"))
            raise
        finally:
            self._does_order = False

    def _pass_keys_on(self) -> None:
        while self._keys:
            process, data = self._keys.popleft()
            if process.is_running:
                process.write(data)
            if self._network is not None:
                self._keys_ns = self._network.now_ns
            self._begin_work()

    def _begin_work(self) -> None:
        self._is_at_work = True
        self._is_fresh = True
        self._stride_ns = STRIDE_LEAST_NS

    def _may_move(self, network: Network) -> bool:
        if network.clock == "real":
            return True
        if self._until_ns is not None:
            if network.now_ns < self._until_ns:
                return True
            self._until_ns = None
        return not self._is_paused and self._is_at_work

    def _stride(self, network: Network) -> None:
        limit_ns = self._stride_ns
        if self._until_ns is not None:
            limit_ns = min(limit_ns, self._until_ns - network.now_ns)
        self._may_be_prompt = False
        self._begin_to_move(network)
        self._moved_real_s = time.monotonic()
        self._is_striding = True
        try:
            network.run_until_condition(self._is_wanted, limit_ns)
        finally:
            self._is_striding = False
        self._look_who_works(network)
        self._tell_clock(network)

    def _begin_to_move(self, network: Network) -> None:
        if not self._was_moving:
            self._was_moving = True
            self._speed_from = (time.monotonic(), network.now_ns)
            self._tell_clock(network, always=True)

    def _is_wanted(self) -> bool:
        if self._keys:
            self._pass_keys_on()
        return (
            bool(self._orders)
            or self._is_ending
            or (
                self._may_be_prompt
                and self._has_read_keys()
                and time.monotonic() - self._looked_real_s > LOOK_AT_PROMPT_REAL_S
            )
        )

    def _has_read_keys(self) -> bool:
        """Time passes when nobody has anything to do, so after a while of it keys have been read. Before
        that a shell seems to wait for what it has already."""
        assert self._network is not None
        return self._network.now_ns - self._keys_ns >= STRIDE_LEAST_NS

    def _while_time_passes(self, now_ns: int, until_ns: int | None) -> None:
        """Asked again and again, also while an order lets time pass."""
        self._moved_real_s = time.monotonic()
        if self._does_order and self._is_ending:
            raise NetworkStopped("the network was stopped")
        if self._does_order and self._moved_real_s - self._ordered_real_s > TELL_REAL_S:
            assert self._network is not None
            self._begin_to_move(self._network)
            self._tell_clock(self._network)
        if self._keys:
            self._pass_keys_on()

    def _look_who_works(self, network: Network) -> None:
        """Not more often than it is worth: a look costs some ms. Strides grow from look to look, so that
        time does not run away from somebody who types."""
        if network.clock == "real":
            # Time passes anyhow; browsers show who is at work.
            self._stride_ns = STRIDE_PACED_NS
            if time.monotonic() - self._looked_real_s > LOOK_ON_REAL_CLOCK_REAL_S:
                self._look(network)
            return
        if not self._has_read_keys():
            return
        is_early = self._may_be_prompt or self._stride_ns <= STRIDE_EARLY_NS
        patience_s = 0.0 if self._is_fresh else LOOK_AT_PROMPT_REAL_S if is_early else LOOK_REAL_S
        if time.monotonic() - self._looked_real_s < patience_s:
            return
        self._is_fresh = False
        most_ns = STRIDE_PACED_NS if self._is_paced else STRIDE_FAST_NS
        self._stride_ns = min(2 * self._stride_ns, most_ns)
        self._look(network)

    def _look(self, network: Network) -> None:
        self._programs = [program for program in self._programs if program.is_running]
        works = network.at_work(self._programs) if self._programs else []
        self._working = tuple(it for it, does in zip(self._programs, works, strict=True) if does)
        self._is_at_work = bool(self._working)
        self._looked_real_s = time.monotonic()

    def _tell_clock(self, network: Network, *, always: bool = False) -> None:
        now = time.monotonic()
        if not always and now - self._told_real_s < TELL_REAL_S:
            return
        if not always and not self._does_order:
            self._every(network)
        self._told_real_s = now
        from_s, from_ns = self._speed_from
        if now - from_s > 0.05:
            self._speed = (network.now_ns - from_ns) / 1e9 / (now - from_s)
        if now - from_s > SPEED_REAL_S:
            self._speed_from = (now, network.now_ns)
        is_moving = self._was_moving
        self._on_clock(
            Clock(
                network.now_ns,
                self._speed if is_moving else 0.0,
                is_moving,
                self._is_paused,
                self._is_paced,
            )
        )
