import pytest

from wanlab.agent.messages import Kind, encode, encode_json
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
    with pytest.raises(PeerError, match="answered call 9, which awaits no answer"):
        channel.feed(encode_json(Kind.REPLY, 9, None))


def test_a_second_answer_is_refused(channel: Channel) -> None:
    number = channel.call("sync")
    channel.feed(encode_json(Kind.REPLY, number, None))
    with pytest.raises(PeerError, match=f"answered call {number}"):
        channel.feed(encode_json(Kind.REPLY, number, None))


def test_noise_is_refused(channel: Channel) -> None:
    with pytest.raises(PeerError, match="the agent sent"):
        channel.feed(b"\xff" * 9)


def test_the_agent_says_when_it_is_ready(channel: Channel) -> None:
    assert not channel.is_ready
    channel.feed(encode(Kind.READY, 0))
    assert channel.is_ready
