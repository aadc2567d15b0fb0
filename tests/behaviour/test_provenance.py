"""Test what a record says about the network that it comes from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

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
        "embedded",
        "virtual",
        "gso",
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


def test_a_record_names_programs_that_were_replaced_in_the_machine(start: Start) -> None:
    """Root in a node can make iperf3 print anything; the record of what it printed says so."""
    net = start(shapes.single(2))
    assert net.provenance().warnings == ()
    net["h1"].run("touch /etc/motd /opt/x; python3 -c 'import json'")
    assert net.provenance().warnings == ()
    net["h1"].run("cp /bin/true /usr/bin/new-iperf3 && mv /usr/bin/new-iperf3 $(which iperf3)")
    net["h2"].run("echo /tmp/x.so > /etc/ld.so.preload; rm /usr/bin/env", check=False)
    net["h2"].run("mkdir /usr/aa /etc/aa; cd /etc/aa; seq 11000 | xargs touch", check=False)
    (warning,) = net.provenance().warnings
    assert warning == (
        "programs were changed in the machine: /etc/ld.so.preload, /usr/bin/env, /usr/bin/iperf3"
    )


def test_a_program_that_fails_unnoticed_becomes_a_warning(start: Start) -> None:
    net = start(shapes.single(2))
    net["h1"].start("echo first >&2; echo last >&2; exit 3")
    for is_seen in (True, False):
        process = net["h1"].start("exit 4")
        net.run_for("1s")
        assert (process.status if is_seen else process.output) == (4 if is_seen else "")
    net["h2"].start("exit 5", on_output=lambda data: None)
    net["h2"].start("sleep 60").stop()
    net["h2"].start("true")
    net.run_for("1s")
    expected = ["`echo first >&2; echo last >&2; exit 3` in h1 ended with status 3: last"]
    assert net.warnings == expected
    assert net.provenance().warnings == tuple(expected)


def test_warnings_can_be_read_after_the_end() -> None:
    with Network(shapes.single(2)) as net:
        net["h1"].start("exit 3")
        net.run_for("1s")
        net["h2"].run("cp /bin/true /usr/bin/x && mv /usr/bin/x $(which iperf3)")
    assert net.warnings == [
        "programs were changed in the machine: /usr/bin/iperf3",
        "`exit 3` in h1 ended with status 3",
    ]


def test_a_network_can_be_given_by_its_file(tmp_path: Path) -> None:
    (tmp_path / "net.yaml").write_text(
        "nodes: [{host: h1}, {host: h2}]\nlinks: [{link: [h1, h2]}]\n"
    )
    with Network(tmp_path / "net.yaml") as net:
        assert sorted(node.name for node in net.topology.nodes) == ["h1", "h2"]
