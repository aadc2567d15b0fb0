"""DualPI2 counts its classic queue and its queue for scalable senders."""

import struct

from wanlab.measure.columns import columns_of_structures
from wanlab.netlink import queue_state

# include/uapi/linux/pkt_sched.h of Linux 7.3, struct tc_dualpi2_xstats
STATE = (1 << 30, 15_000, 700, 100, 200, 40, 30, 10, -5, 60_000, 90_000, 15_000_000)
XSTATS = struct.pack("=8Ii3I", *STATE)


def test_both_queues_and_their_marks_are_columns() -> None:
    columns = columns_of_structures(queue_state.QDISCS["dualpi2"], [XSTATS, XSTATS])
    assert {name: values[1].item() for name, values in columns.items()} == {
        "probability_fraction": 0.25,
        "classic_delay_us": 15_000,
        "l4s_delay_us": 700,
        "classic_in_packets": 100,
        "l4s_in_packets": 200,
        "peak_backlog_packets": 40,
        "ecn_marks": 30,
        "step_marks": 10,
        "credit": -5,
        "memory_bytes": 60_000,
        "memory_peak_bytes": 90_000,
        "memory_limit_bytes": 15_000_000,
    }


def test_marks_of_the_step_are_among_all_marks() -> None:
    assert queue_state.marks("dualpi2", XSTATS) == 30
