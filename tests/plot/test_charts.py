from collections.abc import Iterable

import numpy as np
import pytest

from wanlab import plot
from wanlab.errors import RecordError
from wanlab.plot.charts import short_unit
from wanlab.record import Provenance, Record, Table

DATA, CONTROL = "10.0.0.1:2 > 10.0.0.3:5201", "10.0.0.1:1 > 10.0.0.3:5201"
RECORD = Record(
    Provenance(wanlab="0.1.0", warnings=("12 packets were dropped outside a queue",)),
    {
        "iperf3": Table.of(
            {
                "start_s": [0.0, 1.0],
                "end_s": [1.0, 2.0],
                "stream": [5, 5],
                "bits_per_second": [4e8, 9e8],
                "rtt_us": [20_000, 40_000],
            },
            {"bits_per_second": "bit/s"},
        ),
        "ping": Table.of({"time_ns": [0, 10**9], "rtt_ms": [20.5, 40.5]}),
        "tcp": Table.of(
            {
                "time_ns": [0, 0, 10**9, 10**9],
                "flow": [CONTROL, DATA, CONTROL, DATA],
                "rtt_us": [90, 20_000, 90, 40_000],
                "snd_cwnd_bytes": [14_480, 14_480, 14_480, 5_000_000],
                "bytes_acked": [10, 0, 90, 100_000_000],
            }
        ),
        "qdisc": Table.of(
            {
                "time_ns": [0, 0, 0, 10**9, 10**9, 10**9],
                "device": ["s1-eth2", "s1-eth2", "s1-eth3"] * 2,
                "handle": ["1:", "2:", "1:"] * 2,
                "backlog_bytes": [0, 0, 7, 3_000_000, 2_500_000, 8],
            }
        ),
    },
)


def lines(panel: plot.Panel) -> list[tuple[str, list[float], list[float]]]:
    return [(line.label, list(line.times_s), list(line.values)) for line in panel.lines]


def test_throughput_is_constant_over_each_interval() -> None:
    panel = plot.throughput(RECORD)
    assert (panel.title, panel.unit) == ("Throughput", "Mbit/s")
    assert lines(panel) == [("", [0, 1, 1, 2], [400, 400, 900, 900])]


def test_throughput_of_tcp_is_the_rate_of_acknowledged_bytes() -> None:
    assert lines(plot.throughput(RECORD, table="tcp")) == [("", [1.0], [800.0])]


def test_the_rtt_has_a_line_for_tcp_and_points_for_ping() -> None:
    panel = plot.rtt(RECORD)
    assert lines(panel) == [("TCP srtt", [0, 1], [20, 40]), ("ping", [0, 1], [20.5, 40.5])]
    assert [line.points for line in panel.lines] == [False, True]


def test_the_rtt_of_iperf3_is_drawn_at_the_end_of_its_interval() -> None:
    panel = plot.rtt(RECORD, tcp="iperf3", ping="none")
    assert lines(panel) == [("TCP srtt", [1, 2], [20, 40])]


def test_a_control_connection_is_not_drawn() -> None:
    assert lines(plot.congestion_window(RECORD)) == [("", [0, 1], [0.01448, 5.0])]


def test_several_flows_are_numbered() -> None:
    tcp = Table.of({"time_ns": [0, 0], "flow": ["a", "b"], "snd_cwnd_bytes": [1, 2]})
    panel = plot.congestion_window(Record(RECORD.provenance, {"tcp": tcp}), unit="B")
    assert lines(panel) == [("flow 1", [0], [1]), ("flow 2", [0], [2])]


def test_the_queue_is_that_of_the_handle_with_its_limit() -> None:
    panel = plot.queue(RECORD, device="s1-eth2", handle="2:", limit_bytes=2_621_440)
    assert lines(panel) == [("queue", [0, 1], [0, 2.5])]
    assert panel.limits == (plot.Limit("limit", 2.62144),)


def test_the_only_queue_of_a_port_needs_no_handle() -> None:
    panel = plot.queue(RECORD, device="s1-eth3", unit="B")
    assert lines(panel) == [("queue", [0, 1], [7, 8])]
    assert panel.limits == ()


def test_any_quantity_can_be_drawn() -> None:
    panel = plot.quantity(RECORD, "ping", "rtt_ms", title="Delay")
    assert (panel.title, panel.unit) == ("Delay", "ms")
    assert lines(panel) == [("", [0, 1], [20.5, 40.5])]


def test_every_panel_carries_the_warnings_of_its_record() -> None:
    panels = [
        plot.throughput(RECORD),
        plot.rtt(RECORD),
        plot.congestion_window(RECORD),
        plot.queue(RECORD, device="s1-eth3"),
        plot.quantity(RECORD, "ping", "rtt_ms", title="Delay"),
    ]
    assert [panel.warnings for panel in panels] == [RECORD.provenance.warnings] * 5


