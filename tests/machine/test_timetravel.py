import pytest

from wanlab.errors import PeerError
from wanlab.machine.embedded.timetravel import MESSAGE, KernelMessage, KernelState, Op, TimeTravel


def say(op: int, sequence: int = 1, time_ns: int = 0) -> bytes:
    return MESSAGE.pack(op, sequence, time_ns)


CONVERSATION = b"".join(
    [
        say(Op.START, 1),
        say(Op.GET_TOD, 2),
        say(Op.GET, 3),
        say(Op.REQUEST, 4, 4_000_000),
        say(Op.UPDATE, 5, 10),
        say(Op.WAIT, 6, 2**64 - 1),
        say(Op.GET, 7),
        say(Op.REQUEST, 8, 2_000),
    ]
)


def in_state(state: KernelState) -> TimeTravel:
    """Return a connection whose kernel is in a state."""
    protocol = TimeTravel()
    ways = {
        KernelState.CONNECTED: b"",
        KernelState.RUNNING: say(Op.START),
        KernelState.WAITING: say(Op.START) + say(Op.WAIT, 2),
    }
    protocol.receive(ways[state])
    assert protocol.state is state
    return protocol


@pytest.mark.parametrize("size", [1, 3, 7, 16, 48, 1000])
def test_pieces_of_any_size_give_the_same_messages(size: int) -> None:
    protocol = TimeTravel()
    messages = []
    for start in range(0, len(CONVERSATION), size):
        messages += protocol.receive(CONVERSATION[start : start + size])
    assert messages == TimeTravel().receive(CONVERSATION)
    assert [it.op.name for it in messages] == (
        ["START", "GET_TOD", "GET", "REQUEST", "UPDATE", "WAIT", "GET", "REQUEST"]
    )
    assert messages[3] == KernelMessage(Op.REQUEST, 4, 4_000_000)
    assert protocol.state is KernelState.WAITING


FORBIDDEN = [
    *[(KernelState.CONNECTED, op) for op in Op if op not in (Op.START, Op.ACK)],
    *[(KernelState.RUNNING, op) for op in (Op.START, Op.RUN, Op.FREE_UNTIL, Op.BROADCAST)],
    *[(KernelState.WAITING, op) for op in (Op.START, Op.WAIT, Op.UPDATE, Op.GET_TOD, Op.RUN)],
    *[(KernelState.WAITING, op) for op in (Op.FREE_UNTIL, Op.BROADCAST)],
]


@pytest.mark.parametrize(("state", "op"), FORBIDDEN)
def test_a_message_that_is_not_allowed_now_is_named_with_the_state(
    state: KernelState, op: Op
) -> None:
    with pytest.raises(PeerError) as caught:
        in_state(state).receive(say(op))
    assert caught.value.what == f"the kernel sent {op.name} while {state.value}"


def test_an_unknown_message_is_named_by_its_number() -> None:
    with pytest.raises(PeerError, match="unknown time-travel message: 77"):
        in_state(KernelState.RUNNING).receive(say(77))


@pytest.mark.parametrize("state", KernelState)
def test_an_acknowledgement_without_a_message_is_refused(state: KernelState) -> None:
    with pytest.raises(PeerError, match="acknowledged message 5, which awaits no answer"):
        in_state(state).receive(say(Op.ACK, 5))


def test_a_message_is_acknowledged_once() -> None:
    protocol = in_state(KernelState.WAITING)
    protocol.run(0, 10)
    assert protocol.receive(say(Op.ACK, 1) + say(Op.ACK, 2)) == []
    with pytest.raises(PeerError, match="acknowledged message 2"):
        protocol.receive(say(Op.ACK, 2))


def test_free_until_comes_before_run() -> None:
    protocol = in_state(KernelState.WAITING)
    assert protocol.run(100, 250) == say(Op.FREE_UNTIL, 1, 250) + say(Op.RUN, 2, 100)
    assert protocol.state is KernelState.RUNNING


def test_our_messages_are_numbered_one_after_the_other() -> None:
    protocol = in_state(KernelState.WAITING)
    protocol.run(0, 1)
    protocol.receive(say(Op.ACK, 1) + say(Op.ACK, 2) + say(Op.WAIT, 9))
    assert protocol.run(1, 2) == say(Op.FREE_UNTIL, 3, 2) + say(Op.RUN, 4, 1)


@pytest.mark.parametrize("state", [KernelState.CONNECTED, KernelState.RUNNING])
def test_only_a_waiting_kernel_can_be_run(state: KernelState) -> None:
    with pytest.raises(AssertionError, match="not waiting"):
        in_state(state).run(0, 1)


def test_an_answer_carries_the_requests_number() -> None:
    assert KernelMessage(Op.GET, 42, 0).answer(7) == say(Op.ACK, 42, 7)
