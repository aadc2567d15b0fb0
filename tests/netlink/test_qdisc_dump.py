"""Compare what is read from tc with what is read from netlink about the same queues.

The captures named "queues" are from our own kernel, with every kind of queue that marks or drops
early; the others are from a Debian computer.
"""

from pathlib import Path

import pytest

from wanlab.errors import WanlabError
from wanlab.measure import tc_text
from wanlab.measure.columns import columns_of_structures
from wanlab.netlink import qdisc_dump, queue_state

COUNTERS = Path(__file__).parent.parent / "golden" / "counters"


def captured(name: str) -> bytes:
    return (COUNTERS / name).read_bytes()


def interfaces(name: str) -> dict[int, str]:
    pairs = (line.split(": ") for line in captured(name).decode().splitlines())
    return {int(index): device for index, device in pairs}


def test_a_request_asks_for_the_qdiscs_of_all_interfaces() -> None:
    assert qdisc_dump.request_body() == bytes(20)  # struct tcmsg of rtnetlink.h, all zero


def test_a_full_queue_is_read() -> None:
    shown = tc_text.parse(captured("qdisc_tbf_under_htb.json"), device="s1-eth2")
    rows = [qdisc.counters for qdisc in shown]
    assert [(row.device, row.kind, row.handle, row.parent) for row in rows] == [
        ("s1-eth2", "htb", "1:", "root"),
        ("s1-eth2", "tbf", "10:", "1:10"),
    ]
    htb, tbf = rows
    assert shown[1].options == {"rate": 6_250_000, "burst": 32_000, "lat": 20_480}
    assert 0 < tbf.backlog_bytes <= 160_000
    assert tbf.backlog_packets > 0
    assert (htb.backlog_bytes, htb.backlog_packets) == (tbf.backlog_bytes, tbf.backlog_packets)


def test_a_row_has_the_names_of_the_table() -> None:
    assert list(tc_text.parse(captured("qdisc_all.json"))[0].counters.row()) == [
        "device",
        "kind",
        "handle",
        "parent",
        "bytes",
        "packets",
        "drops",
        "overlimits",
        "requeues",
        "backlog_bytes",
        "backlog_packets",
        "marks",
    ]


@pytest.mark.parametrize(
    ("text", "binary", "names"),
    [
        ("qdisc_all.json", "qdisc_all.bin", "interfaces.txt"),
        ("queues.json", "queues.bin", "queues_interfaces.txt"),
    ],
)
def test_netlink_and_tc_have_the_same_counters(text: str, binary: str, names: str) -> None:
    by_tc = tc_text.parse(captured(text))
    by_netlink = qdisc_dump.decode(captured(binary), interfaces(names))
    assert [row.row() for row in by_netlink] == [row.counters.row() for row in by_tc]


# tc's names for the members of our structures.
TC_NAMES = {
    "red": "early_drops=early limit_drops=pdrop other_drops=other marks=marked",
    "choke": "early_drops=early limit_drops=pdrop other_drops=other marks=marked"
    " matched_drops=matched",
    "sfb": "early_drops=earlydrop penalty_drops=penaltydrop bucket_drops=bucketdrop"
    " queue_drops=queuedrop child_drops=childdrop marks=marked longest_bin_packets=maxqlen"
    " most_marking=maxprob mean_marking=avgprob",
    "codel": "largest_packet_bytes=maxpacket count=count last_count=lastcount delay_us=ldelay"
    " drop_next_us=drop_next limit_drops=drop_overlimit ecn_marks=ecn_mark",
    "fq_codel": "largest_packet_bytes=maxpacket limit_drops=drop_overlimit ecn_marks=ecn_mark"
    " new_flow_count=new_flow_count new_flows=new_flows_len old_flows=old_flows_len",
    "fq": "throttle_count=throttled flows=flows ce_marks=ce_mark",
    "pie": "drop_probability_fraction=prob delay_us=delay early_drops=dropped"
    " limit_drops=overlimit peak_backlog_packets=maxq ecn_marks=ecn_mark",
    "fq_pie": "early_drops=dropped limit_drops=overlimit memory_drops=overmemory"
    " ecn_marks=ecn_mark new_flow_count=new_flow_count new_flows=new_flows_len"
    " old_flows=old_flows_len",
}


def test_netlink_and_tc_have_the_same_details() -> None:
    by_tc = tc_text.parse(captured("queues.json"))
    by_netlink = qdisc_dump.decode(captured("queues.bin"), {})
    compared = set()
    for mine, its in zip(by_netlink, by_tc, strict=True):
        if mine.kind not in TC_NAMES:
            continue
        columns = columns_of_structures(queue_state.QDISCS[mine.kind], [mine.xstats])
        for pair in TC_NAMES[mine.kind].split():
            ours, _, theirs = pair.partition("=")
            assert columns[ours][0] == its.details[theirs], (mine.kind, ours)
        compared.add(mine.kind)
    assert compared == set(TC_NAMES)


def test_marks_are_read_under_every_name() -> None:
    rows = [shown.counters for shown in tc_text.parse(captured("queues.json"))]
    marked = {row.kind for row in rows if row.marks}
    assert marked == {"red", "codel", "fq_codel", "fq", "cake"}


def test_an_interface_without_a_name_is_shown_by_its_number() -> None:
    rows = qdisc_dump.decode(captured("qdisc_all.bin"), {})
    assert rows[0].device == "if1"


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"qdisc noqueue 0: root refcnt 2",
        b"{}",
        b"[1]",
        b'[{"kind":"tbf","handle":"2:"}]',  # tc without -s
        b'[{"kind":"tbf"',
    ],
)
def test_output_that_tc_does_not_print_is_refused(text: bytes) -> None:
    with pytest.raises(WanlabError, match=r"cannot parse .*was tc called with -s and -j"):
        tc_text.parse(text)


def test_a_port_without_any_queue_is_named() -> None:
    with pytest.raises(WanlabError, match="no qdisc at s9-eth9"):
        tc_text.parse(b"[]", device="s9-eth9")


def test_a_dump_truncated_anywhere_is_refused() -> None:
    dump = captured("qdisc_all.bin")
    for end in range(len(dump)):
        with pytest.raises(WanlabError):
            qdisc_dump.decode(dump[:end], {})


def test_a_message_of_a_qdisc_that_is_damaged_is_refused() -> None:
    dump = captured("qdisc_all.bin").replace(b"noqueue\0", b"\xff\xff\xff\xff\xff\xff\xff\xff")
    with pytest.raises(WanlabError, match="the kernel sent a name that is not ASCII text"):
        qdisc_dump.decode(dump, {})
