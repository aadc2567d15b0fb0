from pathlib import Path

import pytest

from wanlab.errors import WanlabError
from wanlab.measure import ping

COUNTERS = Path(__file__).parent.parent / "golden" / "counters"


def captured(name: str) -> str:
    return (COUNTERS / f"ping_{name}.txt").read_text()


# Extract the times of the five replies in the simplest way.
PLAIN = [
    float(line.rpartition("time=")[2].removesuffix(" ms"))
    for line in captured("plain").splitlines()
    if "time=" in line
]


def test_each_reply_is_read() -> None:
    result = ping.parse(captured("plain"))
    assert [reply.sequence for reply in result.replies] == [1, 2, 3, 4, 5]
    assert [reply.time_ms for reply in result.replies] == PLAIN
    assert result.replies[0] == ping.Reply(
        sequence=1,
        time_ms=PLAIN[0],
        ttl=64,
        source="10.0.0.3",
        size_bytes=64,
        duplicate=False,
        received_s=None,
    )


def test_the_summary_is_read() -> None:
    result = ping.parse(captured("plain"))
    assert (result.target, result.sent, result.received) == ("10.0.0.3", 5, 5)
    assert (result.loss_fraction, result.duplicates, result.errors) == (0.0, 0, 0)
    assert (result.min_ms, result.max_ms) == (min(PLAIN), max(PLAIN))


def test_lost_packets_have_no_reply_and_are_counted() -> None:
    result = ping.parse(captured("loss"))
    assert [reply.sequence for reply in result.replies] == [4, 5, 6]
    assert (result.sent, result.received, result.loss_fraction) == (6, 3, 0.5)
    assert result.problems[0] == "no answer yet for icmp_seq=1"


def test_a_host_that_cannot_be_reached_is_a_result() -> None:
    result = ping.parse(captured("unreachable"))
    assert (result.received, result.errors, result.loss_fraction) == (0, 4, 1.0)
    assert result.mean_ms is None
    assert "From 10.0.0.1 icmp_seq=1 Destination Host Unreachable" in result.problems


def test_duplicates_are_marked_and_counted() -> None:
    result = ping.parse(captured("duplicates"))
    assert (result.sent, result.received, result.duplicates) == (3, 3, 2)
    assert [(reply.sequence, reply.duplicate) for reply in result.replies] == [
        (1, False),
        (1, True),
        (2, False),
        (2, True),
        (3, False),
    ]


@pytest.mark.parametrize("name", ["quiet", "flood"])
def test_without_lines_of_replies_the_summary_remains(name: str) -> None:
    result = ping.parse(captured(name))
    assert result.replies == ()
    assert result.received == result.sent > 0
    assert result.mean_ms is not None


def test_a_packet_too_short_for_a_timestamp_has_no_rtt() -> None:
    result = ping.parse(captured("short"))
    assert [reply.time_ms for reply in result.replies] == [None, None]
    assert result.mean_ms is None


def test_the_times_of_option_d_are_read() -> None:
    times = [reply.received_s for reply in ping.parse(captured("timestamps")).replies]
    assert [time is not None and time > 1_700_000_000 for time in times] == [True, True, True]


def test_addresses_of_ip_version_6_are_read() -> None:
    result = ping.parse(captured("ipv6"))
    assert result.target.startswith("fe80::")
    assert {reply.source for reply in result.replies} == {result.target}


def test_single_lines_can_be_read_as_they_arrive() -> None:
    reply = ping.parse_reply("64 bytes from h3 (10.0.0.3): icmp_seq=7 ttl=63 time=193 ms\n")
    assert reply is not None
    assert (reply.sequence, reply.time_ms, reply.ttl, reply.source) == (7, 193, 63, "h3 (10.0.0.3)")
    assert ping.parse_reply("--- 10.0.0.3 ping statistics ---") is None


def test_replies_stand_in_the_table_at_the_time_their_packets_left() -> None:
    table = ping.parse(captured("loss")).table(start_ns=1000, interval_ns=100)
    assert table.names == ("time_ns", "sequence", "ttl", "rtt_ms", "duplicate")
    assert list(table["time_ns"]) == [1300, 1400, 1500]
    assert table.column("rtt_ms").unit == "ms"


def test_the_terminals_echo_of_ctrl_c_does_not_disturb() -> None:
    text = captured("plain")
    assert ping.parse(text.replace("\n--- ", "\n^C--- ")) == ping.parse(text)
    assert ping.parse(text.replace("\n\n--- ", "\n^C\n--- ")) == ping.parse(text)


def test_the_error_of_a_ping_that_did_not_start_is_quoted() -> None:
    with pytest.raises(WanlabError, match=r"did not start: .*nowhere.invalid: Temporary failure"):
        ping.parse(captured("unknown_host"))
    with pytest.raises(WanlabError, match=r"did not start: .*'nothing'"):
        ping.parse("")


def test_a_ping_that_was_killed_has_no_summary() -> None:
    text = captured("plain")
    with pytest.raises(WanlabError, match="has no summary"):
        ping.parse(text[: text.index("\n---")])


def test_a_reply_that_is_missing_is_noticed() -> None:
    lines = captured("plain").splitlines()
    with pytest.raises(WanlabError, match="it counts 5 replies and shows 4"):
        ping.parse("\n".join(lines[:2] + lines[3:]))


@pytest.mark.parametrize("index", [1, 8, 9])
def test_an_unknown_line_is_quoted(index: int) -> None:
    lines = captured("plain").splitlines()
    lines[index] = "gibberish"
    with pytest.raises(WanlabError, match=f"line {index + 1} .*'gibberish'"):
        ping.parse("\n".join(lines))


def test_output_truncated_in_the_summary_is_refused() -> None:
    text = captured("plain").rstrip()
    times = text.index("rtt min")
    for end in range(times + 1, len(text)):
        with pytest.raises(WanlabError, match="cannot parse"):
            ping.parse(text[:end])


def test_a_duplicate_that_is_missing_is_noticed() -> None:
    text = captured("duplicates")
    lines = [line for line in text.splitlines() if "DUP!" not in line]
    with pytest.raises(WanlabError, match="it counts 5 replies and shows 3"):
        ping.parse("\n".join(lines))


def test_a_reply_too_many_is_noticed() -> None:
    lines = captured("plain").splitlines()
    with pytest.raises(WanlabError, match="it counts 5 replies and shows 6"):
        ping.parse("\n".join([*lines[:2], *lines[1:]]))


MANY = "9" * 5000


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("icmp_seq=3", f"icmp_seq={MANY}"),
        ("ttl=64", f"ttl={MANY}"),
        (" ms\n", ".1 ms\n"),
        ("5 packets", f"{MANY} packets"),
    ],
)
def test_a_number_that_another_program_printed_is_an_error(old: str, new: str) -> None:
    """A program of a submission that is called ping ended the check of it with a traceback."""
    text = captured("plain")
    assert old in text
    with pytest.raises(WanlabError):
        ping.parse(text.replace(old, new))
    assert ping.parse_reply(f"64 bytes from 10.0.0.3: icmp_seq={MANY} ttl=64 time=1 ms") is None
