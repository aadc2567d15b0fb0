"""Compare plans as shell scripts with tests/golden/plans (`--accept` rewrites the files)."""

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from wanlab.operations.operation import here_document
from wanlab.plan import Wire, plan_script
from wanlab.plan.shaping import shape_lines
from wanlab.topology import (
    Conditions,
    Controller,
    Host,
    NetFlow,
    Port,
    Queue,
    Router,
    SFlow,
    Switch,
    Topology,
    link,
    load,
    shapes,
)

LAB14 = Path(__file__).parents[2] / "src/wanlab/labs/units/lab14/topology.mn"
Golden = Callable[[str, str], None]


def routed() -> Topology:
    """Return two networks with a router between them; one link is slow, the other has losses."""
    return Topology(
        name="routed",
        nodes=(
            Host("h1", ip="10.0.1.2/24", default_route="10.0.1.1"),
            Host("h2", ip="10.0.2.2/24", default_route="via 10.0.2.1 dev h2-eth0"),
            Host("h3", start_command="echo it's started > /tmp/h3"),
            Router("r1", routes=("10.9.0.0/16 via 10.0.2.2",)),
            Switch("s1", stp=True, ip="10.0.3.9/24"),
        ),
        links=(
            link("h1", Port("r1", ip="10.0.1.1/24"), a_to_b={"rate": "10Mbps", "delay": "5ms"}),
            link(
                Port("r1", ip="10.0.2.1/24", mtu=9000),
                Port("h2", mtu=9000, speed_bps=1_000_000_000),
                loss="0.01%",
                delay="1.5ms",
                jitter="100us",
            ),
            link("h3", "s1"),
            link(Port("r1", ip="fd00::1/64", mac="02:11:22:33:44:55"), "s1"),
        ),
    )


def switched() -> Topology:
    """Return two Open vSwitches with controllers, one that learns alone, and two VLAN bridges."""
    return Topology(
        name="switched",
        nodes=(
            Host("h1", vlan_interfaces=(("10.1.0.1/24", 10),)),
            Host("h2", private_directories=(("/var/log", None), ("/srv", "/tmp/h2"))),
            Host("h3", cpu=0.25),
            Switch(
                "s1",
                kind="ovs",
                controllers=("c0", "c1"),
                protocols=("OpenFlow10", "OpenFlow13"),
                listen_port=6654,
                ip="10.0.0.100/8",
                netflow=NetFlow("10.0.0.1:9996", add_id=True),
                sflow=SFlow("10.0.0.1:6343", sampling=10),
            ),
            Switch("s2", kind="ovs", dpid="ab", stp=True, priority=4096, datapath="user"),
            Switch("s3", stp=True, priority=100),
            Switch("s4"),
            Controller("c0"),
            Controller("c1", kind="remote", address="10.0.0.3", port=6653),
        ),
        links=(
            link("h1", Port("s1", trunks=(10,), vlan=1)),
            link("s1", "s2"),
            link("s2", "s3", rate="10Mbps"),
            link("h2", Port("s4", vlan=10)),
            link(Port("s4", trunks=(10, 20)), "s3"),
            link("h3", "s4"),
        ),
    )


def ring() -> Topology:
    """Return a network with a router that speaks OSPF."""
    return Topology(
        nodes=(
            Router("r1", frr="router ospf\n network 10.0.0.0/8 area 0\n"),
            Router("r2", external_interfaces=("eth7",)),
        ),
        links=(link(Port("r1", ip="10.0.1.1/24"), Port("r2", ip="10.0.1.2/24")),),
    )


def varying() -> Topology:
    """Return a link with a trace in one direction and a schedule in the other."""
    return Topology(
        nodes=(Host("h1"), Host("h2")),
        links=(
            link(
                "h1",
                "h2",
                delay="5ms",
                a_to_b={"trace": "1 1 2 9", "trace_once": True, "queue": "codel"},
                b_to_a={
                    "rate": "10Mbps",
                    "schedule": [{"at": "1s", "rate": "2Mbps"}, {"at": "1500ms", "loss": "1%"}],
                    "schedule_repeat": "3s",
                },
            ),
        ),
    )


