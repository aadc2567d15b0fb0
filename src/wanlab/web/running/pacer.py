"""When time passes in a network that runs in the browser, and how much at once.

The pacer decides and does nothing else: it has no thread, reads no clock and touches no network.
Every method that depends on the time takes it as an argument, `now_ns` of the network's clock and
`real_s` of the computer's monotonic clock. `worker.NetworkWorker` acts on its answers.

Virtual time passes while a program is busy: one that was started and is not just a shell waiting
for a line. Otherwise, and while paused, it stands still. If it is to pass always, ALL_QUIET does not
occur.

    event        IDLE       BUSY       PAUSED     STEPPING
    -----------  ---------  ---------  ---------  ---------
    WORK         BUSY       BUSY       .          .          a key, a new program, another pace
    ALL_QUIET    .          IDLE       .          .          a check found no busy program
    PAUSE        PAUSED     PAUSED     .          PAUSED
    RESUME       BUSY       .          BUSY       BUSY
    STEP         STEPPING   STEPPING   STEPPING   .          let some time pass, then pause
    STEP_DONE                                     PAUSED

A dot means that nothing changes, an empty cell that the event cannot occur. A network on the real
clock has one state only, REAL: its time always passes.

Time passes in slices. After each slice the pacer says whether to check which programs are busy. A
check costs a few milliseconds, and time that passes while a shell waits for a line is lost, so
slices start short whenever work begins and double with every check.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

MS_NS = 1_000_000
MIN_SLICE_NS = 1 * MS_NS
EARLY_SLICE_NS = 8 * MS_NS
MAX_PACED_SLICE_NS = 50 * MS_NS
MAX_FAST_SLICE_NS = 1000 * MS_NS

CHECK_REAL_S = 0.15
CHECK_EARLY_REAL_S = 0.02
CHECK_ON_REAL_CLOCK_REAL_S = 0.5
REPORT_REAL_S = 0.1
MIN_SPEED_REAL_S = 0.05
MAX_SPEED_REAL_S = 1.0
MAX_SLOW_SPEED = 0.1


class PaceState(enum.Enum):
    """Whether time passes, and why."""

    IDLE = enum.auto()
    BUSY = enum.auto()
    PAUSED = enum.auto()
    STEPPING = enum.auto()
    REAL = enum.auto()


class PaceEvent(enum.Enum):
    """What may change the state."""

    WORK = enum.auto()
    ALL_QUIET = enum.auto()
    PAUSE = enum.auto()
    RESUME = enum.auto()
    STEP = enum.auto()
    STEP_DONE = enum.auto()


_IDLE, _BUSY = PaceState.IDLE, PaceState.BUSY
_PAUSED, _STEPPING, _REAL = PaceState.PAUSED, PaceState.STEPPING, PaceState.REAL

TRANSITIONS: dict[PaceEvent, dict[PaceState, PaceState]] = {
    PaceEvent.WORK: {
        _IDLE: _BUSY,
        _BUSY: _BUSY,
        _PAUSED: _PAUSED,
        _STEPPING: _STEPPING,
        _REAL: _REAL,
    },
    PaceEvent.ALL_QUIET: {
        _IDLE: _IDLE,
        _BUSY: _IDLE,
        _PAUSED: _PAUSED,
        _STEPPING: _STEPPING,
        _REAL: _REAL,
    },
    PaceEvent.PAUSE: {_IDLE: _PAUSED, _BUSY: _PAUSED, _PAUSED: _PAUSED, _STEPPING: _PAUSED},
    PaceEvent.RESUME: {_IDLE: _BUSY, _BUSY: _BUSY, _PAUSED: _BUSY, _STEPPING: _BUSY},
    PaceEvent.STEP: {
        _IDLE: _STEPPING,
        _BUSY: _STEPPING,
        _PAUSED: _STEPPING,
        _STEPPING: _STEPPING,
    },
    PaceEvent.STEP_DONE: {_STEPPING: _PAUSED},
}


@dataclass(frozen=True)
class Tempo:
    """How fast virtual time passes, and when.

    is_paced      no faster than `speed` times the real clock; otherwise as fast as it can be computed
    speed         network seconds per real second; less than 1 is slow motion
    runs_always   also while no program is busy
    """

    is_paced: bool = True
    speed: float = 1.0
    runs_always: bool = False


@dataclass(frozen=True)
class Clock:
    """The network's clock as browsers show it. `speed` is in network seconds per real second."""

    now_ns: int = 0
    speed: float = 0.0
    is_moving: bool = False
    is_paused: bool = False
    tempo: Tempo = Tempo()


