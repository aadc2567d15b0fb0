import pytest

from wanlab.mininet.tunnels import needed_devices


@pytest.mark.parametrize(
    ("command", "devices"),
    [
        ("ip tunnel add t1 mode ipip remote 10.0.0.2 local 10.0.0.1", ["tunl0"]),
        ("ip -4 tunnel add name gre1 mode GRE remote 10.0.0.2", ["gre0"]),
        ("sysctl -w a=1; ip tunnel add a mode sit remote 10.0.0.2 && ip link set a up", ["sit0"]),
        (
            "ip tun add a mode gre remote 10.0.0.2; ip tun add b mode ipip remote 10.0.0.3",
            ["gre0", "tunl0"],
        ),
        ("ip -6 tunnel add a mode ip6ip6 remote 2001:db8::1", ["ip6tnl0"]),
        ("ip tunnel show", []),
        ("ip link add t1 type ipip remote 10.0.0.2", []),
        ("echo zip tunnel add a mode; ip link set mode default", []),
    ],
)
def test_the_devices_that_ip_tunnel_needs_are_found(command: str, devices: list[str]) -> None:
    assert [name for name, _ in needed_devices(command)] == devices
