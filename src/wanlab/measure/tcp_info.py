"""Parse the kernel's answer to a socket dump (inet_diag): the state of every TCP connection.

This is what `ss -tin` reads. The structures are those of include/uapi/linux/{inet_diag,tcp}.h of
Linux 7.3; `struct tcp_info` grows at its end, so an older kernel sends a shorter one, and the
result lacks the fields that it does not send.

Names are the kernel's, with units: rates in bit/s (the kernel counts bytes per second), windows in
packets of `snd_mss_bytes`, and `snd_cwnd_bytes` as their product. A pacing rate that does not
limit is 0; `snd_ssthresh_packets` is 2147483647 until the first loss.
"""

import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from wanlab.errors import PeerError
from wanlab.netlink import framing

SOCK_DIAG_BY_FAMILY, TCPDIAG_GETSOCK = 20, 18
ALL_EXTENSIONS = 0xFF
ESTABLISHED_AND_ENDING = 0xFFF & ~(1 << 10 | 1 << 6)  # neither LISTEN nor TIME_WAIT

STATES = (
    "unknown",
    "established",
    "syn_sent",
    "syn_recv",
    "fin_wait1",
    "fin_wait2",
    "time_wait",
    "close",
    "close_wait",
    "last_ack",
    "listen",
    "closing",
    "new_syn_recv",
)
# What the ends have agreed upon; "accecn" is accurate feedback (RFC 9768), "pending" the handshake.
ECN_MODES = ("off", "rfc3168", "accecn", "pending")
CONGESTION_STATES = ("open", "disorder", "cwr", "recovery", "loss")

# family, state, timer, retransmissions, ports, addresses, interface, cookie,
# expires, rqueue, wqueue, uid, inode
_MESSAGE = struct.Struct("=BBBB4s16s16sIQIIIII")
_PORTS = struct.Struct("!HH")
_MAPPED = bytes(10) + b"\xff\xff"

_MEMINFO, _INFO, _VEGASINFO, _CONG, _DCTCPINFO, _BBRINFO = 1, 2, 3, 4, 9, 16  # INET_DIAG_...
ALGORITHMS = {_BBRINFO: "bbr", _VEGASINFO: "vegas", _DCTCPINFO: "dctcp"}

# struct tcp_info, in order: format and name of each field.
_TCP_INFO = """
    B state             B congestion_state  B retransmits       B probes
    B backoff           B options           B window_scales     B flags
    I rto_us            I ato_us            I snd_mss_bytes     I rcv_mss_bytes
    I unacked_packets   I sacked_packets    I lost_packets      I retrans_packets
    I fackets
    I last_data_sent_ms I last_ack_sent_ms  I last_data_recv_ms I last_ack_recv_ms
    I pmtu_bytes        I rcv_ssthresh_bytes
    I rtt_us            I rttvar_us
    I snd_ssthresh_packets I snd_cwnd_packets
    I advmss_bytes      I reordering_packets
    I rcv_rtt_us        I rcv_space_bytes
    I total_retrans_packets
    Q pacing_rate_bps   Q max_pacing_rate_bps
    Q bytes_acked       Q bytes_received
    I segs_out_packets  I segs_in_packets
    I notsent_bytes     I min_rtt_us
    I data_segs_in_packets I data_segs_out_packets
    Q delivery_rate_bps
    Q busy_time_us      Q rwnd_limited_us   Q sndbuf_limited_us
    I delivered_packets I delivered_ce_packets
    Q bytes_sent        Q bytes_retrans
    I dsack_dups        I reord_seen        I rcv_ooo_packets
    I snd_wnd_bytes     I rcv_wnd_bytes     I rehash
    H total_rto         H total_rto_recoveries I total_rto_time_ms
    I received_ce_packets
    I delivered_ect1_bytes I delivered_ect0_bytes I delivered_ce_bytes
    I received_ect1_bytes  I received_ect0_bytes  I received_ce_bytes
    I ecn_flags
"""
_FORMATS, _NAMES = _TCP_INFO.split()[::2], _TCP_INFO.split()[1::2]
_RATES = ("pacing_rate_bps", "max_pacing_rate_bps", "delivery_rate_bps")
_ECN_MODE = 3  # mask of the mode in ecn_flags
_UNLIMITED = (1 << 64) - 1