TOPOLOGIES: dict[str, tuple[Callable[[], Topology], Wire]] = {
    "lab14": (lambda: load(LAB14), "gso"),
    "dumbbell-gso": (lambda: shapes.dumbbell(2, rate="10Mbps", delay="20ms"), "gso"),
    "dumbbell-mtu": (lambda: shapes.dumbbell(2, rate="10Mbps", delay="20ms"), "mtu"),
    "routed": (routed, "mtu"),
    "switched": (switched, "gso"),
    "ring": (ring, "gso"),
    "varying": (varying, "gso"),
}

KINDS = ("fifo", "fq", "fq_codel", "codel", "red", "pie", "fq_pie", "sfq", "cake", "sfb", "choke")
QUEUES = {
    **{kind: Queue(kind) for kind in KINDS},
    **{f"{kind}-bytes": Queue(kind, limit_bytes=2_500_000) for kind in KINDS},
    **{f"{kind}-packets": Queue(kind, limit_packets=100) for kind in KINDS},
    "codel-options": Queue(
        "codel",
        limit_packets=17476,
        options=(("target", "5ms"), ("interval", "100ms"), ("ecn", "")),
    ),
    "red-options": Queue(
        "red", limit_bytes=26214400, options=(("max", "8738133"), ("adaptive", ""))
    ),
}


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_a_script_has_the_commands_that_a_person_would_type(name: str, golden: Golden) -> None:
    make, wire = TOPOLOGIES[name]
    golden(f"plans/{name}.sh", plan_script(make(), wire))


@pytest.mark.parametrize(
    ("name", "conditions"),
    [
        ("queues", Conditions()),
        ("queues-rate", Conditions(rate_bps=10_000_000)),
        ("queues-delay", Conditions(delay_ns=20_000_000)),
        ("queues-rate-delay", Conditions(rate_bps=10_000_000, delay_ns=20_000_000)),
    ],
)
def test_every_queue_is_built_as_in_the_golden_files(
    name: str, conditions: Conditions, golden: Golden
) -> None:
    parts = []
    for what, queue in QUEUES.items():
        port = Port("s1", name="s1-eth1", conditions=replace(conditions, queue=queue))
        parts += [f"# {what}", *(f"tc {line}" for line in shape_lines(port)), ""]
    golden(f"plans/{name}.sh", "\n".join(parts) + "\n")


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_the_same_topology_gives_the_same_plan(name: str) -> None:
    make, wire = TOPOLOGIES[name]
    assert plan_script(make(), wire) == plan_script(make(), wire)


def test_a_script_changes_nothing_outside_a_machine(tmp_path: Path) -> None:
    script = tmp_path / "plan.sh"
    script.write_text(plan_script(load(LAB14)).replace("/etc/hosts", str(tmp_path / "hosts")))
    for name in ("sysctl", "ip", "ethtool", "tc"):
        (tmp_path / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/changed\n")
        (tmp_path / name).chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(["sh", script], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith(f"run: wanlab exec -- sh {script}\n")
    assert not (tmp_path / "hosts").exists()
    assert not (tmp_path / "changed").exists()


def test_a_start_command_stays_within_its_comment() -> None:
    """Otherwise the second line of a foreign topology's command would run as a separate command."""
    topology = Topology(nodes=(Host("h1", start_command="echo one\necho two\r\necho three"),))
    lines = plan_script(topology).splitlines()
    start = lines.index("# start command of h1: echo one")
    assert lines[start + 1 : start + 3] == ["# echo two", "# echo three"]
    assert lines[start + 3].startswith("ip netns exec h1 sh -c 'echo one")


@pytest.mark.parametrize("text", ["", "a\n", "a\nEND\necho INJECTED\n", "$(id) `id`\\\n"])
def test_no_line_of_a_text_ends_its_here_document(text: str) -> None:
    done = subprocess.run(
        ["sh", "-c", here_document("cat", text)], stdout=subprocess.PIPE, text=True, check=True
    )
    assert done.stdout == text
