"""Test when time passes in the browser's network: the table of states, and the slices.

The tests need no kernel, thread or clock: they pass the time as an argument.
"""

from __future__ import annotations

import pytest

from wanlab.web.running.pacer import (
    CHECK_EARLY_REAL_S,
    CHECK_ON_REAL_CLOCK_REAL_S,
    CHECK_REAL_S,
    MAX_FAST_SLICE_NS,
    MAX_PACED_SLICE_NS,
    MIN_SLICE_NS,
    TRANSITIONS,
    ClockMeter,
    PaceEvent,
    Pacer,
    PaceState,
    Tempo,
)

MS_NS = 1_000_000
VIRTUAL = [state for state in PaceState if state is not PaceState.REAL]


def idle_pacer() -> Pacer:
    pacer = Pacer(Tempo(is_paced=True))
    pacer.note_check(0.0, is_any_busy=False)
    return pacer


def pacer_after_checks(count: int, *, is_paced: bool = True) -> Pacer:
    """Return a pacer that was busy in every check so far, the last one at 0 s."""
    pacer = Pacer(Tempo(is_paced=is_paced))
    for _ in range(count):
        pacer.note_check(0.0, is_any_busy=True)
    return pacer


# -- states -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("event", PaceEvent)
def test_every_event_has_a_row(event: PaceEvent) -> None:
    expected = {PaceState.STEPPING} if event is PaceEvent.STEP_DONE else set(VIRTUAL)
    assert set(TRANSITIONS[event]) - {PaceState.REAL} == expected


def test_a_pause_ends_only_with_resume_or_a_step() -> None:
    ends = {event for event, row in TRANSITIONS.items() if row.get(PaceState.PAUSED)}
    leaves = {event for event in ends if TRANSITIONS[event][PaceState.PAUSED] != PaceState.PAUSED}
    assert leaves == {PaceEvent.RESUME, PaceEvent.STEP}


@pytest.mark.parametrize("event", [PaceEvent.WORK, PaceEvent.ALL_QUIET])
def test_programs_change_nothing_while_paused_stepping_or_on_the_real_clock(
    event: PaceEvent,
) -> None:
    for state in (PaceState.PAUSED, PaceState.STEPPING, PaceState.REAL):
        assert TRANSITIONS[event][state] is state


def test_time_passes_at_first_so_that_the_first_check_is_made() -> None:
    pacer = Pacer(Tempo(is_paced=True))
    assert pacer.may_advance(0)
    assert pacer.end_slice(MIN_SLICE_NS, 0.0)


def test_time_stands_still_once_no_program_is_busy() -> None:
    pacer = idle_pacer()
    assert pacer.state is PaceState.IDLE
    assert not pacer.may_advance(0)


def test_a_key_lets_time_pass() -> None:
    pacer = idle_pacer()
    pacer.note_keys(0)
    assert pacer.may_advance(0)


def test_time_stands_still_while_paused_even_if_a_program_is_busy() -> None:
    pacer = pacer_after_checks(1)
    pacer.pause()
    pacer.note_keys(0)
    assert pacer.is_paused
    assert not pacer.may_advance(0)


def test_a_step_lets_exactly_its_duration_pass_and_then_pauses() -> None:
    pacer = idle_pacer()
    pacer.step(5 * MS_NS, 3 * MS_NS)
    assert pacer.is_paused
    assert pacer.may_advance(5 * MS_NS)
    assert pacer.begin_slice(7 * MS_NS + 1) == MS_NS - 1
    assert not pacer.may_advance(8 * MS_NS)
    assert pacer.state is PaceState.PAUSED


def test_a_step_continues_while_no_program_is_busy() -> None:
    pacer = idle_pacer()
    pacer.step(0, 10 * MS_NS)
    pacer.note_check(0.0, is_any_busy=False)
    assert pacer.may_advance(9 * MS_NS)


def test_resuming_lets_time_pass_until_the_next_check() -> None:
    pacer = idle_pacer()
    pacer.pause()
    pacer.resume()
    assert pacer.may_advance(0)
    assert not pacer.is_paused


def test_a_pause_in_the_middle_of_a_step_ends_it() -> None:
    pacer = idle_pacer()
    pacer.step(0, 10 * MS_NS)
    pacer.pause()
    assert not pacer.may_advance(1 * MS_NS)


def test_on_the_real_clock_time_always_passes() -> None:
    pacer = Pacer(Tempo(is_paced=True), has_real_clock=True)
    pacer.note_check(0.0, is_any_busy=False)
    assert pacer.may_advance(0)


# -- slices -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("is_paced", "longest_ns"), [(True, MAX_PACED_SLICE_NS), (False, MAX_FAST_SLICE_NS)]
)
def test_slices_double_with_every_check_up_to_a_limit(is_paced: bool, longest_ns: int) -> None:
    lengths = [pacer_after_checks(n, is_paced=is_paced).begin_slice(0) for n in range(12)]
    assert lengths[:5] == [MIN_SLICE_NS << n for n in range(5)]
    assert lengths[-1] == longest_ns


