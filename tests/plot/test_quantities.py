"""Test quantities drawn by name. Figures are compared by their content, not by pixels."""

import numpy as np
import pytest

from wanlab import plot
from wanlab.errors import RecordError
from wanlab.plot import quantities
from wanlab.record import Provenance, Record, Table

FLOW = "10.0.0.1:2 > 10.0.0.3:5201"
SECOND = 10**9


def record(**tables: Table) -> Record:
    return Record(Provenance(wanlab="1", warnings=("look",)), tables)


IPERF3 = Table.of(
    {
        "start_s": [0.0, 1.0],
        "end_s": [1.0, 2.0],
        "stream": [5, 5],
        "bits_per_second": [4e8, 9e8],
        "retransmits": [0, 3],
        "snd_cwnd_bytes": [10_000, 20_000],
        "rtt_us": [20_000, 40_000],
    },
    {"bits_per_second": "bit/s"},
)
TCP = Table.of(
    {
        "time_ns": [0, SECOND, 2 * SECOND],
        "flow": [FLOW] * 3,
        "rtt_us": [0, 20_000, 40_000],
        "snd_cwnd_bytes": [14_480, 5_000_000, 4_000_000],
        "bytes_acked": [0, 100_000_000, 150_000_000],
        "total_retrans_packets": [2, 2, 7],
        "snd_ssthresh_packets": [2**31 - 1, 2**31 - 1, 100],
        "unacked_packets": [1, 2, 3],
    }
)
# netem above tbf at one port, tbf above codel at the other; the first counter restarts at 0.
QDISC = Table.of(
    {
        "time_ns": np.repeat([0, SECOND, 2 * SECOND], 4),
        "device": ["s1-eth2", "s1-eth2", "s1-eth3", "s1-eth3"] * 3,
        "kind": ["netem", "tbf", "tbf", "codel"] * 3,
        "handle": ["1:", "2:", "1:", "2:"] * 3,
        "parent": ["root", "1:", "root", "1:"] * 3,
        "backlog_bytes": [900, 0, 0, 0, 3900, 3000, 70, 60, 900, 0, 0, 0],
        "drops": [10, 5, 1, 1, 12, 6, 4, 4, 1, 1, 4, 4],
        "marks": [0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 6],
    }
)


def shown(panel: plot.Panel) -> list[tuple[str, list[float], list[float]]]:
    return [(line.label, list(line.times_s), list(line.values)) for line in panel.lines]


def one(name: str, **tables: Table) -> plot.Panel:
    (panel,) = quantities.panels({"run": record(**tables)}, [name])
    return panel


def test_the_throughput_is_iperf3s_or_else_that_of_tcps_acknowledgements() -> None:
    assert shown(one("throughput", iperf3=IPERF3, tcp=TCP)) == [
        ("", [0, 1, 1, 2], [400, 400, 900, 900])
    ]
    assert shown(one("throughput", tcp=TCP)) == [("", [1, 2], [800, 400])]


def test_an_rtt_not_yet_measured_is_a_gap() -> None:
    ping = Table.of({"time_ns": [0], "rtt_ms": [20.5]})
    (srtt, replies) = one("rtt", iperf3=IPERF3, tcp=TCP, ping=ping).lines
    assert np.array_equal(srtt.values, [np.nan, 20, 40], equal_nan=True)
    assert (srtt.label, replies.label, replies.points) == ("TCP srtt", "ping", True)
    assert shown(one("rtt", iperf3=IPERF3)) == [("", [1, 2], [20, 40])]


def test_a_threshold_before_the_first_loss_is_a_gap() -> None:
    (line,) = one("ssthresh", tcp=TCP).lines
    assert np.array_equal(line.values, [np.nan, np.nan, 100], equal_nan=True)


def test_a_variation_before_there_is_an_rtt_is_a_gap() -> None:
    columns = {name: TCP[name] for name in TCP.names} | {"rttvar_us": [250_000, 10_000, 5_000]}
    (line,) = one("rttvar", tcp=Table.of(columns)).lines
    assert np.array_equal(line.values, [np.nan, 10, 5], equal_nan=True)


def test_control_connections_are_not_drawn_from_events_either() -> None:
    flows = [FLOW] * 200 + ["10.0.0.1:1 > 10.0.0.3:5201"]
    ack = Table.of({"time_ns": range(201), "flow": flows, "rtt_us": range(1, 202)})
    assert [label for label, _, _ in shown(one("ack.rtt_us", ack=ack))] == [""]


def test_the_window_and_retransmissions_are_tcps_or_else_iperf3s() -> None:
    assert one("cwnd", iperf3=IPERF3, tcp=TCP).lines[0].values[1] == 5
    assert shown(one("cwnd", iperf3=IPERF3)) == [("", [1, 2], [10, 20])]
    # Counted since the record began.
    assert shown(one("retransmits", iperf3=IPERF3, tcp=TCP)) == [("", [0, 1, 2], [0, 0, 5])]
    assert shown(one("retransmits", iperf3=IPERF3)) == [("", [0, 1, 1, 2], [0, 0, 3, 3])]


def test_the_queue_of_each_port_is_without_its_delay_line() -> None:
    panel = one("queue", qdisc=QDISC)
    assert (panel.title, panel.unit) == ("Queue", "KB")
    assert shown(panel) == [
        ("s1-eth2", [0, 1, 2], [0, 3, 0]),
        ("s1-eth3", [0, 1, 2], [0, 0.07, 0]),
    ]


