"""A queue that the kernel lacks is refused, and the error names a kernel that has it."""

from dataclasses import replace

import pytest

from wanlab import Network
from wanlab.errors import CommandError, RequirementError
from wanlab.network.compatibility import refuse_new_queues
from wanlab.network.verify import check_shaping
from wanlab.topology import Host, Topology, link
from wanlab.topology.model import Conditions, Queue

TOPOLOGY = Topology(
    nodes=(Host("h1"), Host("h2")),
    links=(link("h1", "h2", rate="10Mbps", queue="dualpi2"),),
)


def test_a_queue_that_is_newer_than_the_kernel_is_refused() -> None:
    with pytest.raises(RequirementError) as raised:
        refuse_new_queues(TOPOLOGY, "6.12.117-wanlab-bbr3")
    assert raised.value.what == (
        "link h1-h2: the queue dualpi2 needs Linux 6.17 or newer, and the kernel is "
        "6.12.117-wanlab-bbr3"
    )
    assert "--kernel 7.3" in raised.value.hint


def test_a_queue_whose_options_tc_cannot_show_is_verified_by_its_kind() -> None:
    shown = '[{"kind":"%s","handle":"3:","dev":"h1-eth0","options":{[Unknown qdisc, optlen=76] }}]'
    port = replace(
        TOPOLOGY.links[0].a, name="h1-eth0", conditions=Conditions(queue=Queue("dualpi2"))
    )
    check_shaping([("h1", port)], lambda _: shown % "dualpi2")
    with pytest.raises(CommandError, match="no queue dualpi2"):
        check_shaping([("h1", port)], lambda _: shown % "other")


def test_a_newer_kernel_has_it() -> None:
    refuse_new_queues(TOPOLOGY, "7.3.4-wanlab")


@pytest.mark.machine
def test_the_default_kernel_refuses_it_before_anything_is_built() -> None:
    with pytest.raises(RequirementError, match="the queue dualpi2 needs Linux"):
        Network(TOPOLOGY, kernel="6.12").start()
