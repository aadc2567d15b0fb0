"""Test the course's programs in terminals of a machine, where they are on the PATH."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from wanlab import Network, shapes

pytestmark = [pytest.mark.machine, pytest.mark.costs(3)]

Start = Callable[..., Network]
PORT = "s1-eth2"


def rows_of(path: Path) -> list[dict[str, float]]:
    header, *rows = path.read_text().splitlines()
    names = header.split(",")
    return [dict(zip(names, map(float, row.split(",")), strict=True)) for row in rows]


@pytest.fixture
def network(start: Start) -> Network:
    """Start a network with 50 Mbit/s and 10 ms before h2, where iperf3 listens."""
    net = start(shapes.dumbbell(pairs=1, rate="50Mbps", delay="10ms"), wire="gso")
    net["h2"].start("iperf3 -s")
    net.run_for("100ms")
    return net


@pytest.mark.long
def test_the_manuals_command_writes_the_figures_to_the_working_folder(
    network: Network, tmp_path: Path
) -> None:
    network["h1"].run("mkdir 1_BDP && cd 1_BDP && iperf3 -c h2 -t 2 -P 2 -J > out.json")
    ran = network["h1"].run("cd 1_BDP; plot_iperf.sh out.json && cd results && pwd")
    assert ran.output.splitlines()[-1] == f"{tmp_path}/1_BDP/results"
    results = tmp_path / "1_BDP" / "results"
    assert {path.name for path in results.iterdir()} == {
        "throughput.pdf",
        "cwnd.pdf",
        "retransmits.pdf",
        "RTT.pdf",
        "RTT_Var.pdf",
        "MTU.pdf",
        "bytes.pdf",
        "1.dat",
        "2.dat",
    }
    assert len(rows_of(results / "1.dat")) == 2
    # Again, into the existing folder.
    again = network["h1"].run("cd 1_BDP; plot_iperf.sh out.json && fairness.sh out.json")
    # Two streams share the link somehow, so the index is between one half and one.
    assert 0.5 < float(again.output.splitlines()[-1]) <= 1
    opened = network["h1"].run("cd 1_BDP/results; xdg-open throughput.pdf")
    assert str(results / "throughput.pdf") in opened.output


def test_the_queue_of_the_shaper_is_shown_without_the_delay_line(
    network: Network, tmp_path: Path
) -> None:
    network["h1"].start("iperf3 -c h2 -t 4")
    watching = network.root.run(f"sudo plot_q.sh {PORT} -t 3")
    assert watching.output.splitlines() == [
        watching.output.splitlines()[0],
        f"written: queue_{PORT}.pdf queue_{PORT}.dat",
    ]
    assert watching.output.startswith(f"{PORT} (tbf + pfifo): 31 readings in 3.0 s, peak ")
    rows = rows_of(tmp_path / f"queue_{PORT}.dat")
    assert [round(row["time_s"], 2) for row in rows] == [n / 10 for n in range(31)]
    shown = network.root.run(f"tc -s -j qdisc show dev {PORT}").output
    assert '"netem"' in shown  # there is a delay line, and the packets in it do not count
    assert max(row["backlog_bytes"] for row in rows) > 100_000
    assert (tmp_path / f"queue_{PORT}.pdf").read_bytes()[:5] == b"%PDF-"


@pytest.mark.long
def test_a_key_stops_it_and_the_next_run_writes_new_files(network: Network, tmp_path: Path) -> None:
    for _ in range(2):
        watching = network.root.start(f"plot_q.sh {PORT}", terminal=(24, 80))
        network.run_for("2s")
        assert f"queue of {PORT} (tbf + pfifo): 0 B, 0 packets, 0 drops" in watching.output
        watching.write("s")
        watching.finish("10s")
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {
        f"queue_{PORT}.pdf",
        f"queue_{PORT}.dat",
        f"queue_{PORT}_2.pdf",
        f"queue_{PORT}_2.dat",
    }


def test_without_a_terminal_an_interrupt_stops_it(network: Network, tmp_path: Path) -> None:
    watching = network["h1"].start(["plot_q.sh", "h1-eth0", "-i", "0.5"])
    network.run_for("2100ms")
    watching.interrupt()
    assert watching.finish("10s").output.startswith("h1-eth0 (pfifo_fast): 5 readings in 2.0 s")


def test_errors_list_the_valid_choices(network: Network) -> None:
    run = network.root.run
    ran = run("plot_q.sh s1-eth22", check=False)
    assert (ran.status, ran.stderr) == (
        1,
        "plot_q.sh: there is no port s1-eth22 (did you mean s1-eth2?)\n",
    )
    ran = run("plot_q.sh", check=False)
    assert (ran.status, ran.stderr.splitlines()[1]) == (
        2,
        "usage: plot_q.sh PORT [-i SECONDS] [-t SECONDS]",
    )
    ran = run("echo x > /tmp/x.pdf; xdg-open /tmp/x.pdf")
    assert ran.output.startswith("/tmp/x.pdf is in the machine only: copy it to ")
    ran = run("concurrent_same_algo", check=False)
    assert (ran.status, ran.stderr) == (
        1,
        "concurrent_same_algo is for Mininet's prompt. Type there: source concurrent_same_algo\n",
    )


def test_the_users_editor_is_started(network: Network) -> None:
    ran = network.root.start(
        "featherpad /etc/sysctl.conf", terminal=(24, 80), environment={"EDITOR": "echo edits"}
    ).finish()
    assert ran.output == "edits /etc/sysctl.conf\r\n"
    assert network.root.run("featherpad x", check=False).stderr == (
        "featherpad: an editor needs a terminal\n"
    )


@pytest.mark.long
def test_senders_at_the_same_time_are_drawn_together_with_their_fairness(
    network: Network, tmp_path: Path
) -> None:
    network["h1"].run("iperf3 -c h2 -t 1 -J > h1.json; cp h1.json h3.json")
    ran = network.root.run("plot_concurrent.sh h1.json h3.json")
    assert ran.output.splitlines()[-1] == "1.00000"
    assert (tmp_path / "concurrent.pdf").exists()
