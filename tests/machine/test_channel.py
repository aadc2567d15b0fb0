import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wanlab.agent.messages import HEADER, Kind, encode, encode_json
from wanlab.errors import PeerError
from wanlab.machine.channel import AgentFailure, Channel


class Recorder:
    def __init__(self) -> None:
        self.output: list[tuple[Kind, bytes]] = []
        self.end: dict[str, int] | None = None

    def output_arrived(self, kind: Kind, data: bytes) -> None:
        self.output.append((kind, data))

    def ended(self, result: dict[str, int]) -> None:
        self.end = result


@pytest.fixture
def sent() -> bytearray:
    return bytearray()


@pytest.fixture
def channel(sent: bytearray) -> Channel:
    def write(data: bytes) -> None:
        sent.extend(data)

    return Channel(write)


def test_a_call_is_answered_under_its_number(channel: Channel, sent: bytearray) -> None:
    number = channel.call("start", node="h1")
    assert sent == encode_json(Kind.CALL, number, {"do": "start", "node": "h1"})
    assert not channel.is_answered(number)
    channel.feed(encode_json(Kind.REPLY, number, {"pid": 42}))
    assert channel.is_answered(number)
    assert channel.answer(number) == {"pid": 42}


def test_answers_may_come_in_any_order(channel: Channel) -> None:
    first, second = channel.call("read"), channel.call("read")
    channel.feed(encode(Kind.DATA, second, b"\0two"))
    assert not channel.is_answered(first)
    channel.feed(encode(Kind.DATA, first, b"\0one"))
    assert (channel.answer(first), channel.answer(second)) == (b"\0one", b"\0two")


def test_a_failure_names_the_error_and_the_operation(channel: Channel) -> None:
    number = channel.call("perform")
    failure = {"error": "File exists", "kind": "FileExistsError", "index": 3}
    channel.feed(encode_json(Kind.FAILURE, number, failure))
    with pytest.raises(AgentFailure) as caught:
        channel.answer(number)
    assert (caught.value.what, caught.value.kind, caught.value.index) == (
        "File exists",
        "FileExistsError",
        3,
    )


def test_a_process_gets_its_own_output_and_status(channel: Channel) -> None:
    received, other = Recorder(), Recorder()
    number, _ = channel.new_process(received), channel.new_process(other)
    channel.feed(encode(Kind.OUTPUT, number, b"a") + encode(Kind.STDERR, number, b"b"))
    channel.feed(encode_json(Kind.ENDED, number, {"status": 0}))
    assert received.output == [(Kind.OUTPUT, b"a"), (Kind.STDERR, b"b")]
    assert received.end == {"status": 0}
    assert (other.output, other.end) == ([], None)


def test_output_of_a_forgotten_process_is_dropped(channel: Channel) -> None:
    received = Recorder()
    number = channel.new_process(received)
    channel.forget_process(number)
    channel.feed(encode(Kind.OUTPUT, number, b"late"))
    assert received.output == []


def test_an_answer_without_a_request_is_refused(channel: Channel) -> None:
    with pytest.raises(PeerError, match="an answer to call 9, which awaits none"):
        channel.feed(encode_json(Kind.REPLY, 9, None))


def test_a_second_answer_is_refused(channel: Channel) -> None:
    number = channel.call("sync")
    channel.feed(encode_json(Kind.REPLY, number, None))
    with pytest.raises(PeerError, match=f"an answer to call {number}"):
        channel.feed(encode_json(Kind.REPLY, number, None))


def test_an_answer_that_nobody_awaits_is_refused_before_its_body_arrives(channel: Channel) -> None:
    number = channel.call("read")
    channel.feed(HEADER.pack(1 << 28, Kind.REPLY, number))
    with pytest.raises(PeerError, match="an answer to call 9, which awaits none"):
        Channel(lambda data: None).feed(HEADER.pack(1 << 28, Kind.REPLY, 9))


def test_a_long_reply_of_brackets_is_refused(channel: Channel) -> None:
    number = channel.call("read")
    channel.feed(encode(Kind.REPLY, number, b"[" + b"[]," * 5_000_000 + b"[]]"))
    with pytest.raises(PeerError, match="more than 4000000 values"):
        channel.answer(number)


def test_requests_that_nobody_serves_are_limited(channel: Channel) -> None:
    with pytest.raises(PeerError, match="more than 64 MiB of requests"):
        for number in range(1 << 20):
            channel.feed(encode(Kind.REQUEST, number, b'{"do": "keys"}'))
    assert number < 10_000
    channel.on_request = lambda frame: None
    channel.deliver_requests()
    channel.feed(encode(Kind.REQUEST, 1, b'{"do": "keys"}'))


def test_noise_is_refused(channel: Channel) -> None:
    with pytest.raises(PeerError, match="the agent sent"):
        channel.feed(b"\xff" * 9)


def test_the_agent_says_when_it_is_ready(channel: Channel) -> None:
    assert not channel.is_ready
    channel.feed(encode(Kind.READY, 0))
    assert channel.is_ready


# -- frames that no agent sends ----------------------------------------------------------------------

FORGED_ENDS = [
    b"",
    b"[]",
    b"{}",
    b"[" * 100_000,
    b'{"status": "0"}',
    b'{"status": null}',
    b"7",
    b"\xff",
]
FORGED_FAILURES = [b"", b"[]", b"{}", b'{"error": 1, "kind": "x"}', b'{"error": "x", "kind": []}']


@pytest.mark.parametrize("body", FORGED_ENDS)
def test_a_forged_end_of_a_process_is_an_error_of_the_peer(channel: Channel, body: bytes) -> None:
    number = channel.new_process(Recorder())
    with pytest.raises(PeerError, match="the agent sent"):
        channel.feed(encode(Kind.ENDED, number, body))


@pytest.mark.parametrize("body", FORGED_FAILURES)
def test_a_forged_failure_is_an_error_of_the_peer(channel: Channel, body: bytes) -> None:
    number = channel.call("read")
    channel.feed(encode(Kind.FAILURE, number, body))
    with pytest.raises(PeerError, match="the agent sent"):
        channel.answer(number)


@pytest.mark.parametrize("body", [b"", b"[" * 100_000, b"\xff\xfe", b"{"])
def test_a_forged_reply_is_an_error_of_the_peer(channel: Channel, body: bytes) -> None:
    number = channel.call("read")
    channel.feed(encode(Kind.REPLY, number, body))
    with pytest.raises(PeerError, match="that is no JSON"):
        channel.answer(number)


@pytest.mark.parametrize("kind", [Kind.CALL, Kind.INPUT, Kind.ANSWER])
def test_a_frame_that_only_our_side_sends_is_an_error_of_the_peer(
    channel: Channel, kind: Kind
) -> None:
    with pytest.raises(PeerError, match=f"kind {kind.name}, which is ours"):
        channel.feed(encode(kind, 1, b"{}"))


def test_a_frame_of_a_gigabyte_is_refused_before_its_body_arrives(channel: Channel) -> None:
    with pytest.raises(PeerError, match="1073741824 bytes"):
        channel.feed(HEADER.pack(1 << 30, Kind.OUTPUT, 1))


@given(st.binary(max_size=300))
def test_bytes_at_random_are_frames_or_an_error_of_the_peer(data: bytes) -> None:
    channel = Channel(lambda data: None)
    channel.new_process(Recorder())
    with contextlib.suppress(PeerError):
        channel.feed(data)
