"""Test from a node, where everybody is root, that nothing in a machine changes the computer."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from wanlab import Host, Network, Topology

pytestmark = pytest.mark.machine

TOPOLOGY = Topology(nodes=(Host("h1"),))


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Make a folder of the user's with one file, outside the working folder."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "there").write_text("unchanged")
    (tmp_path / "work").mkdir()
    return folder


# Commands that must fail in a node, grouped by the rows of the table in docs/explanation/security.md.
ATTEMPTS = (
    # mount or remount a folder of the computer
    "mkdir -p /mnt/h && mount -t hostfs none /mnt/h -o {outside} && echo x > /mnt/h/new",
    "mkdir -p /mnt/h && mount -t hostfs none /mnt/h -o /proc && ls /mnt/h/{pid}/mem",
    "unshare -m mount -t hostfs none /mnt",
    "nsenter -t 1 -m mount -t hostfs none /mnt",
    "mount -o remount,ro {work}",
    "echo 0 > /proc/sys/fs/hostfs_sealed",
    # make a device node or set-user-ID program in the working folder
    "mknod {work}/disk b 254 0",
    "mknod {work}/device c 1 3",
    "cp /bin/true {work}/p && chmod u+s {work}/p",
    "cp /bin/true {work}/p && chmod g+s {work}/p",
    # see the computer's processes, without which it cannot trace or signal them
    "pgrep -fx '{process}'",
    # reach the computer's network, services and UNIX sockets
    "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 1)'",
    "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{work}/socket\")'",
    "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"\\0{abstract}\")'",
    "timeout 1 sh -c 'echo x > {work}/fifo'",
)


@pytest.fixture
def services(outside: Path) -> Iterator[dict[str, object]]:
    """Run services of the user that a node must not reach; those that are files are in its folder."""
    work = outside.parent / "work"
    name = f"wanlab-test-{os.getpid()}"
    process = ["sleep", f"{1_000_000 + os.getpid()}"]
    os.mkfifo(work / "fifo")
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        subprocess.Popen(process) as sleeper,
        contextlib.ExitStack() as stack,
    ):
        stack.callback(sleeper.kill)
        for address in (f"{work}/socket", f"\0{name}"):
            stack.enter_context(listening := socket.socket(socket.AF_UNIX))
            listening.bind(address)
            listening.listen()
        fifo = os.open(work / "fifo", os.O_RDONLY | os.O_NONBLOCK)
        stack.callback(os.close, fifo)
        yield {
            "port": tcp.getsockname()[1],
            "abstract": name,
            "process": " ".join(process),
            "pid": os.getpid(),
        }
        assert sleeper.poll() is None


@pytest.fixture
def network(outside: Path, tmp_path: Path) -> Iterator[Network]:
    with Network(TOPOLOGY, folder=tmp_path / "work") as net:
        yield net


def test_forbidden_commands_fail_in_a_node(
    services: dict[str, object], network: Network, outside: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    commands = [attempt.format(outside=outside, work=work, **services) for attempt in ATTEMPTS]
    done = [command for command in commands if not network["h1"].run(command, check=False).status]
    assert done == []
    assert [path.name for path in outside.iterdir()] == ["there"]
    modes = {path.name: path.stat().st_mode for path in work.iterdir()}
    kinds = {name: stat.S_IFMT(mode) for name, mode in modes.items() if name != "p"}
    assert kinds == {"socket": stat.S_IFSOCK, "fifo": stat.S_IFIFO}
    assert not modes["p"] & (stat.S_ISUID | stat.S_ISGID)


def test_the_services_that_are_refused_can_be_reached_from_the_computer(
    services: dict[str, object], tmp_path: Path
) -> None:
    """This shows that it is the machine that refuses them."""
    host = subprocess.run(["pgrep", "-fx", str(services["process"])], check=False)
    assert host.returncode == 0
    socket.create_connection(("127.0.0.1", int(str(services["port"])))).close()
    for address in (str(tmp_path / "work" / "socket"), f"\0{services['abstract']}"):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(address)


def test_clock_hostname_and_settings_of_the_computer_do_not_change(network: Network) -> None:
    def settings() -> tuple[str, str]:
        setting = Path("/proc/sys/net/ipv4/tcp_congestion_control")
        return os.uname().nodename, setting.read_text()

    before, time_before = settings(), time.time()
    network["h1"].run("date -s 2001-01-01; hostname other", check=True)
    network["h1"].run("sysctl -w net.ipv4.tcp_congestion_control=vegas", check=True)
    assert network["h1"].run("date +%Y; hostname").output == "2001\nother\n"
    assert settings() == before
    assert time.time() >= time_before


def test_killing_by_name_on_the_computer_kills_nothing_in_a_machine(network: Network) -> None:
    """`sudo mn -c` kills every ping, and every process with "mininet:" in its command line."""
    seconds = f"{1_000_000 + os.getpid()}.5"
    for name in ("ping", "mininet:h1"):
        network["h1"].start(["bash", "-c", f"exec -a {name} sleep {seconds}"])
    network.run_for("1ms")
    assert len(network["h1"].run(f"pgrep -f '^(ping|mininet:h1) {seconds}'").output.split()) == 2
    assert subprocess.run(["pgrep", "-f", seconds], check=False).returncode == 1


def test_changes_outside_the_working_folder_stay_in_memory(outside: Path, tmp_path: Path) -> None:
    """Files are changed by path, through a link in the working folder, and by deleting them."""
    (tmp_path / "work" / "link").symlink_to(outside)
    with Network(TOPOLOGY, folder=tmp_path / "work") as net:
        net["h1"].run(
            f"mkdir -p {outside}; echo x > {outside}/new; echo y > link/newer; rm -rf /etc",
            check=False,  # rm cannot open the folders that only root may read
        )
    assert [path.name for path in outside.iterdir()] == ["there"]
    assert (outside / "there").read_text() == "unchanged"
    assert Path("/etc/passwd").exists()


def test_files_in_the_working_folder_are_written_to_the_computer(tmp_path: Path) -> None:
    with Network(TOPOLOGY, folder=tmp_path) as net:
        net["h1"].run("mkdir -p a b && echo data > a/f && mv a/f b/g && chmod 600 b/g && ln b/g c")
    assert (tmp_path / "b" / "g").read_text() == "data\n"
    assert stat.S_IMODE((tmp_path / "b" / "g").stat().st_mode) == 0o600
    assert (tmp_path / "c").stat().st_nlink == 2


def test_a_working_folder_may_have_any_name(tmp_path: Path) -> None:
    folder = tmp_path / "läb, 1 (über) 'quoted' %s"
    folder.mkdir()
    with Network(TOPOLOGY, folder=folder) as net:
        net["h1"].run("pwd > where; echo data > 'a, b'")
    assert (folder / "where").read_text() == f"{folder}\n"
    assert (folder / "a, b").read_text() == "data\n"