def test_drops_are_counted_from_the_start_even_if_a_counter_restarts() -> None:
    assert shown(one("drops", qdisc=QDISC)) == [
        ("s1-eth2", [0, 1, 2], [0, 1, 1]),
        ("s1-eth3", [0, 1, 2], [0, 3, 3]),
    ]
    assert shown(one("marks", qdisc=QDISC))[1] == ("s1-eth3", [0, 1, 2], [0, 6, 6])


def test_ports_and_packets_have_their_own_quantities() -> None:
    port = Table.of(
        {"time_ns": [0, SECOND], "device": ["s1-eth2"] * 2, "tx_bytes": [0, 125_000_000]}
    )
    assert shown(one("port", port=port)) == [("s1-eth2", [1], [1])]
    sojourn = Table.of(
        {"time_ns": [5, 9], "device": ["s1-eth2"] * 2, "sojourn_ns": [20_000_000, 25_000_000]}
    )
    (line,) = one("sojourn", sojourn=sojourn).lines
    assert (list(line.values), line.points) == ([20, 25], True)


def test_the_load_is_that_of_the_busiest_core_between_two_readings() -> None:
    times_ns = [0, 0, 0, 10**9, 10**9, 10**9, 2 * 10**9, 2 * 10**9, 2 * 10**9]
    processor = Table.of(
        {
            "time_ns": times_ns,
            "node": ["h1", "h1", "h2"] * 3,
            "core": [0, 1, 0] * 3,
            "call_ns": [0, 0, 5, 10**8, 10**8, 5, 10**8, 2 * 10**9, 6],
            "copy_ns": [7, 0, 0, 7 + 10**8, 10**7, 0, 7 + 10**8, 10**7, 0],
        }
    )
    h1, h2 = one("load", processor=processor).lines
    assert (h1.label, list(h1.times_s)) == ("h1", [1, 2])
    # 200 ms of core 0, then all of core 1, whose work goes on after the reading.
    assert list(h1.values) == pytest.approx([20, 100])
    assert list(h2.values) == pytest.approx([0, 1e-7])


def test_a_record_lists_its_quantities() -> None:
    whole = record(iperf3=IPERF3, qdisc=QDISC)
    assert quantities.available(whole) == [
        "throughput",
        "rtt",
        "cwnd",
        "queue",
        "drops",
        "marks",
        "retransmits",
    ]
    assert quantities.available(record()) == []


def test_by_default_all_available_quantities_are_drawn() -> None:
    panels = quantities.panels({"run": record(iperf3=IPERF3, tcp=TCP, qdisc=QDISC)})
    assert [panel.title for panel in panels] == [
        "Throughput",
        "RTT",
        "Congestion window",
        "Queue",
        "Drops",
        "ECN marks",
        "Retransmissions",
    ]
    unmarked = QDISC.where(device="s1-eth2")
    titles = [panel.title for panel in quantities.panels({"run": record(qdisc=unmarked)})]
    assert titles == ["Queue", "Drops"]


def test_several_runs_share_a_panel_and_their_lines_are_named_by_run() -> None:
    runs = {"1 BDP": record(iperf3=IPERF3, qdisc=QDISC), "10 BDP": record(iperf3=IPERF3)}
    throughput, queue = quantities.panels(runs, ["throughput", "queue"])
    assert [line.label for line in throughput.lines] == ["1 BDP", "10 BDP"]
    assert [line.label for line in queue.lines] == ["1 BDP s1-eth2", "1 BDP s1-eth3"]
    assert throughput.warnings == ("1 BDP: look", "10 BDP: look")


def test_one_port_can_be_chosen() -> None:
    (panel,) = quantities.panels({"run": record(qdisc=QDISC)}, ["queue"], ports=["s1-eth3"])
    assert [line.label for line in panel.lines] == ["s1-eth3"]
    with pytest.raises(
        RecordError, match=r"nothing was recorded at port s1-eth4 .did you mean s1-eth3"
    ):
        quantities.panels({"run": record(qdisc=QDISC)}, ["queue"], ports=["s1-eth4"])


def test_any_column_can_be_drawn() -> None:
    assert shown(one("tcp.unacked_packets", tcp=TCP)) == [("", [0, 1, 2], [1, 2, 3])]
    panel = one("qdisc.backlog_bytes", qdisc=QDISC)
    assert [label for label, _, _ in shown(panel)] == [
        "s1-eth2 netem 1:",
        "s1-eth2 tbf 2:",
        "s1-eth3 tbf 1:",
        "s1-eth3 codel 2:",
    ]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cwn", "no quantity 'cwn' .did you mean cwnd"),
        ("jitter", "no jitter was recorded .the record has throughput, rtt, cwnd, retransmits"),
        ("tpc.rtt_us", "no table 'tpc' .did you mean tcp"),
        ("tcp.rtt", "no column 'rtt' .did you mean rtt_us"),
        ("tcp.flow", "holds text"),
    ],
)
def test_the_error_for_a_missing_quantity_lists_the_available_ones(name: str, said: str) -> None:
    with pytest.raises(RecordError, match=said):
        one(name, tcp=TCP.rows(np.ones(3, bool)), iperf3=IPERF3)


def test_the_error_for_a_record_without_quantities_lists_its_columns() -> None:
    with pytest.raises(
        RecordError, match=r"has none of the usual quantities .*TABLE.COLUMN of odd"
    ):
        quantities.panels({"run": record(odd=Table.of({"time_ns": [1]}))})
    with pytest.raises(RecordError, match="it is empty"):
        quantities.panels({"run": record()})
