"""Do the ten-BDP buffer of Lab 14 as a student does: terminals, and a chart of the queue."""

from __future__ import annotations

import re

import pytest
from student import Student

pytestmark = [pytest.mark.machine, pytest.mark.costs(20)]
HOST_BUFFERS = "10240 87380 52428800"
TEN_BDP = 26_214_400


@pytest.mark.long
def test_the_queue_of_ten_bdp_rises_in_the_chart(student: Student) -> None:
    # An open lesson sets the wire, as in the manual.
    student.starts_lesson("Lab 14:")
    student.opens("lab14/lab_topologies/Lab 14.mn")
    student.runs()
    client = student.opens_terminal("client")
    student.types(client, "sudo tc qdisc add dev s1-eth2 root handle 1: netem delay 20ms")
    student.types(
        client,
        "sudo tc qdisc add dev s1-eth2 parent 1: handle 2: tbf rate 1gbit burst 500000 limit 26214400",
    )
    student.types(client, "tc qdisc show dev s1-eth2")
    student.reads(client, re.compile("netem.*tbf", re.DOTALL))
    student.picture("path")
    for name in ("h1", "h3"):
        host = student.opens_terminal(name)
        for buffer in ("rmem", "wmem"):
            student.types(host, f"sysctl -w net.ipv4.tcp_{buffer}='{HOST_BUFFERS}'")
        student.reads(host, f"tcp_wmem = {HOST_BUFFERS}")
    student.types(host, "iperf3 -s")
    student.reads(host, "Server listening")
    student.chooses_pace("as fast as possible")
    student.adds_breakpoint("queue of s1-eth2 > 14 MB")
    h1 = student.terminal_of("h1")
    student.types(h1, "mkdir 10BDP && cd 10BDP && iperf3 -c 10.0.0.3 -t 6 -J > out.json")
    student.shows("Charts")
    student.selects_link("s1", "h3")
    # The flow can end before the chart is open, so time is stopped while the queue is long. The
    # chart has a point every 100 ms: after 200 ms more, it shows that queue.
    clock = student.page.get_by_role("group", name="Clock")
    clock.get_by_text("paused").wait_for()
    clock.get_by_label("Step duration").fill("200ms")
    clock.get_by_role("button", name="Step", exact=True).click()
    seen = student.chart_values("Queue", "s1-eth2", until=lambda values: max(values) > TEN_BDP / 2)
    student.picture("queue rises")
    risen = [value for value in seen if value > 0]
    assert risen == sorted(risen), "the queue rises from sample to sample"
    assert max(risen) <= TEN_BDP
    clock.get_by_role("button", name="Resume").click()

    # The transfer's results are drawn, and the figure opens beside the terminals.
    student.shows("Terminals")
    student.types(h1, "plot_iperf.sh out.json && ls results")
    student.reads(h1, "RTT.pdf", 60_000)
    student.types(h1, "cd results && xdg-open throughput.pdf")
    student.page.get_by_role("tab", name="throughput.pdf").wait_for()
    student.page.locator("iframe[title$='throughput.pdf']").wait_for()
    student.picture("throughput pdf")
    student.shows("Charts")
    student.picture("queue at the end")