class Pacer:
    """Decides when time passes, and how long a slice of it is.

    A network starts out busy, so that the first slice finds out whether it is.
    """

    def __init__(self, tempo: Tempo, *, has_real_clock: bool = False) -> None:
        self.state = _REAL if has_real_clock else _BUSY
        self.tempo = tempo
        self._slice_ns = MIN_SLICE_NS
        self._step_end_ns = 0
        self._keys_ns = -MIN_SLICE_NS
        self._checked_real_s = 0.0
        self._has_partial_line = False

    @property
    def is_paused(self) -> bool:
        """Whether time stands still until it is resumed, apart from steps."""
        return self.state in (_PAUSED, _STEPPING)

    @property
    def is_slow(self) -> bool:
        """Whether time passes slowly enough, if it does, to see single packets move."""
        is_slow_motion = self.tempo.is_paced and self.tempo.speed <= MAX_SLOW_SPEED
        return self.state is not _REAL and (self.is_paused or is_slow_motion)

    # -- events -----------------------------------------------------------------------------------

    def note_work(self) -> None:
        """Note that a program may have become busy: start again with short slices."""
        self._change(PaceEvent.WORK)
        self._slice_ns = MIN_SLICE_NS

    def note_keys(self, now_ns: int) -> None:
        """Note that a program has been sent keys."""
        self._keys_ns = now_ns
        self.note_work()

    def note_output(self, data: bytes) -> None:
        """Note the output of a program. A line without an end may be a prompt."""
        if not data.endswith(b"\n"):
            self._has_partial_line = True

    def set_tempo(self, tempo: Tempo) -> None:
        """Change how fast virtual time passes, and when."""
        self.tempo = tempo
        self.note_work()

    def pause(self) -> None:
        """Let time stand still."""
        self._change(PaceEvent.PAUSE)

    def resume(self) -> None:
        """Let time pass again as long as a program is busy."""
        self._change(PaceEvent.RESUME)
        self._slice_ns = MIN_SLICE_NS

    def step(self, now_ns: int, duration_ns: int) -> None:
        """Let time pass for `duration_ns`, busy or not, and then pause."""
        self._change(PaceEvent.STEP)
        self._step_end_ns = now_ns + duration_ns
        self._slice_ns = MIN_SLICE_NS

    def _change(self, event: PaceEvent) -> None:
        self.state = TRANSITIONS[event][self.state]

    # -- slices -----------------------------------------------------------------------------------

    def may_advance(self, now_ns: int) -> bool:
        """Return whether time may pass now. A step that has reached its end is over."""
        if self.state is _STEPPING and now_ns >= self._step_end_ns:
            self._change(PaceEvent.STEP_DONE)
        return self.state in (_BUSY, _STEPPING, _REAL)

    def begin_slice(self, now_ns: int) -> int:
        """Begin a slice and return how long it may be, in nanoseconds."""
        self._has_partial_line = False
        slice_ns = min(self._slice_ns, self._max_watched_ns())
        if self.state is _STEPPING:
            return min(slice_ns, self._step_end_ns - now_ns)
        return slice_ns

    def _max_watched_ns(self) -> int:
        """Return how long a slice may be for browsers to see packets move, in very slow motion."""
        if not self.tempo.is_paced or self.state is _REAL:
            return MAX_FAST_SLICE_NS
        return max(1, round(REPORT_REAL_S * self.tempo.speed * 1e9))

    def should_cut_slice(self, now_ns: int, real_s: float) -> bool:
        """Return whether the slice should end early, because a prompt may have been printed."""
        return (
            self._has_partial_line
            and self._has_read_keys(now_ns)
            and real_s - self._checked_real_s > CHECK_EARLY_REAL_S
        )

    def end_slice(self, now_ns: int, real_s: float) -> bool:
        """End a slice and return whether to check which programs are busy."""
        since_check_s = real_s - self._checked_real_s
        if self.state is _REAL:  # time passes anyway; the check is only for the display in browsers
            self._slice_ns = MAX_PACED_SLICE_NS
            return since_check_s > CHECK_ON_REAL_CLOCK_REAL_S
        if not self._has_read_keys(now_ns):
            return False
        if self._slice_ns == MIN_SLICE_NS:
            return True
        is_early = self._has_partial_line or self._slice_ns <= EARLY_SLICE_NS
        return since_check_s >= (CHECK_EARLY_REAL_S if is_early else CHECK_REAL_S)

    def note_check(self, real_s: float, *, is_any_busy: bool) -> None:
        """Note the result of a check. Slices become longer the longer programs are busy."""
        self._checked_real_s = real_s
        if not is_any_busy and not self.tempo.runs_always:
            self._change(PaceEvent.ALL_QUIET)
        if self.state is not _REAL:
            self._slice_ns = min(2 * self._slice_ns, self._max_slice_ns())

    def _max_slice_ns(self) -> int:
        """Return how long a slice may be; on the real clock it takes no longer in slow motion."""
        if not self.tempo.is_paced:
            return MAX_FAST_SLICE_NS
        max_ns = round(MAX_PACED_SLICE_NS * self.tempo.speed)
        return min(max(max_ns, MIN_SLICE_NS), MAX_FAST_SLICE_NS)

    def _has_read_keys(self, now_ns: int) -> bool:
        """Return whether programs have had time to read their keys.

        Virtual time passes only when no program has anything to do, so keys have been read once
        some has passed. Before that, a shell still seems to wait for a line.
        """
        return now_ns - self._keys_ns >= MIN_SLICE_NS


