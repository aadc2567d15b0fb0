"""Sizes that nobody means, such as single,999999."""

import pytest

from wanlab.errors import TopologyError
from wanlab.mininet.topo import SingleSwitchTopo, Topo
from wanlab.mininet.topolib import TreeTopo


@pytest.mark.parametrize(("topo", "sizes"), [(TreeTopo, (30, 2)), (SingleSwitchTopo, (999_999,))])
def test_a_topology_of_too_many_nodes_is_refused(topo: type[Topo], sizes: tuple[int, ...]) -> None:
    """It would be computed without an end, and without a word."""
    with pytest.raises(TopologyError, match=r"at most 50000 nodes \(choose smaller sizes\)"):
        topo(*sizes)