@dataclass(frozen=True, kw_only=True)
class TcpSocket:
    """One TCP connection at one moment, from one of its ends."""

    state: str
    local_address: str
    local_port: int
    remote_address: str
    remote_port: int
    inode: int
    cookie: int
    congestion: str
    """The congestion control; "" if the dump does not name it."""
    info: Mapping[str, Any]
    """struct tcp_info, by the names above; empty for a socket that has none."""
    memory: Mapping[str, int]
    algorithm: Mapping[str, Any]
    """The state that only BBR, Vegas or DCTCP has."""

    @property
    def flow(self) -> str:
        """The flow that this end sends: "10.0.0.1:52480 > 10.0.0.3:5201"."""
        return flow_name(self.local_address, self.local_port, self.remote_address, self.remote_port)

    def row(self) -> dict[str, Any]:
        """Return the flow, its congestion control and struct tcp_info as a row of a table."""
        return {"flow": self.flow, "congestion": self.congestion, **self.info}


class TcpEnds(NamedTuple):
    """The two ends of a connection, and its state as raw attributes."""

    local_address: str
    local_port: int
    remote_address: str
    remote_port: int
    cookie: int
    congestion: str
    info: bytes
    fields: Mapping[int, bytes]

    @property
    def flow(self) -> str:
        return flow_name(*self[:4])


def decode(dump: bytes) -> list[TcpSocket]:
    """Parse one whole dump of sockets."""
    return [_socket(message) for message in framing.messages(dump, SOCK_DIAG_BY_FAMILY)]


def ends(message: bytes) -> TcpEnds:
    """Parse only the fields that identify the connection; the rest stays as raw attributes."""
    family, *_, ports, source, target, _, cookie, _, _, _, _, _ = _unpacked(message)
    fields = framing.attributes(message[_MESSAGE.size :])
    return TcpEnds(
        address_text(family, source),
        ports[0],
        address_text(family, target),
        ports[1],
        cookie,
        framing.text(fields.get(_CONG, b"")),
        fields.get(_INFO, b""),
        fields,
    )


def columns(infos: Sequence[bytes]) -> dict[str, Any]:
    """Parse many structures at once; return the values of `decode_info` as columns."""
    lengths = {len(info) for info in infos}
    if len(lengths) != 1:
        raise PeerError(f"the kernel sent structs tcp_info of different lengths: {sorted(lengths)}")
    layout, names = _layout(lengths.pop())
    kinds = {"B": "u1", "H": "<u2", "I": "<u4", "Q": "<u8"}
    dtype = np.dtype([(name, kinds[kind]) for name, kind in zip(names, _FORMATS, strict=False)])
    whole = np.frombuffer(b"".join(info[: layout.size] for info in infos), dtype=dtype)
    values: dict[str, Any] = {name: whole[name].astype(np.int64) for name in names}
    values["state"] = [_name(STATES, number) for number in values["state"].tolist()]
    values["congestion_state"] = [
        _name(CONGESTION_STATES, number) for number in values["congestion_state"].tolist()
    ]
    if "ecn_flags" in values:
        modes = values["ecn_flags"] & _ECN_MODE
        values["ecn_mode"] = [ECN_MODES[number] for number in modes.tolist()]
    for name in _RATES:
        if name in values:
            # Unlimited is all ones: -1 once it is a number with a sign.
            values[name] = np.where(values[name] < 0, 0, 8 * values[name])
    return _completed(values)


def decode_info(data: bytes) -> dict[str, Any]:
    """Parse a struct tcp_info, as from getsockopt(TCP_INFO), as far as the kernel filled it."""
    layout, names = _layout(len(data))
    info: dict[str, Any] = dict(zip(names, layout.unpack_from(data), strict=True))
    if "snd_cwnd_packets" not in info:
        raise PeerError(f"the kernel sent a struct tcp_info of {len(data)} bytes")
    info["state"] = _name(STATES, info["state"])
    info["congestion_state"] = _name(CONGESTION_STATES, info["congestion_state"])
    if "ecn_flags" in info:
        info["ecn_mode"] = ECN_MODES[info["ecn_flags"] & _ECN_MODE]
    for name in _RATES:
        if name in info:
            info[name] = 0 if info[name] == _UNLIMITED else 8 * info[name]
    return _completed(info)


