"""The counters that only single kinds of queues and classes have.

The structures are those of include/uapi/linux/pkt_sched.h (struct tc_KIND_xstats) of Linux 6.12, or of
7.3 if 6.12 lacks them. Names here have units. Only values in these structures can be sampled; RED's
average queue, for example, is not among them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from wanlab.netlink import framing
from wanlab.netlink.structure import Structure

CODEL = """
    u32 largest_packet_bytes  u32 count  u32 last_count  u32 delay_us  s32 drop_next_us
    u32 limit_drops  u32 ecn_marks  u32:flag is_dropping  u32 ce_marks
"""
RED = "u32 early_drops  u32 limit_drops  u32 other_drops  u32 marks"

QDISCS = {
    kind: Structure.of(kind, text)
    for kind, text in {
        "red": RED,
        "choke": f"{RED}  u32 matched_drops",
        "sfb": """
            u32 early_drops  u32 penalty_drops  u32 bucket_drops  u32 queue_drops  u32 child_drops
            u32 marks  u32 longest_bin_packets  u32 most_marking  u32 mean_marking
        """,
        "codel": CODEL,
        # The type before the structure is 0, of a qdisc (TCA_FQ_CODEL_XSTATS_QDISC).
        "fq_codel": """
            u32 -  u32 largest_packet_bytes  u32 limit_drops  u32 ecn_marks  u32 new_flow_count
            u32 new_flows  u32 old_flows  u32 ce_marks  u32 memory_bytes  u32 memory_drops
        """,
        "fq": """
            u64 collected_flows  u64 -  u64 -  u64 throttle_count  u64 flow_limit_drops
            u64 too_long_count  u64 allocation_errors  s64 next_delayed_flow_ns  u32 flows
            u32 inactive_flows  u32 throttled_flows  u32 unthrottle_latency_ns  u64 ce_marks
            u64 horizon_drops  u64 horizon_caps  u64 fastpath_packets
        """,
        "pie": """
            u64:2^64 drop_probability_fraction  u32 delay_us  u32:octets dequeue_rate_bps
            u32:flag is_rate_estimated  u32 in_packets  u32 early_drops  u32 limit_drops
            u32 peak_backlog_packets  u32 ecn_marks
        """,
        "fq_pie": """
            u32 in_packets  u32 early_drops  u32 limit_drops  u32 memory_drops  u32 ecn_marks
            u32 new_flow_count  u32 new_flows  u32 old_flows  u32 memory_bytes
        """,
        # C is the queue of classic senders, L that of scalable ones (RFC 9332).
        "dualpi2": """
            u32:2^32 probability_fraction  u32 classic_delay_us  u32 l4s_delay_us
            u32 classic_in_packets  u32 l4s_in_packets  u32 peak_backlog_packets  u32 ecn_marks
            u32 step_marks  s32 credit  u32 memory_bytes  u32 memory_peak_bytes
            u32 memory_limit_bytes
        """,
        "hhf": """
            u32 limit_drops  u32 heavy_hitter_limit_count  u32 heavy_hitter_count  u32 heavy_hitters
        """,
    }.items()
}

# Of an attribute of the options: struct tc_htb_glob.
HTB_INIT = 2
HTB = Structure.of("htb", "u32 -  u32 -  u32 -  u32 -  u32 direct_packets")

# Tokens are counted in ticks of 64 ns (PSCHED_SHIFT).
CLASSES = {
    kind: Structure.of(f"a class of {kind}", text)
    for kind, text in {
        "htb": """
            u32 lent_packets  u32 borrowed_packets  u32 -  s32:64 tokens_ns  s32:64 ceil_tokens_ns
        """,
        "hfsc": "u64 work_bytes  u64 realtime_work_bytes  u32 period  u32 level",
        "drr": "u32 deficit_bytes",
        "qfq": "u32 weight  u32 largest_packet_bytes",
        "sfq": "s32 allotment_bytes",
        # The type before the structure is 1, of a class.
        "fq_codel": """
            u32 -  s32 deficit_bytes  u32 delay_us  u32 count  u32 last_count  u32:flag is_dropping
            s32 drop_next_us
        """,
    }.items()
}
CLASSFUL = ("htb", "hfsc", "drr", "qfq", "prio", "ets")
WITH_FLOWS = ("sfq", "fq_codel")
"""Qdiscs whose classes are their current flows."""

_HTB_PARMS, _HTB_RATE64, _HTB_CEIL64 = 1, 6, 7
_HTB_OPT = struct.Struct("=8xI8xI12xI")  # of tc_htb_opt: both rates, and the level
_HFSC_CURVES = {1: "realtime_rate_bps", 2: "share_rate_bps", 3: "limit_rate_bps"}
_CURVE = struct.Struct("=III")  # m1, d, m2
_DRR_QUANTUM = 1
_U32, _U64 = struct.Struct("=I"), struct.Struct("=Q")

SETTINGS = {
    "htb": ("rate_bps", "ceil_bps", "level"),
    "hfsc": tuple(_HFSC_CURVES.values()),
    "drr": ("quantum_bytes",),
}


def class_settings(kind: str, options: bytes) -> tuple[int, ...]:
    """Return the settings of a class, in the order of SETTINGS."""
    fields = framing.attributes(options)
    if kind == "htb":
        rate, ceil, level = _HTB_OPT.unpack_from(fields[_HTB_PARMS])
        rate = _number(fields, _HTB_RATE64, _U64, rate)
        ceil = _number(fields, _HTB_CEIL64, _U64, ceil)
        return 8 * rate, 8 * ceil, level
    if kind == "hfsc":
        # A service curve has two slopes; the second is the rate that lasts.
        return tuple(
            8 * _CURVE.unpack_from(fields[curve])[2] if curve in fields else 0
            for curve in _HFSC_CURVES
        )
    if kind == "drr":
        return (_number(fields, _DRR_QUANTUM, _U32, 0),)
    return ()


def _number(fields: Mapping[int, bytes], kind: int, layout: struct.Struct, otherwise: int) -> int:
    return int(layout.unpack_from(fields[kind])[0]) if kind in fields else otherwise


# cake sends attributes instead of a structure: TCA_CAKE_STATS_..., TCA_CAKE_TIN_STATS_...

CAKE = {
    2: ("capacity_bps", 8),
    3: ("memory_limit_bytes", 1),
    4: ("memory_peak_bytes", 1),
    5: ("mean_network_offset_bytes", 1),
    6: ("shortest_packet_bytes", 1),
    7: ("longest_packet_bytes", 1),
    8: ("shortest_adjusted_bytes", 1),
    9: ("longest_adjusted_bytes", 1),
}
CAKE_TINS = 10
CAKE_TIN = {
    2: ("sent_packets", 1),
    3: ("sent_bytes", 1),
    4: ("drops", 1),
    6: ("ack_drops", 1),
    8: ("ecn_marks", 1),
    11: ("backlog_bytes", 1),
    12: ("threshold_rate_bps", 8),
    13: ("target_us", 1),
    14: ("interval_us", 1),
    15: ("indirect_hits", 1),
    16: ("hash_misses", 1),
    17: ("hash_collisions", 1),
    18: ("peak_delay_us", 1),
    19: ("mean_delay_us", 1),
    20: ("base_delay_us", 1),
    21: ("sparse_flows", 1),
    22: ("bulk_flows", 1),
    23: ("unresponsive_flows", 1),
    24: ("longest_packet_bytes", 1),
    25: ("quantum_bytes", 1),
}


# -- marks ----------------------------------------------------------------------------------------

_MARK_NAMES = ("marks", "ecn_marks", "ce_marks")
_CAKE_TIN_MARKS = next(kind for kind, (name, _) in CAKE_TIN.items() if name == "ecn_marks")
_MARKS = {kind: structure.positions(_MARK_NAMES) for kind, structure in QDISCS.items()}


def marks(kind: str, xstats: bytes) -> int:
    """Return how many packets a qdisc has marked with ECN's CE."""
    if not xstats:
        return 0
    if kind == "cake":
        tins = cake_tins(framing.attributes(xstats))
        return sum(int.from_bytes(tin.get(_CAKE_TIN_MARKS, b""), "little") for tin in tins)
    if kind not in _MARKS:
        return 0
    QDISCS[kind].check(xstats)
    return sum(int.from_bytes(xstats[start:end], "little") for start, end in _MARKS[kind])


# -- cake -----------------------------------------------------------------------------------------


def cake_columns(known: Mapping[int, tuple[str, int]]) -> tuple[str, ...]:
    return tuple(name for name, _ in known.values())


def cake_row(attributes: Mapping[int, bytes], known: Mapping[int, tuple[str, int]]) -> list[int]:
    return [
        factor * int.from_bytes(attributes[kind], "little") if kind in attributes else 0
        for kind, (_, factor) in known.items()
    ]


def cake_tins(attributes: Mapping[int, bytes]) -> list[dict[int, bytes]]:
    """Return the attributes of each tin, in order."""
    tins = framing.attributes(attributes.get(CAKE_TINS, b""))
    return [framing.attributes(tin) for _, tin in sorted(tins.items())]
