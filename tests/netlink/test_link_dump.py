"""Compare a captured dump of interfaces with `ip -s -j link` at the same moment."""

import json
from pathlib import Path

import pytest

from wanlab.errors import PeerError
from wanlab.netlink.link_dump import decode

COUNTERS = Path(__file__).parents[1] / "golden" / "counters"
DUMP = (COUNTERS / "links.bin").read_bytes()


def test_every_interface_has_the_counters_that_ip_shows() -> None:
    shown = json.loads((COUNTERS / "links.json").read_bytes())
    found = decode(DUMP)
    assert [
        (link.index, link.name, link.mtu_bytes, link.is_up, link.is_loopback) for link in found
    ] == [
        (
            link["ifindex"],
            link["ifname"],
            link["mtu"],
            "UP" in link["flags"],
            "LOOPBACK" in link["flags"],
        )
        for link in shown
    ]
    for link, by_ip in zip(found, shown, strict=True):
        rx, tx = by_ip["stats64"]["rx"], by_ip["stats64"]["tx"]
        assert (link.rx_bytes, link.rx_packets) == (rx["bytes"], rx["packets"])
        assert (link.tx_bytes, link.tx_packets) == (tx["bytes"], tx["packets"])
        assert (link.rx_errors, link.tx_errors) == (rx["errors"], tx["errors"])
        assert (link.rx_drops, link.tx_drops) == (rx["dropped"], tx["dropped"])
    assert sum(link.rx_bytes for link in found) > 0


def test_the_kind_of_a_software_link_is_known() -> None:
    kinds = {link.name: link.kind for link in decode(DUMP)}
    assert (kinds["lo"], kinds["s1"], kinds["s1-eth1"]) == ("", "bridge", "veth")


def test_a_row_names_its_port() -> None:
    row = decode(DUMP)[-1].row()
    assert row["port"] == "s1-eth1"
    assert row["rx_bytes"] == decode(DUMP)[-1].rx_bytes


@pytest.mark.parametrize("length", [10, 20, 100, len(DUMP) - 1])
def test_a_truncated_dump_is_refused(length: int) -> None:
    with pytest.raises(PeerError):
        decode(DUMP[:length])