def _completed(info: dict[str, Any]) -> dict[str, Any]:
    """Add bit fields and derived values, to one structure or to columns."""
    scales, flags = info.pop("window_scales"), info.pop("flags")
    # Bit fields, lowest bits first on a little-endian computer.
    info["snd_wscale"], info["rcv_wscale"] = scales & 0xF, scales >> 4
    info["app_limited"] = flags & 1
    if "ecn_flags" in info:
        # The mode, whether the option was seen, and which parts of AccECN the path drops.
        info["accecn_fail_mode"] = info.pop("ecn_flags") >> 4 & 0xF
    info["snd_cwnd_bytes"] = info["snd_cwnd_packets"] * info["snd_mss_bytes"]
    info["in_flight_packets"] = (
        info["unacked_packets"]
        - info["sacked_packets"]
        - info["lost_packets"]
        + info["retrans_packets"]
    )
    return info


@cache
def _layout(length: int) -> tuple[struct.Struct, list[str]]:
    """Return the layout and names of the fields that fit entirely into the length."""
    layout = struct.Struct("=")
    for count in range(1, len(_NAMES) + 1):
        longer = struct.Struct("=" + "".join(_FORMATS[:count]))
        if longer.size > length:
            return layout, _NAMES[: count - 1]
        layout = longer
    return layout, _NAMES


def flow_name(local: str, local_port: int, remote: str, remote_port: int) -> str:
    """Name the flow that one end sends: "10.0.0.1:52480 > 10.0.0.3:5201"."""
    return f"{_with_port(local, local_port)} > {_with_port(remote, remote_port)}"


def _unpacked(message: bytes) -> tuple[Any, ...]:
    """Unpack the fixed part of a message; ports in host byte order."""
    if len(message) < _MESSAGE.size:
        raise PeerError(f"the kernel sent a socket of {len(message)} bytes")
    values = list(_MESSAGE.unpack_from(message))
    values[4] = _PORTS.unpack(values[4])
    return tuple(values)


def _socket(message: bytes) -> TcpSocket:
    (family, state, _, _, ports, source, target, _, cookie, *_, inode) = _unpacked(message)
    local_port, remote_port = ports
    fields = framing.attributes(message[_MESSAGE.size :])
    return TcpSocket(
        state=_name(STATES, state),
        local_address=address_text(family, source),
        local_port=local_port,
        remote_address=address_text(family, target),
        remote_port=remote_port,
        inode=inode,
        cookie=cookie,
        congestion=framing.text(fields.get(_CONG, b"")),
        info=decode_info(fields[_INFO]) if _INFO in fields else {},
        memory=_memory(fields[_MEMINFO]) if _MEMINFO in fields else {},
        algorithm=algorithm(fields),
    )


def _memory(data: bytes) -> dict[str, int]:
    names = ("receive_bytes", "queued_send_bytes", "forward_bytes", "send_bytes")
    return dict(zip(names, struct.unpack_from("=IIII", data), strict=True))


def algorithm(fields: Mapping[int, bytes]) -> dict[str, Any]:
    if _BBRINFO in fields:
        low, high, min_rtt, pacing_gain, cwnd_gain = struct.unpack_from("=5I", fields[_BBRINFO])
        return {
            "bbr_bandwidth_bps": 8 * (high << 32 | low),
            "bbr_min_rtt_us": min_rtt,
            "bbr_pacing_gain": pacing_gain / 256,
            "bbr_cwnd_gain": cwnd_gain / 256,
        }
    if _VEGASINFO in fields:
        names = ("vegas_enabled", "vegas_rtt_count", "vegas_base_rtt_us", "vegas_min_rtt_us")
        return dict(zip(names, struct.unpack_from("=4I", fields[_VEGASINFO]), strict=True))
    if _DCTCPINFO in fields:
        enabled, ce_state, alpha, ce_bytes, all_bytes = struct.unpack_from(
            "=HH3I", fields[_DCTCPINFO]
        )
        return {
            "dctcp_enabled": enabled,
            "dctcp_ce_state": ce_state,
            "dctcp_alpha": alpha,
            "dctcp_ce_bytes": ce_bytes,
            "dctcp_bytes": all_bytes,
        }
    return {}


@cache
def address_text(family: int, data: bytes) -> str:
    if family == socket.AF_INET:
        return socket.inet_ntop(family, data[:4])
    if family == socket.AF_INET6:
        # A server that listens for both families sees IPv4 addresses mapped to IPv6.
        if data.startswith(_MAPPED):
            return socket.inet_ntop(socket.AF_INET, data[12:16])
        return socket.inet_ntop(family, data)
    raise PeerError(f"the kernel sent a socket of the unknown family {family}")


def _with_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _name(names: Sequence[str], number: int) -> str:
    return names[number] if number < len(names) else str(number)