def test_slices_are_short_again_after_a_key() -> None:
    pacer = pacer_after_checks(6)
    pacer.note_keys(0)
    assert pacer.begin_slice(0) == MIN_SLICE_NS


def test_nothing_is_checked_before_keys_have_been_read() -> None:
    pacer = Pacer(Tempo(is_paced=True))
    pacer.note_keys(10 * MS_NS)
    assert not pacer.end_slice(10 * MS_NS + MIN_SLICE_NS - 1, 1.0)
    assert pacer.end_slice(10 * MS_NS + MIN_SLICE_NS, 1.0)


def test_checks_are_frequent_early_and_rare_later() -> None:
    early, late = pacer_after_checks(1), pacer_after_checks(4)
    assert [early.end_slice(MS_NS, CHECK_EARLY_REAL_S * f) for f in (0.9, 1)] == [False, True]
    assert [late.end_slice(MS_NS, CHECK_REAL_S * f) for f in (0.9, 1)] == [False, True]


def test_a_line_without_an_end_is_checked_early_since_it_may_be_a_prompt() -> None:
    pacer = pacer_after_checks(4)
    pacer.begin_slice(0)
    pacer.note_output(b"done\r\n")
    assert not pacer.should_cut_slice(MS_NS, CHECK_REAL_S)
    pacer.note_output(b"h1:~$ ")
    assert pacer.should_cut_slice(MS_NS, CHECK_REAL_S)
    assert pacer.end_slice(MS_NS, CHECK_EARLY_REAL_S)


def test_a_prompt_is_forgotten_when_the_next_slice_begins() -> None:
    pacer = pacer_after_checks(4)
    pacer.note_output(b"h1:~$ ")
    pacer.begin_slice(0)
    assert not pacer.should_cut_slice(MS_NS, 1.0)


def test_on_the_real_clock_checks_are_rare_and_slices_constant() -> None:
    pacer = Pacer(Tempo(is_paced=True), has_real_clock=True)
    pacer.note_check(0.0, is_any_busy=True)
    assert not pacer.end_slice(MS_NS, CHECK_ON_REAL_CLOCK_REAL_S)
    assert pacer.end_slice(MS_NS, CHECK_ON_REAL_CLOCK_REAL_S + 0.01)
    pacer.note_check(1.0, is_any_busy=True)
    assert pacer.begin_slice(0) == MAX_PACED_SLICE_NS


# -- reports of the clock to browsers ---------------------------------------------------------------


def test_the_speed_is_network_time_divided_by_real_time() -> None:
    meter, pacer = ClockMeter(0, 0.0), Pacer(Tempo(is_paced=False))
    meter.start(0, 10.0)
    assert meter.report(2_000_000_000, 10.5, pacer).speed == pytest.approx(4)


def test_the_speed_is_that_of_the_last_second() -> None:
    meter, pacer = ClockMeter(0, 0.0), Pacer(Tempo(is_paced=False))
    meter.start(0, 0.0)
    meter.report(8_000_000_000, 2.0, pacer)
    assert meter.report(9_000_000_000, 3.0, pacer).speed == pytest.approx(1)


def test_a_clock_that_stands_still_has_no_speed() -> None:
    meter, pacer = ClockMeter(0, 0.0), Pacer(Tempo(is_paced=True))
    meter.start(0, 0.0)
    meter.report(1_000_000_000, 1.0, pacer)
    assert meter.stop()
    assert not meter.stop()
    clock = meter.report(1_000_000_000, 1.5, pacer)
    assert (clock.is_moving, clock.speed) == (False, 0.0)


def test_reports_are_a_tenth_of_a_second_apart() -> None:
    meter, pacer = ClockMeter(0, 0.0), Pacer(Tempo(is_paced=True))
    meter.report(0, 5.0, pacer)
    assert not meter.is_report_due(5.05)
    assert meter.is_report_due(5.11)


def test_time_set_to_always_pass_does_not_stop_without_activity() -> None:
    pacer = Pacer(Tempo(runs_always=True))
    pacer.note_check(1.0, is_any_busy=False)
    assert pacer.may_advance(0)
    pacer.set_tempo(Tempo())
    pacer.note_check(2.0, is_any_busy=False)
    assert not pacer.may_advance(0)


def test_slices_of_slow_motion_take_no_longer_on_the_real_clock() -> None:
    pacer = Pacer(Tempo(speed=0.1))
    for number in range(12):
        pacer.note_check(float(number), is_any_busy=True)
    assert pacer.begin_slice(0) == MAX_PACED_SLICE_NS // 10


@pytest.mark.parametrize(("speed", "is_slow"), [(0.01, True), (0.1, True), (0.11, False)])
def test_packets_are_shown_up_to_a_tenth_of_the_real_speed(speed: float, is_slow: bool) -> None:
    assert Pacer(Tempo(speed=speed)).is_slow is is_slow
    assert Pacer(Tempo(speed=speed), has_real_clock=True).is_slow is False
    assert Pacer(Tempo(is_paced=False, speed=speed)).is_slow is False


def test_packets_are_shown_while_time_is_paused() -> None:
    pacer = Pacer(Tempo())
    pacer.pause()
    assert pacer.is_slow
