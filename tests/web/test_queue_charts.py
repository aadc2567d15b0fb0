"""Which port's queue a command line draws."""

from __future__ import annotations

import pytest

from wanlab.web.measuring.queue_charts import port_drawn_by

PORTS = {"s1-eth1", "s1-eth2"}


@pytest.mark.parametrize(
    ("line", "port"),
    [
        ("sudo plot_q.sh s1-eth2", "s1-eth2"),
        ("plot_q.sh -i 0.01 s1-eth1 -t 10", "s1-eth1"),
        ("cd results && sudo plot_q.sh s1-eth2; ls", "s1-eth2"),
        ("client plot_q.sh s1-eth2", "s1-eth2"),
        ("plot_q.sh s9-eth9", ""),
        ("plot_q.sh", ""),
        ("plot_q.sh -h; tc -s qdisc show dev s1-eth2", ""),
        ("tc -s qdisc show dev s1-eth2", ""),
    ],
)
def test_plot_q_draws_the_queue_of_the_port_that_it_names(line: str, port: str) -> None:
    assert port_drawn_by(line, PORTS) == port
