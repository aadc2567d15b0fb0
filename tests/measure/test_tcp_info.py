"""Compare our decoding of tcp_info with the output of ss for the same bytes.

bbr and cubic are captured on Linux 6.18, vegas and dctcp on our kernel 6.12, accecn on our kernel 7.3
(through a queue dualpi2 of 10 Mbit/s, which marks).
"""

import re
from pathlib import Path

import pytest

from wanlab.errors import PeerError
from wanlab.measure import tcp_info
from wanlab.netlink import framing

COUNTERS = Path(__file__).parent.parent / "golden" / "counters"
CAPTURES = ["bbr", "cubic", "vegas", "dctcp", "accecn"]


def decoded(name: str) -> list[tcp_info.TcpSocket]:
    return tcp_info.decode((COUNTERS / f"tcp_{name}.bin").read_bytes())


def messages(name: str) -> list[bytes]:
    dump = (COUNTERS / f"tcp_{name}.bin").read_bytes()
    return list(framing.messages(dump, tcp_info.SOCK_DIAG_BY_FAMILY))


def lines_of_ss(name: str) -> list[tuple[str, str]]:
    """Return for each socket the line with its addresses and the line with its state."""
    lines = (COUNTERS / f"tcp_{name}.txt").read_text().splitlines()[1:]
    return list(zip(lines[::2], lines[1::2], strict=True))


def number(line: str, name: str) -> float:
    """Return the number that ss prints after a name; 0 if it prints none."""
    match = re.search(rf" {name}[: ]([\d.]+)", line)
    return float(match[1]) if match else 0


@pytest.mark.parametrize("name", CAPTURES)
def test_addresses_are_as_ss_shows_them(name: str) -> None:
    assert [socket.flow for socket in decoded(name)] == [
        " > ".join(line.split()[3:5]) for line, _ in lines_of_ss(name)
    ]


@pytest.mark.parametrize("name", CAPTURES)
def test_the_state_is_as_ss_shows_it(name: str) -> None:
    for socket, (_, line) in zip(decoded(name), lines_of_ss(name), strict=True):
        info = socket.info
        rtt_ms, rttvar_ms = re.findall(r" rtt:([\d.]+)/([\d.]+)", line)[0]
        assert socket.state == info["state"] == "established"
        assert f" {socket.congestion} " in line
        assert (info["rtt_us"] / 1000, info["rttvar_us"] / 1000) == (
            float(rtt_ms),
            float(rttvar_ms),
        )
        assert info["rto_us"] / 1000 == number(line, "rto")
        assert info["min_rtt_us"] / 1000 == number(line, "minrtt")
        assert info["busy_time_us"] / 1000 == number(line, "busy")
        assert info["pacing_rate_bps"] == number(line, "pacing_rate")
        assert info["delivery_rate_bps"] == number(line, "delivery_rate")
        assert info["snd_cwnd_bytes"] == number(line, "cwnd") * number(line, "mss")
        for mine, its in {
            "snd_cwnd_packets": "cwnd",
            "snd_mss_bytes": "mss",
            "pmtu_bytes": "pmtu",
            "bytes_sent": "bytes_sent",
            "bytes_acked": "bytes_acked",
            "bytes_received": "bytes_received",
            "bytes_retrans": "bytes_retrans",
            "segs_out_packets": "segs_out",
            "data_segs_in_packets": "data_segs_in",
            "delivered_packets": "delivered",
            "delivered_ce_packets": "delivered_ce",
            "unacked_packets": "unacked",
            "notsent_bytes": "notsent",
            "snd_wnd_bytes": "snd_wnd",
            "rcv_ssthresh_bytes": "rcv_ssthresh",
        }.items():
            assert info[mine] == number(line, its), mine
        retransmitted = re.findall(r" retrans:\d+/(\d+)", line) or ["0"]
        assert info["total_retrans_packets"] == int(retransmitted[0])
        assert info["snd_ssthresh_packets"] in (number(line, "ssthresh"), 0x7FFFFFFF)
        assert info["app_limited"] == (" app_limited" in line)
        assert (info["snd_wscale"], info["rcv_wscale"]) == tuple(
            map(int, re.findall(r"wscale:(\d+),(\d+)", line)[0])
        )
        memory = re.findall(r"skmem:\(r(\d+),rb\d+,t(\d+),tb\d+,f(\d+),w(\d+),", line)[0]
        names = ("receive_bytes", "send_bytes", "forward_bytes", "queued_send_bytes")
        assert tuple(socket.memory[name] for name in names) == tuple(map(int, memory))


