"""Commands from common Linux guides work in a machine, too."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from wanlab import Host, Network, Switch, Topology, link
from wanlab.labs import student_files
from wanlab.machine.embedded import find_image

pytestmark = pytest.mark.machine


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    nodes = (Host("h1"), Host("h2"))
    topology = Topology(nodes=nodes, links=(link("h1", "h2"),))
    with Network(topology, folder=tmp_path_factory.mktemp("home")) as net:
        yield net


def output(net: Network, command: str, node: str = "") -> str:
    return (net[node] if node else net.root).run(["bash", "-c", command]).output


def test_the_machine_has_python(net: Network) -> None:
    assert output(net, "python -c 'print(6 * 7)'") == "42\n"


def test_a_kernel_may_lie_below_dev_and_be_named_by_a_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below /dev, the machine has its own file system before its first program starts."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        shutil.copytree(find_image().folder, Path(place, "kernel"))
        (tmp_path / "link").symlink_to(place)
        monkeypatch.chdir(tmp_path)
        with Network(Topology(), folder=tmp_path, kernel="link/kernel") as net:
            assert output(net, "grep -c =y /boot/config-*").strip() != "0"
            assert output(net, "ls /dev/shm") == ""


def test_an_ssh_server_finds_its_folder(net: Network) -> None:
    assert output(net, "test -d /run/sshd && echo yes") == "yes\n"


@pytest.mark.parametrize("node", ["", "h1"])
def test_tcp_probe_is_found_where_guides_look_for_it(net: Network, node: str) -> None:
    for folder in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing"):
        found = output(net, f"ls -d {folder}/events/tcp/tcp_probe", node)
        assert found.strip().endswith("tcp_probe")
    assert "cgroup.procs" in output(net, "ls /sys/fs/cgroup", node).split()


def test_a_node_traces_its_own_flow(net: Network) -> None:
    events = "/sys/kernel/debug/tracing"
    net["h2"].start("iperf3 -s -1")
    traced = output(
        net,
        f"cd {events} && echo 1 > events/tcp/tcp_probe/enable && iperf3 -c h2 -n 100K > /dev/null;"
        "echo 0 > events/tcp/tcp_probe/enable; grep -c 'tcp_probe: .*snd_cwnd=' trace; echo > trace;"
        "ls -d /sys/class/net/h*",
        "h1",
    )
    count, *interfaces = traced.split()
    assert int(count) > 10
    assert interfaces == ["/sys/class/net/h1-eth0"]


def test_a_module_is_loaded_and_listed(net: Network) -> None:
    listed = "lsmod | grep -c -w tcp_bic"
    assert output(net, f"{listed} || true") == "0\n"
    assert output(net, f"insmod /lib/modules/6.12/tcp_bic.ko; {listed}") == "1\n"
    assert output(net, "lsmod | head -1").split() == ["Module", "Size", "Used", "by"]


def test_sudo_takes_the_password_from_its_input(net: Network) -> None:
    assert output(net, "printf 'password\\nrest\\n' | sudo -S cat") == "rest\n"
    assert output(net, "echo all | sudo cat") == "all\n"


def test_the_time_zone_is_not_the_computers(net: Network) -> None:
    """The machine's clock begins in 2026, so a link of that day is the machine's own."""
    assert output(net, "date +%Z; cat /etc/timezone") == "UTC\nEtc/UTC\n"
    assert output(net, "stat -c %y /etc/localtime /etc/timezone").count("2026-01-01") == 2


def test_a_node_has_its_own_files_of_etc(net: Network) -> None:
    """As ip-netns(8): also a file that comes when processes run in the node already."""
    assert "no name server" in output(net, "cat /etc/resolv.conf", "h1")
    shared = output(net, "cat /etc/hosts")
    output(
        net,
        "mkdir -p /etc/netns/h1; cd /etc/netns/h1; echo nameserver 10.0.0.9 > resolv.conf;"
        " (cat /etc/hosts; echo 10.0.0.7 www) > hosts; echo unknown > not-in-etc",
    )
    for _ in range(2):
        assert output(net, "cat /etc/resolv.conf", "h1") == "nameserver 10.0.0.9\n"
    assert output(net, "getent hosts www h2", "h1").split() == ["10.0.0.7", "www", "10.0.0.2", "h2"]
    assert output(net, "grep -c ' /etc/' /proc/mounts", "h1") == "2\n"
    assert output(net, "test -e /etc/not-in-etc || echo absent", "h1") == "absent\n"
    for node in ("", "h2"):
        assert "no name server" in output(net, "cat /etc/resolv.conf", node)
        assert output(net, "cat /etc/hosts", node) == shared


def test_settings_of_a_lab_outlive_its_machine(tmp_path: Path) -> None:
    for _ in range(2):
        with Network(Topology(), folder=tmp_path) as net:
            student_files.keep_settings(net)
            forwarding = output(net, "sysctl -n net.ipv4.ip_forward")
            output(net, "echo net.ipv4.ip_forward=1 | sudo tee -a /etc/sysctl.conf")
    assert forwarding == "1\n"
    lines = (tmp_path / ".sysctl.conf").read_text().splitlines()
    assert lines.count("net.ipv4.ip_forward=1") == 2


def test_start_commands_run_in_the_working_folder(tmp_path: Path) -> None:
    (tmp_path / "config.txt").write_text("from the folder\n")
    nodes = (Host("h1", start_command="cat config.txt > seen.txt"), Host("h2"))
    with Network(Topology(nodes=nodes, links=(link("h1", "h2"),)), folder=tmp_path) as net:
        assert net.warnings == []
    assert (tmp_path / "seen.txt").read_text() == "from the folder\n"


def test_a_host_whose_gateway_is_unreachable_starts_without_a_default_route(tmp_path: Path) -> None:
    nodes = (Host("h1", ip="10.0.0.1/24", default_route="10.9.0.1"), Host("h2", ip="10.0.0.2/24"))
    with Network(Topology(nodes=nodes, links=(link("h1", "h2"),)), folder=tmp_path) as net:
        assert ["the gateway 10.9.0.1" in warning for warning in net.warnings] == [True]
        assert net["h1"].run("ip route").output.startswith("10.0.0.0/24 dev h1-eth0")
        assert net["h1"].run("ping -c 1 10.0.0.2").status == 0


def test_a_start_command_that_does_not_end_is_a_warning(tmp_path: Path) -> None:
    nodes = (
        Host("h1", start_command="while ! test -d /sys/class/net/eth10; do sleep 5; done"),
        Host("h2", start_command="sleep 100000 &"),
    )
    with Network(Topology(nodes=nodes), folder=tmp_path) as net:
        (warning,) = net.warnings
        assert warning.startswith("start command of h1: while ! test")
        assert "had not ended after 60 s and was killed" in warning
        assert net.root.run("pgrep -xc sleep").output == "1\n"


def test_a_start_command_that_fails_is_a_warning(tmp_path: Path) -> None:
    nodes = (
        Host("h1", start_command="echo oops >&2; exit 3"),
        Host("h2", start_command=f"ovs-vsctl add-br extra && touch {tmp_path}/done"),
        Switch("s1"),
    )
    topology = Topology(nodes=nodes, links=(link("h1", "s1"), link("h2", "s1")))
    with Network(topology, folder=tmp_path) as net:
        assert len(net.warnings) == 1
        assert net.warnings[0].startswith("start command of h1: echo oops >&2; exit 3: ")
        assert "oops" in net.warnings[0]
        assert net["h1"].run("ping -c 1 h2").status == 0
    assert (tmp_path / "done").exists()
