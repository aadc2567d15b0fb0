from dataclasses import replace

from wanlab.operations import AddRoute
from wanlab.plan import plan
from wanlab.topology import Host, Router, Switch, Topology, gateway_warnings, link, resolve


def network(*hosts: Host) -> Topology:
    links = tuple(link(host.name, "s1") for host in hosts)
    return resolve(Topology(nodes=(*hosts, Switch("s1")), links=links))


def test_a_gateway_outside_the_networks_of_the_host_is_a_warning_and_no_route() -> None:
    topology = network(
        Host("h1", ip="10.0.1.1/24", default_route="10.0.2.1"),
        Host("h2", ip="10.0.1.2/24", default_route="via 10.0.1.254"),
    )
    assert list(gateway_warnings(topology)) == [
        "host h1 has no default route: the gateway 10.0.2.1 is not in a network of the host "
        "(its addresses: 10.0.1.1/24)"
    ]
    routes = [step.describe() for step in plan(topology) if isinstance(step, AddRoute)]
    assert routes == ["route default via 10.0.1.254 of h2"]


def test_routes_that_need_no_neighbour_are_left_alone() -> None:
    topology = network(
        Host("h1", ip="10.0.1.1/24", default_route="dev h1-eth0"),
        Host("h2", ip="10.0.1.2/24", default_route="via 10.0.2.1 dev h2-eth0 onlink"),
    )
    assert list(gateway_warnings(topology)) == []


def test_a_router_to_which_nothing_gives_an_address_is_a_warning() -> None:
    hosts = Host("h1"), Host("h2")
    silent = Topology(nodes=(*hosts, Router("r1")), links=(link("h1", "r1"), link("r1", "h2")))
    (warning,) = gateway_warnings(resolve(silent))
    assert warning.startswith("router r1 has no address, so it forwards nothing")
    configured = replace(silent, nodes=(*hosts, Router("r1", start_command="bash addresses.sh")))
    assert list(gateway_warnings(resolve(configured))) == []