class ClockMeter:
    """Measures how fast the network's clock runs, and decides how often browsers are informed."""

    def __init__(self, now_ns: int, real_s: float) -> None:
        self.is_moving = False
        self._since = (real_s, now_ns)
        self._speed = 0.0
        self._reported_real_s = 0.0

    def start(self, now_ns: int, real_s: float) -> bool:
        """Note that time passes; return whether that is news."""
        if self.is_moving:
            return False
        self.is_moving = True
        self._since = (real_s, now_ns)
        return True

    def stop(self) -> bool:
        """Note that time stands still; return whether that is news."""
        was_moving, self.is_moving = self.is_moving, False
        return was_moving

    def is_report_due(self, real_s: float) -> bool:
        """Return whether the last report is old enough for another."""
        return real_s - self._reported_real_s >= REPORT_REAL_S

    def report(self, now_ns: int, real_s: float, pacer: Pacer) -> Clock:
        """Return the clock as browsers are to show it, with its speed over the last second."""
        self._reported_real_s = real_s
        since_real_s, since_ns = self._since
        passed_s = real_s - since_real_s
        if passed_s > MIN_SPEED_REAL_S:
            self._speed = (now_ns - since_ns) / 1e9 / passed_s
        if passed_s > MAX_SPEED_REAL_S:
            self._since = (real_s, now_ns)
        speed = self._speed if self.is_moving else 0.0
        return Clock(now_ns, speed, self.is_moving, pacer.is_paused, pacer.tempo)
