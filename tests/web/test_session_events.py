"""Test the content of the timeline: events, and terminals and curves at an instant."""

from __future__ import annotations

from typing import cast

import pytest

from wanlab import Process
from wanlab.web.protocol.commands import WatchedSeries
from wanlab.web.protocol.messages import LivePort, SampleColumn
from wanlab.web.protocol.model import Document, DrawnLink, DrawnNode
from wanlab.web.running.port_changes import described_change, described_plug, port_changes
from wanlab.web.terminals.shell_marks import ShellMarks
from wanlab.web.timeline.branch import CostCurve
from wanlab.web.timeline.curve_memory import CurveMemory
from wanlab.web.timeline.session_events import EventLog, SessionEvent
from wanlab.web.timeline.transcripts import MAX_KEPT_BYTES, TerminalRecord, Transcript

MS_NS = 1_000_000


def typed(at_ns: int, text: str, terminal: str = "t1") -> SessionEvent:
    return SessionEvent(at_ns=at_ns, kind="command", text=text, where="h1", terminal=terminal)


def test_a_command_is_sent_when_it_begins_and_again_when_it_ends() -> None:
    log = EventLog()
    log.add(typed(5, "ping h2"))
    (begun,) = log.take_changed()
    assert (begun.number, begun.until_ns, begun.status) == (1, None, None)
    log.end_command("t1", 9, 1)
    log.end_command("t1", 12, 0)  # only a prompt, so nothing ran
    (ended,) = log.take_changed()
    assert (ended.number, ended.until_ns, ended.status) == (1, 9, 1)
    assert log.take_changed() == ()


def test_a_server_that_ctrl_c_ended_has_not_failed() -> None:
    log, marks = EventLog(), ShellMarks()
    for line, keys in (("iperf3 -s", b"\x03"), ("false", b"ls\n")):
        marks.note_keys(b"\x03")  # Ctrl-C at the prompt ends nothing
        (begun,) = marks.read(b"\x1b]633;E;%s\x07" % line.encode(), 5)
        log.add(typed(begun.began_ns, begun.line))
        marks.note_keys(keys)
        (ended,) = marks.read(b"\x1b]633;D;1\x07", 9)
        assert ended.status is not None
        log.end_command("t1", 9, ended.status, is_interrupted=ended.is_interrupted)
    assert [it.is_interrupted for it in log.all()] == [True, False]
    assert [it.is_interrupted for it in log.until(7).all()] == [False, False]  # it was running then


def test_drops_that_are_close_together_are_one_event() -> None:
    log = EventLog()
    for at_ms, count in ((100, 2), (200, 3), (2000, 1)):
        log.add_drops("s1-eth2", at_ms * MS_NS, count)
    log.add_drops("s1-eth1", 200 * MS_NS, 7)
    drops = [(it.where, it.at_ns, it.until_ns, it.count) for it in log.all()]
    assert drops == [
        ("s1-eth2", 100 * MS_NS, 200 * MS_NS, 5),
        ("s1-eth1", 200 * MS_NS, 200 * MS_NS, 7),
        ("s1-eth2", 2000 * MS_NS, 2000 * MS_NS, 1),
    ]


def test_a_log_up_to_an_instant_has_the_commands_running_then() -> None:
    log = EventLog()
    log.add(typed(5, "ping h2"))
    log.add(typed(7, "ls"))
    log.end_command("t1", 9, 0)
    log.add_drops("s1-eth2", 6, 2)
    log.add_drops("s1-eth2", 8, 2)
    earlier = log.until(7)
    assert [(it.text, it.until_ns) for it in earlier.all()] == [
        ("ping h2", None),
        ("", 7),
        ("ls", None),
    ]
    assert earlier.all()[1].count == 0  # not known
    earlier.end_command("t1", 20, 0)
    assert earlier.all()[2].until_ns == 20
    assert [it.until_ns for it in log.all() if it.text == "ls"] == [9]
    assert earlier.next_number == log.next_number


