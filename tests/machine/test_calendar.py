import pytest
from fake_kernel import FakeKernel, advance, started
from hypothesis import given
from hypothesis import strategies as st

from wanlab.errors import PeerError
from wanlab.machine.embedded.calendar import (
    FIRST_TIME_SLICE_NS,
    MAX_TIME_SLICE_NS,
    MIN_TIME_SLICE_NS,
    TIME_SLICE_REAL_S,
    Calendar,
)
from wanlab.machine.embedded.timetravel import MESSAGE, Op
from wanlab.units import FOREVER_NS

END_NS = 1_000_000_000

instants = st.integers(0, END_NS)
schedules = st.lists(instants, max_size=20).map(sorted)
follow_ups = st.dictionaries(
    st.integers(0, 30), st.tuples(st.integers(0, 300_000_000)), max_size=10
)


@given(schedules, follow_ups, st.lists(instants, max_size=10), st.booleans())
def test_time_never_goes_back_and_never_exceeds_the_grant(
    events: list[int], more: dict[int, tuple[int]], ends: list[int], updates_time: bool
) -> None:
    kernel = FakeKernel(list(events), more, updates_time)
    calendar = started(kernel)
    for end in sorted(ends):
        shown = advance(calendar, kernel, end)
        assert shown == sorted(shown)
        assert calendar.now_ns == end
        assert kernel.now_ns <= end


@given(schedules, instants)
def test_all_events_up_to_and_including_the_end_have_happened(events: list[int], end: int) -> None:
    kernel = FakeKernel(list(events))
    advance(started(kernel), kernel, end)
    assert kernel.seen == [event for event in events if event <= end]


@given(
    schedules,
    follow_ups,
    st.lists(st.integers(MIN_TIME_SLICE_NS, MAX_TIME_SLICE_NS), min_size=1, max_size=5),
    st.lists(instants, max_size=8),
    st.booleans(),
)
def test_the_length_of_time_slices_does_not_change_the_kernels_events(
    events: list[int],
    more: dict[int, tuple[int]],
    time_slices: list[int],
    stops: list[int],
    updates_time: bool,
) -> None:
    undisturbed = FakeKernel(list(events), more, updates_time)
    calendar = started(undisturbed)
    calendar.time_slice_ns = 10 * END_NS
    advance(calendar, undisturbed, END_NS)

    kernel = FakeKernel(list(events), more, updates_time)
    calendar = started(kernel)
    for number, stop in enumerate([*sorted(stops), END_NS]):
        calendar.time_slice_ns = time_slices[number % len(time_slices)]
        advance(calendar, kernel, stop)
    assert kernel.seen == undisturbed.seen
    assert kernel.events == undisturbed.events


@given(schedules, st.lists(instants, min_size=1, max_size=5))
def test_data_is_an_event_of_the_instant_at_which_it_was_sent(
    events: list[int], instants_of_input: list[int]
) -> None:
    kernel = FakeKernel(list(events))
    calendar = started(kernel)
    for instant in sorted(instants_of_input):
        advance(calendar, kernel, instant)
        calendar.expect_event_now()
        booked_before = calendar.is_booked_now
        kernel.converse(kernel.interrupted(), calendar)
        assert (booked_before, calendar.is_booked_now) == (False, True)
        assert calendar.next_event_ns == instant
        advance(calendar, kernel, instant)
        assert (calendar.now_ns, kernel.now_ns) == (instant, instant)
    assert kernel.times_received == sorted(instants_of_input)
    assert kernel.seen == sorted(
        [event for event in events if event <= max(instants_of_input)] + instants_of_input
    )


def test_an_idle_kernel_is_not_woken() -> None:
    kernel = FakeKernel([100])
    calendar = started(kernel)
    assert calendar.grant(99) == b""
    assert calendar.now_ns == 99
    assert calendar.next_event_ns == 100
    assert calendar.is_waiting


def test_a_kernel_without_events_lets_time_pass_at_once() -> None:
    calendar = started(FakeKernel([]))
    assert calendar.next_event_ns == FOREVER_NS
    assert calendar.grant(END_NS) == b""
    assert calendar.now_ns == END_NS


def test_the_grant_holds_for_one_time_slice_and_its_end_is_inclusive() -> None:
    calendar = started(FakeKernel([40]))
    calendar.time_slice_ns = 200_000
    assert calendar.grant(END_NS) == MESSAGE.pack(Op.FREE_UNTIL, 1, 200_041) + MESSAGE.pack(
        Op.RUN, 2, 40
    )


def test_a_kernel_that_ends_its_grant_early_stands_at_the_instant_that_it_reports() -> None:
    """Otherwise the instant of the next input would depend on the length of the slice."""
    calendar = started(FakeKernel([40]))
    calendar.grant(1000)
    calendar.receive(MESSAGE.pack(Op.UPDATE, 9, 100) + MESSAGE.pack(Op.WAIT, 10, 0))
    assert calendar.is_waiting
    assert calendar.now_ns == 100


def test_a_kernel_that_reports_no_instant_has_used_its_grant_up_to_its_next_event() -> None:
    for request, now_ns in ((b"", 1000), (MESSAGE.pack(Op.REQUEST, 9, 600), 600)):
        calendar = started(FakeKernel([40]))
        calendar.grant(1000)
        calendar.receive(request + MESSAGE.pack(Op.WAIT, 10, 0))
        assert calendar.now_ns == now_ns