def test_a_quantity_missing_in_the_record_is_named() -> None:
    with pytest.raises(RecordError, match=r"no table 'iperf' .did you mean iperf3"):
        plot.throughput(RECORD, table="iperf")
    with pytest.raises(RecordError, match=r"neither a table 'x' nor 'tcps' .did you mean tcp"):
        plot.rtt(RECORD, ping="x", tcp="tcps")
    with pytest.raises(RecordError, match=r"no queue of 's1-eth9' was measured .did you mean"):
        plot.queue(RECORD, device="s1-eth9")
    with pytest.raises(RecordError, match=r"several queues .choose one of 1:, 2:"):
        plot.queue(RECORD, device="s1-eth2")
    with pytest.raises(RecordError, match="s1-eth2 has no queue '3:'"):
        plot.queue(RECORD, device="s1-eth2", handle="3:")
    with pytest.raises(RecordError, match="cannot convert ms to MB"):
        plot.quantity(RECORD, "ping", "rtt_ms", title="Delay", unit="MB")


def test_an_empty_table_is_an_error() -> None:
    empty = RECORD["tcp"].where(flow="none")
    with pytest.raises(RecordError, match="cannot draw Congestion window"):
        plot.congestion_window(Record(RECORD.provenance, {"tcp": empty}))


# -- what iperf3 tells of several streams ------------------------------------------------------------


def streams(**more: Iterable[object]) -> Record:
    columns: dict[str, Iterable[object]] = {
        "start_s": [0.0, 0.0, 1.0, 1.0],
        "end_s": [1.0, 1.0, 2.0, 2.0],
        "stream": [5, 7, 5, 7],
        "bits_per_second": [4e9, 1e9, 4e9, 1e9],
        "retransmits": [0, 1, 2, 3],
        "snd_cwnd_bytes": [1e6, 2e6, 3e6, None],
    }
    return Record(
        RECORD.provenance, {"iperf3": Table.of({**columns, **more}, {"bits_per_second": "bit/s"})}
    )


def test_each_stream_is_a_line_and_the_unit_keeps_numbers_short() -> None:
    panel = plot.throughput(streams(), unit="auto")
    assert (panel.unit, [label for label, _, _ in lines(panel)]) == (
        "Gbit/s",
        ["stream 1", "stream 2"],
    )
    assert [values for _, _, values in lines(panel)] == [[4, 4, 4, 4], [1, 1, 1, 1]]


def test_counts_are_drawn_over_their_interval_and_states_at_its_end() -> None:
    record = streams()
    counted = plot.quantity(record, "iperf3", "retransmits", title="Retransmissions")
    assert lines(counted)[1] == ("stream 2", [0, 1, 1, 2], [1, 1, 3, 3])
    state = plot.quantity(record, "iperf3", "snd_cwnd_bytes", title="cwnd", unit="auto")
    assert (state.unit, lines(state)[0]) == ("MB", ("stream 1", [1, 2], [1, 3]))


def test_the_warm_up_is_not_drawn() -> None:
    record = streams(start_s=[0.0, 0.0, 0.0, 0.0], omitted=[True, True, False, False])
    panel = plot.throughput(record)
    assert [times for _, times, _ in lines(panel)] == [[0, 2], [0, 2]]


def test_streams_in_both_directions_are_labelled_differently() -> None:
    panel = plot.throughput(streams(sender=[True, False, True, False]))
    assert [label for label, _, _ in lines(panel)] == ["stream 1 sent", "stream 2 received"]


@pytest.mark.parametrize(
    ("values", "unit", "short"),
    [
        ([[999.0]], "B", "B"),
        ([[0.0], [1000.0]], "B", "KB"),
        ([[2.6e7, float("nan")]], "B", "MB"),
        ([[9.4e9]], "bit/s", "Gbit/s"),
        ([[9.4e9]], "ns", "ns"),
        ([[]], "B", "B"),
    ],
)
def test_the_short_unit_has_one_to_three_digits(
    values: list[list[float]], unit: str, short: str
) -> None:
    assert short_unit(values, unit) == short


def test_a_repaired_hole_does_not_raise_the_throughput_above_the_link() -> None:
    """At 20 Mbit/s, a hole stops acknowledgements for 200 ms while later data still arrives."""
    times_ns = np.arange(0, 2_000_000_000, 10_000_000)
    delivered = np.floor(times_ns / 1e9 * 20e6 / 8 / 1514)
    acked = delivered * 1448
    acked[80:100] = acked[80]
    table = Table.of(
        {
            "time_ns": times_ns,
            "flow": ["10.0.0.1:2 > 10.0.0.3:5201"] * len(times_ns),
            "rtt_us": np.full(len(times_ns), 20_000),
            "bytes_acked": acked.astype(np.int64),
            "delivered_packets": delivered.astype(np.int64),
        }
    )
    assert table.series("bytes_acked").rate().values.max() > 300e6
    (line,) = plot.throughput(Record(Provenance(wanlab="1"), {"tcp": table}), table="tcp").lines
    assert line.values.min() > 20 * 1448 / 1514 * 0.97
    assert line.values.max() < 20