def test_a_terminal_is_cut_at_an_instant_and_its_credit_too() -> None:
    record = TerminalRecord("t1", "n1", "h1", cast("Process", None), opened_ns=3)
    for at_ns, data in ((4, b"a"), (4, b"b"), (9, b"\xff")):
        record.transcript.add(at_ns, data)
    record.credits += [(5, 100), (8, 200)]
    earlier = record.until(7)
    assert [(it.at_ns, it.text) for it in earlier.recorded().output] == [(4, "ab")]
    assert earlier.credited_bytes() == 100
    assert [it.text for it in record.recorded().output] == ["ab", "\xff"]
    record.closed_ns = 8
    assert [record.is_open_at(at_ns) for at_ns in (2, 3, 7, 8)] == [False, True, True, False]


def test_the_older_half_of_long_output_is_dropped_and_counted() -> None:
    transcript, chunk = Transcript(), b"x" * (1 << 20)
    for at_ns in range(5):
        transcript.add(at_ns, chunk)
    assert transcript.written_bytes == 5 * len(chunk)
    assert sum(len(data) for _, data in transcript.timed()) == MAX_KEPT_BYTES // 2
    assert transcript.until(4).written_bytes == 5 * len(chunk)


def test_curves_are_cut_at_an_instant() -> None:
    memory = CurveMemory()
    memory.add(SampleColumn("drops", "s1-eth2", "", "packets", (1.0, 2.0, 3.0), (0.0, 4.0, 9.0)))
    earlier = memory.until(2.5)
    (column,) = earlier.columns([WatchedSeries("drops")])
    assert (column.times_s, column.unit) == ((1.0, 2.0), "packets")
    assert earlier.last_values("drops") == {"s1-eth2": 4.0}
    assert memory.last_values("drops") == {"s1-eth2": 9.0}


def test_the_cost_of_a_replay_is_the_computing_time_up_to_its_instant() -> None:
    costs = CostCurve(boot_real_s=1.5)
    for now_ns, real_s in ((100, 2.0), (200, 2.5), (200, 2.5)):
        costs.note(now_ns, real_s)
    assert [costs.at(time_ns) for time_ns in (0, 50, 100, 150, 300)] == [0.0, 1.0, 2.0, 2.25, 2.5]
    assert costs.until(150).at(300) == 2.0


DRAWN = Document(
    nodes=(DrawnNode("n1", "host", "h1"), DrawnNode("n2", "switch", "s1")),
    links=(DrawnLink("l1", "n1", "n2", {"rate": "5Mbps"}),),
)


def test_changes_of_links_are_described_in_words() -> None:
    after = DrawnLink("l1", "n1", "n2", {"queue": {"kind": "fq_codel"}}, {"loss": "1%"})
    text = described_change(DRAWN, DRAWN.links[0], after)
    assert text == "h1-s1: no rate, queue fq_codel, loss 1% from h1"
    assert described_plug(DRAWN, "l1", is_up=False) == "h1-s1: link down"


def test_a_port_that_tc_has_changed_is_an_event_and_a_link_local_address_is_none() -> None:
    before = LivePort("l1", "a", "n1", "h1-eth0", addresses=("10.0.0.1/8",))
    named = LivePort("l1", "a", "n1", "h1-eth0", addresses=("10.0.0.1/8", "fe80::1/64"))
    assert list(port_changes([before], [named], 4)) == []
    slower = LivePort("l1", "a", "n1", "h1-eth0", is_up=False, tc={"rate": "1Mbps"})
    (event,) = port_changes([before], [slower], 4)
    assert event.text == "h1-eth0: down, tc rate 1Mbps, no address"
    assert (event.at_ns, event.port_before, event.port_after) == (4, before, slower)


@pytest.mark.parametrize("status", ["x", "²", "9" * 5000, "-1", ""])
def test_a_mark_that_a_program_has_printed_is_read_without_an_error(status: str) -> None:
    marks = ShellMarks()
    list(marks.read(b"\x1b]633;E;ls\x07"))
    (ended,) = marks.read(f"\x1b]633;D;{status}\x07".encode())
    assert ended.status == 0
