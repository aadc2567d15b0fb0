"""Test the environment of programs: files, streams, terminals, and the tools of the course."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from wanlab import Network, Process, Topology, load, shapes
from wanlab.errors import CommandError
from wanlab.plan import plan_script

pytestmark = pytest.mark.machine

Start = Callable[..., Network]
LAB14 = Path(__file__).parents[2] / "src/wanlab/labs/units/lab14/topology.mn"
PLANS = Path(__file__).parents[1] / "golden" / "plans"

QDISCS = [
    "netem delay 20ms",
    "netem delay 20ms 5ms 25%",
    "netem delay 20ms 5ms distribution normal",
    "netem delay 20ms 5ms distribution pareto",
    "netem delay 20ms 5ms distribution paretonormal",
    "netem loss 50% 50%",
    "netem corrupt 0.01%",
    "netem delay 10ms reorder 25% 50%",
    "netem duplicate 50%",
    "tbf rate 10gbit burst 5000000 limit 15000000",
    "tbf rate 100mbit burst 50000 limit 2621440",
    "fq maxrate 5gbit",
    "red limit 26214400 max 8738133 min 2184533 burst 2185 avpkt 1000 bandwidth 1gbit adaptative",
    "sfq perturb 10",
    "codel limit 17476 target 5ms interval 100ms",
    "fq_codel limit 17476 target 5ms interval 100ms flows 2",
    "pie limit 17476 target 22ms tupdate 5ms alpha 2 beta 25",
    "htb",
    "cake bandwidth 100mbit",
    "fq_pie",
    "drr",
    "hfsc",
    "prio",
    "sfb",
    "choke limit 1000 min 83 max 250 avpkt 1000 burst 84 bandwidth 10mbit",
    "pfifo limit 10",
    "bfifo limit 10000",
    "ets bands 3",
    "qfq",
    "multiq",
    "mqprio",
    "etf clockid CLOCK_TAI delta 1000",
    "hhf",
    "gred setup DPs 3 default 0",
    "skbprio",
    "ingress",
    "clsact",
]
NEEDS_QUEUES = ("multiq", "mqprio")  # these need a NIC with several queues
LOADED = ["reno", "cubic", "bbr"]
ALGORITHMS = ["bic", "htcp", "vegas", "westwood", "highspeed", "hybla", "veno", "scalable", "lp"]
ALGORITHMS += ["yeah", "illinois", "dctcp", "cdg", "nv"]


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    """Share one network between tests that do not change it, on each kind of machine."""
    folder = tmp_path_factory.mktemp("work")
    with Network(shapes.minimal(), folder=folder) as made:
        yield made


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    """Share one network for features that only our own kernel guarantees."""
    with Network(shapes.minimal(), folder=tmp_path_factory.mktemp("work")) as made:
        yield made


# -- the kernel -------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [it for it in QDISCS if not it.startswith(NEEDS_QUEUES)])
def test_the_kernel_has_the_queueing_discipline(embedded: Network, words: str) -> None:
    try_queue(embedded, words)


def try_queue(net: Network, words: str) -> None:
    where = "" if words in ("ingress", "clsact") else "root"
    net.root.run(f"tc qdisc add dev s1-eth1 {where} {words}")
    shown = net.root.run("tc qdisc show dev s1-eth1").output
    net.root.run(f"tc qdisc del dev s1-eth1 {where or words}")
    assert f"qdisc {words.split()[0]} " in shown


@pytest.mark.parametrize(
    "name",
    [
        *(
            pytest.param(f"queues{part}", marks=pytest.mark.long)
            for part in ("", "-rate", "-delay")
        ),
        "queues-rate-delay",
    ],
)
def test_the_kernel_accepts_every_queue_of_a_plan(embedded: Network, name: str) -> None:
    parts = (PLANS / f"{name}.sh").read_text().split("\n\n")
    refused = {}
    for part in filter(None, parts):
        done = embedded.root.run(f"set -e\n{part}", check=False)
        if done.status:
            refused[part] = done.stderr
        embedded.root.run("tc qdisc del dev s1-eth1 root", check=False)
    assert refused == {}


def test_the_class_tree_of_lab_20_is_built(net: Network) -> None:
    script = """
        tc qdisc add dev s1-eth1 root handle 1: htb
        tc class add dev s1-eth1 parent 1: classid 1:1 htb rate 1gbit ceil 1gbit
        tc class add dev s1-eth1 parent 1:1 classid 1:10 htb rate 700mbit ceil 1gbit
        tc class add dev s1-eth1 parent 1:1 classid 1:20 htb rate 300mbit ceil 1gbit
        tc filter add dev s1-eth1 protocol ip parent 1:0 prio 1 u32 match ip src 10.0.0.1 flowid 1:10
        tc filter show dev s1-eth1
        tc qdisc del dev s1-eth1 root
    """
    assert "flowid 1:10" in net.root.run(f"set -e\n{script}").output


def test_algorithms_are_loaded_as_in_the_course(start: Start) -> None:
    net = start(shapes.minimal())
    available = "sysctl -n net.ipv4.tcp_available_congestion_control"
    h1 = net["h1"]
    assert sorted(h1.run(available).output.split()) == sorted(LOADED)
    h1.run("sudo modprobe tcp_bic")
    assert sorted(h1.run(available).output.split()) == sorted([*LOADED, "bic"])
    for algorithm in ALGORITHMS:
        h1.run(f"modprobe tcp_{algorithm}")
        h1.run(f"sysctl -w net.ipv4.tcp_congestion_control={algorithm}")
    assert sorted(h1.run(available).output.split()) == sorted(LOADED + ALGORITHMS)
    assert h1.run("modprobe tcp_nonsense", check=False).status == 1


@pytest.mark.parametrize("algorithm", [*LOADED, *ALGORITHMS])
def test_a_flow_uses_the_algorithm_it_asks_for(embedded: Network, algorithm: str) -> None:
    net = embedded
    server = net["h2"].start("iperf3 -s -1")
    net.run_for("10ms")
    done = net["h1"].run(f"iperf3 -c 10.0.0.2 -n 1M -C {algorithm} -J")
    assert server.wait() == 0
    used = json.loads(done.output)["end"]["sender_tcp_congestion"]
    assert used == {"dctcp": "dctcp-reno"}.get(algorithm, algorithm)  # without ECN


def test_the_kernels_configuration_can_be_read(embedded: Network) -> None:
    assert embedded.root.run("grep CONFIG_HZ= /boot/config-$(uname -r)").output == "CONFIG_HZ=250\n"


@pytest.mark.parametrize(
    "command",
    [
        "modprobe openvswitch && modprobe 8021q && modprobe vxlan && modprobe vrf",
        "ip link add v0 type vrf table 10 && ip link del v0",
        "ip link add x0 type vxlan id 5 dstport 4789 && ip link del x0",
        "ip link add link s1 name s1.5 type vlan id 5 && ip link del s1.5",
        "ip mptcp endpoint show",
        "ls /sys/kernel/tracing/events/tcp/tcp_probe /sys/kernel/tracing/events/qdisc",
        "python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132)'",
        "python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)'",
    ],
)
def test_the_kernel_has_the_feature(embedded: Network, command: str) -> None:
    embedded.root.run(command)


def test_the_loopback_of_every_namespace_works(net: Network) -> None:
    for node in (net.root, net["h1"]):
        node.run("ping -c 1 127.0.0.1")


def test_the_printed_plan_builds_the_same_network_by_hand(start: Start, tmp_path: Path) -> None:
    (tmp_path / "plan.sh").write_text(plan_script(load(LAB14), "mtu"))
    net = start(Topology())
    net.root.run("sh plan.sh")
    output = net.root.run("ip netns exec h1 ping -c 2 h3").output
    assert "2 received" in output
    net.root.run("tc qdisc add dev s1-eth2 root handle 1: netem delay 20ms")
    assert "time=20.0 ms" in net.root.run("ip netns exec h1 ping -c 1 10.0.0.3").output


@pytest.mark.parametrize("wire", ["mtu", "gso"])
def test_the_printed_plan_and_the_agent_do_the_same(start: Start, wire: str) -> None:
    topology = shapes.dumbbell(1, rate="10Mbps", delay="20ms", loss="0.1%", queue="fq_codel")
    look = (
        "for n in h1 h2; do ip -n $n -d link; ip -n $n addr; ip -n $n route; "
        "ip netns exec $n ethtool -k $n-eth0; done; "
        "ip -d link; tc qdisc; bridge link; cat /etc/hosts"
    )
    built, by_hand = start(topology, wire=wire), start(Topology())
    by_hand.root.run(["sh", "-c", plan_script(topology, wire)])  # type: ignore[arg-type]
    for net in (built, by_hand):
        net.run_for("5s")  # ports have begun to forward, addresses are no longer tentative
    by_agent = built.root.run(look).output

    def comparable(shown: str) -> list[str]:
        """Remove interface numbers and timers, which differ."""
        return sorted(
            re.sub(r"^[0-9]+: |gc_timer +[0-9.]+", "", line) for line in shown.splitlines()
        )

    assert comparable(by_hand.root.run(look).output) == comparable(by_agent)


# -- files ------------------------------------------------------------------------------------------


def test_files_are_written_to_the_working_folder_and_nowhere_else(
    embedded: Network,
) -> None:
    net = embedded
    net["h1"].run(
        "echo mine > result.txt; echo lost > /etc/wanlab-was-here; echo lost > /tmp/x-wanlab"
    )
    assert (net.folder / "result.txt").read_text() == "mine\n"
    assert not Path("/etc/wanlab-was-here").exists()
    assert not Path("/tmp/x-wanlab").exists()
    assert net["h2"].run("cat /etc/wanlab-was-here result.txt").output == "lost\nmine\n"


def test_the_working_folder_has_its_old_files_and_its_own_path(net: Network) -> None:
    (net.folder / "given.txt").write_text("given")
    assert net["h1"].run("pwd; cat given.txt").output == f"{net.folder}\ngiven"
    net["h1"].run("mkdir sub && mv given.txt sub/moved.txt && chmod 600 sub/moved.txt")
    assert (net.folder / "sub" / "moved.txt").stat().st_mode & 0o777 == 0o600


def test_large_files_arrive_whole(net: Network) -> None:
    net["h1"].run("head -c 20000000 /dev/urandom | tee random.bin | md5sum > sum.txt")
    digest = net["h2"].run("md5sum < random.bin").output
    assert (net.folder / "sum.txt").read_text() == digest
    assert (net.folder / "random.bin").stat().st_size == 20_000_000


# -- processes --------------------------------------------------------------------------------------


def test_output_of_20_mb_arrives_byte_for_byte(net: Network) -> None:
    content = os.urandom(1 << 20) * 20
    (net.folder / "content.bin").write_bytes(content)
    process = net["h1"].start(["cat", "content.bin"])
    assert process.wait() == 0
    assert process.output_bytes == content


def test_input_and_output_are_binary_safe(net: Network) -> None:
    everything = bytes(range(256)) * 1000
    process = net["h1"].start("cat", stdin=True)
    process.write(everything)
    process.end_input()
    assert process.wait() == 0
    assert process.output_bytes == everything


def test_10_mb_of_input_reach_a_program(net: Network) -> None:
    assert net["h1"].run("wc -c", input=bytes(10_000_000)).output == "10000000\n"


def test_a_program_that_does_not_read_delays_no_other(net: Network) -> None:
    deaf = net["h1"].start("sleep 1000", stdin=True)
    deaf.write(bytes(5_000_000))
    assert len(net["h2"].run("head -c 5000000 /dev/zero").output) == 5_000_000
    assert deaf.is_running
    assert deaf.stop() == -signal.SIGINT


def test_a_program_that_closes_its_input_stops_nothing(net: Network) -> None:
    deaf = net["h1"].start("sleep 1; exec 0<&-; sleep 1000", stdin=True)
    deaf.write(bytes(5_000_000))
    net.run_for("2s")
    assert deaf.input_left_bytes() is None
    assert deaf.stop() == -signal.SIGINT


@pytest.mark.long
def test_200_processes_at_once_end_with_their_own_status(net: Network) -> None:
    started = [
        net["h1" if number % 2 else "h2"].start(
            f"sleep 0.{number % 7}; echo {number}; exit {number}"
        )
        for number in range(200)
    ]
    assert [process.wait("20s") for process in started] == list(range(200))
    assert [process.output for process in started] == [f"{number}\n" for number in range(200)]


def test_output_arrives_as_it_is_written(net: Network) -> None:
    """The program continues only when its last line has been answered."""
    process = net["h1"].start(
        "for i in 1 2 3; do echo $i; read answer; sleep 0.5; done", stdin=True
    )
    begun = net.now_ns
    seen = []
    for line in process.lines():
        seen.append((line, round((net.now_ns - begun) / 1e9, 2)))
        process.write("seen\n")
    assert [line for line, _ in seen] == ["1", "2", "3"]
    if net.clock == "virtual":
        assert [time_s for _, time_s in seen] == [0.0, 0.5, 1.0]


def test_a_missing_program_is_named(net: Network) -> None:
    with pytest.raises(CommandError) as caught:
        net["h1"].start(["iperf9", "-s"])
    assert caught.value.what.startswith("cannot start `iperf9 -s` in h1: ")
    assert "no program iperf9" in caught.value.what


def test_a_missing_folder_is_named(net: Network) -> None:
    with pytest.raises(CommandError, match=r"cannot start `true` in h1: .*/no/such/folder"):
        net["h1"].start(["true"], folder="/no/such/folder")


def test_a_failed_command_is_reported_with_its_status_and_output(net: Network) -> None:
    with pytest.raises(CommandError) as caught:
        net["h1"].run("echo reason >&2; exit 3")
    assert (caught.value.status, caught.value.output) == (3, "reason\n")


def test_a_command_that_takes_too_long_is_reported(net: Network) -> None:
    process = net["h1"].start("sleep 100")
    with pytest.raises(CommandError, match="has not ended within 200ms"):
        process.wait("200ms")
    assert process.stop() == -signal.SIGINT


def test_a_step_of_a_plan_that_fails_is_named_with_its_commands(start: Start) -> None:
    with pytest.raises(CommandError) as caught:
        start(Topology(nodes=shapes.minimal().nodes, links=()), sysctls={"net.ipv4.no_such": "1"})
    assert caught.value.what.startswith("net.ipv4.no_such = 1 in h1: ")
    assert caught.value.output == "ip netns exec h1 sysctl -qw net.ipv4.no_such=1"


# -- terminals --------------------------------------------------------------------------------------


def until_printed(net: Network, process: Process, text: str) -> None:
    net.run_until_condition(lambda: text in process.output, 10_000_000_000)
    assert text in process.output


def test_a_program_on_a_terminal_sees_a_terminal(net: Network) -> None:
    process = net["h1"].start("tty; stty size; ls --color=auto -d /", terminal=(40, 120))
    assert process.wait() == 0
    assert re.fullmatch(r"/dev/pts/\d+\r\n40 120\r\n.*/.*\r\n", process.output)
    assert "\x1b[" in process.output


def test_a_terminal_can_be_resized(net: Network) -> None:
    process = net["h1"].start("read line; stty size", terminal=(24, 80))
    process.resize(50, 132)
    process.write("\n")
    assert process.wait() == 0
    assert process.output.endswith("50 132\r\n")


def test_ctrl_c_interrupts_the_command_in_a_terminal(net: Network) -> None:
    shell = net["h1"].start(["bash", "--norc", "-i"], terminal=(24, 80))
    until_printed(net, shell, "# ")
    # The typed line has quotes in it, so only the program in the foreground prints "begun".
    shell.write("bash -c 'echo be\"\"gun; exec sleep 1000'\n")
    until_printed(net, shell, "begun")
    shell.write("\x03")
    shell.write("echo status $?\n")
    until_printed(net, shell, "status 130")
    shell.write("exit 7\n")
    assert shell.wait() == 7