def test_the_state_of_bbr_is_as_ss_shows_it() -> None:
    for socket, (_, line) in zip(decoded("bbr"), lines_of_ss("bbr"), strict=True):
        bandwidth, min_rtt, pacing_gain, cwnd_gain = re.findall(
            r"bbr:\(bw:(\d+)bps,mrtt:([\d.]+),pacing_gain:([\d.]+),cwnd_gain:([\d.]+)\)", line
        )[0]
        assert socket.algorithm["bbr_bandwidth_bps"] == int(bandwidth)
        assert socket.algorithm["bbr_min_rtt_us"] / 1000 == float(min_rtt)
        assert round(socket.algorithm["bbr_pacing_gain"], 5) == float(pacing_gain)
        assert round(socket.algorithm["bbr_cwnd_gain"], 5) == float(cwnd_gain)


def test_the_state_of_dctcp_is_as_ss_shows_it() -> None:
    (flow,) = (socket for socket in decoded("dctcp") if socket.congestion == "dctcp")
    line = next(line for _, line in lines_of_ss("dctcp") if " dctcp " in line)
    assert flow.algorithm["dctcp_alpha"] == int(re.findall(r"alpha:(\d+)", line)[0])
    assert flow.algorithm["dctcp_enabled"] == 1


def test_accurate_ecn_says_how_many_bytes_were_marked() -> None:
    (flow,) = decoded("accecn")
    info = flow.info
    assert (info["ecn_mode"], info["accecn_fail_mode"]) == ("accecn", 0)
    assert info["delivered_ce_bytes"] == 12_924
    # Each acknowledged byte arrived with ECT(0) or CE; the SYN counts as a byte.
    assert (
        info["delivered_ect0_bytes"] + info["delivered_ect1_bytes"] + info["delivered_ce_bytes"]
        == info["bytes_acked"] - 1
    )


def test_many_structures_are_decoded_like_single_ones() -> None:
    (raw,) = (tcp_info.ends(message).info for message in messages("accecn"))
    columns = tcp_info.columns([raw, raw])
    one = tcp_info.decode_info(raw)
    assert {name: list(values) for name, values in columns.items()} == {
        name: [value, value] for name, value in one.items()
    }


def test_a_kernel_without_accurate_ecn_has_no_columns_of_it() -> None:
    assert not [name for name in decoded("dctcp")[0].info if "ecn" in name or "ect" in name]


def test_the_state_of_vegas_is_read() -> None:
    (flow,) = (socket for socket in decoded("vegas") if socket.congestion == "vegas")
    assert flow.algorithm["vegas_enabled"] == 1
    # Vegas uses the RTTs of one window; the kernel smooths all RTTs.
    assert flow.algorithm["vegas_base_rtt_us"] < flow.algorithm["vegas_min_rtt_us"]


def test_a_row_names_the_flow_and_its_congestion_control_first() -> None:
    row = decoded("cubic")[1].row()
    assert list(row)[:3] == ["flow", "congestion", "state"]
    assert row["congestion"] == "cubic"


def test_an_older_kernels_shorter_structure_gives_fewer_columns() -> None:
    whole = (COUNTERS / "tcp_cubic.bin").read_bytes()
    info = decoded("cubic")[1].info
    # Linux 2.6 ended with tcpi_total_retrans: 104 bytes.
    start = whole.rindex(bytes([1, 0, 0, 0, 0, 7]))  # established, open, timestamps, SACK, scale
    old = tcp_info.decode_info(whole[start : start + 104])
    assert {name: info[name] for name in old} == old
    assert "total_retrans_packets" in old
    assert "pacing_rate_bps" not in old
    with pytest.raises(PeerError, match="a struct tcp_info of 40 bytes"):
        tcp_info.decode_info(whole[start : start + 40])


def test_a_dump_truncated_anywhere_is_refused() -> None:
    dump = (COUNTERS / "tcp_bbr.bin").read_bytes()
    for end in range(len(dump)):
        with pytest.raises(PeerError):
            tcp_info.decode(dump[:end])
