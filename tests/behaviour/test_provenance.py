"""Test what a record says about the network that it comes from."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from wanlab import Network, shapes

pytestmark = pytest.mark.machine

Start = Callable[..., Network]


def test_a_record_names_its_commands_tools_kernel_and_settings(start: Start) -> None:
    sysctls = {"net.ipv4.tcp_sack": "0"}
    net = start(shapes.single(2), seed=7, wire="gso", line_rate="10Gbps", sysctls=sysctls)
    net["h1"].run("ping -c 1 h2")
    net.root.start(["sleep", "1"])
    origin = net.provenance(parameters={"limit_bytes": 3})
    assert origin.commands == ("h1$ ping -c 1 h2", "root$ sleep 1")
    assert (origin.machine, origin.clock, origin.wire, origin.seed) == (
        *("embedded", "virtual", "gso"),
        7,
    )
    assert origin.settings == {"line_rate_bps": 10_000_000_000, "sysctls": sysctls}
    assert origin.parameters == {"limit_bytes": 3}
    assert origin.kernel_release == net.root.run("uname -r").output.strip()
    assert len(origin.kernel_manifest) == 64
    assert {"iperf3", "ping", "tc", "ip", "bash"} <= set(origin.tools)
    assert origin.tools["iperf3"] == net.root.run("iperf3 --version | head -n 1").output.strip()
    # The commands that gather the provenance are not the user's.
    assert net.provenance().commands[:2] == origin.commands
    assert len(net.provenance().commands) == 4


def test_commands_can_be_passed_explicitly(start: Start) -> None:
    net = start(shapes.single(1))
    net["h1"].run("true")
    assert net.provenance(commands=["client$ ./experiment"]).commands == ("client$ ./experiment",)
