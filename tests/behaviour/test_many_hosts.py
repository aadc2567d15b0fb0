"""Test what only many hosts show."""

from pathlib import Path

import pytest

from wanlab import Network, Topology

pytestmark = pytest.mark.machine


@pytest.mark.long
def test_forty_hosts_fit_into_the_neighbour_table(tmp_path: Path) -> None:
    """All hosts share one neighbour table; they need 1560 entries, and the usual limit is 1024."""
    command = "/run/wanlab/bin/wanlab-python -m mininet --topo single,40 --test pingall"
    with Network(Topology(), folder=tmp_path) as net:
        said = net.root.run(command)
    assert "*** Results: 0% dropped (1560/1560 received)" in said.output + said.stderr