def test_the_kernel_can_ask_for_the_time_and_its_start_of_day() -> None:
    calendar = Calendar(1_767_225_600_000_000_000)
    calendar.receive(MESSAGE.pack(Op.START, 1, 0))
    sent = calendar.receive(MESSAGE.pack(Op.GET_TOD, 2, 0) + MESSAGE.pack(Op.GET, 3, 0))
    assert sent == MESSAGE.pack(Op.ACK, 2, 1_767_225_600_000_000_000) + MESSAGE.pack(Op.ACK, 3, 0)


def test_a_kernel_that_goes_back_in_time_is_refused() -> None:
    kernel = FakeKernel([500])
    calendar = started(kernel)
    kernel.receive(calendar.grant(1000))
    with pytest.raises(PeerError, match="back in time, from 500 to 400"):
        calendar.receive(MESSAGE.pack(Op.UPDATE, 9, 400))


def test_the_past_cannot_be_granted() -> None:
    calendar = started(FakeKernel([]))
    calendar.grant(100)
    with pytest.raises(PeerError, match="ran to 100 ns, beyond its end at 99 ns"):
        calendar.grant(99)


def test_a_kernel_that_runs_beyond_the_end_of_time_is_refused() -> None:
    calendar = started(FakeKernel([0]))
    calendar.grant(1000)
    with pytest.raises(PeerError, match="beyond the end of time"):
        calendar.receive(MESSAGE.pack(Op.UPDATE, 9, 2**64 - 1))


def test_a_running_kernel_gets_neither_time_nor_data() -> None:
    calendar = started(FakeKernel([0]))
    calendar.grant(1000)
    with pytest.raises(AssertionError, match="did not wait"):
        calendar.grant(1000)
    with pytest.raises(AssertionError, match="nothing may be sent to a running kernel"):
        calendar.expect_event_now()


def test_time_slices_grow_while_time_passes_quickly_and_shrink_while_it_does_not() -> None:
    calendar = Calendar(0)
    calendar.adapt_time_slice(TIME_SLICE_REAL_S / 3, FIRST_TIME_SLICE_NS)
    assert calendar.time_slice_ns == 2 * FIRST_TIME_SLICE_NS
    # Time did not pass to the end of the slice.
    calendar.adapt_time_slice(TIME_SLICE_REAL_S / 3, FIRST_TIME_SLICE_NS)
    assert calendar.time_slice_ns == 2 * FIRST_TIME_SLICE_NS
    calendar.adapt_time_slice(TIME_SLICE_REAL_S * 4, 0)
    assert calendar.time_slice_ns == FIRST_TIME_SLICE_NS // 2


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, MAX_TIME_SLICE_NS)), max_size=60))
def test_a_time_slice_is_never_too_short_or_too_long(steps: list[tuple[float, int]]) -> None:
    calendar = Calendar(0)
    for real_s, passed_ns in steps:
        calendar.adapt_time_slice(real_s, passed_ns)
        assert MIN_TIME_SLICE_NS <= calendar.time_slice_ns <= MAX_TIME_SLICE_NS


def waiting(*messages: tuple[int, int]) -> Calendar:
    """Return the calendar of a kernel that has started, sent these messages, and waits."""
    calendar = Calendar(0)
    for number, (op, time_ns) in enumerate([(Op.START, 0), *messages, (Op.WAIT, 0)], 1):
        calendar.receive(MESSAGE.pack(op, number, time_ns))
    assert calendar.is_waiting
    return calendar


def test_data_is_booked_once_the_kernel_has_asked_for_the_time_and_booked_this_instant() -> None:
    assert not waiting((Op.REQUEST, 0)).is_booked_now
    assert not waiting((Op.GET, 0)).is_booked_now
    assert not waiting((Op.GET, 0), (Op.REQUEST, 1)).is_booked_now
    calendar = waiting((Op.GET, 0), (Op.REQUEST, 0))
    assert calendar.is_booked_now
    calendar.expect_event_now()
    assert not calendar.is_booked_now


@pytest.mark.parametrize(
    ("passed_real_s", "passed_ns", "time_slice_ns"),
    [
        (0.0149, 1_000_000, 2_000_000),
        (0.0149, 999_999, 1_000_000),  # the kernel did not use the whole slice
        (0.015, 1_000_000, 1_000_000),
        (0.03, 1_000_000, 1_000_000),
        (0.06, 1_000_000, 1_000_000),
        (0.075, 1_000_000, 400_000),
        (0.075, 0, 400_000),
        (3.0, 1_000_000, MIN_TIME_SLICE_NS),
    ],
)
def test_a_slice_is_doubled_if_it_was_short_and_shortened_to_30_ms_if_it_was_long(
    passed_real_s: float, passed_ns: int, time_slice_ns: int
) -> None:
    calendar = Calendar(0)
    calendar.time_slice_ns = 1_000_000
    calendar.adapt_time_slice(passed_real_s, passed_ns)
    assert calendar.time_slice_ns == time_slice_ns
