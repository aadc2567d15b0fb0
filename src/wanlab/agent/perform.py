"""Performs the operations of a plan. Each public method of `Performer` is the operation of that verb.

`wanlab.operations` says what each one means, and which commands a person would type for it. The code
here is faster and has the same result.
"""

from __future__ import annotations

import _socket
import contextlib
import errno
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from . import ethtool, integrity, links, system
from .namespaces import ROOT, Namespaces

if TYPE_CHECKING:
    from typing import TypedDict

    from .services import Services

    class EndArguments(TypedDict):
        """One end of a new veth pair (`wanlab.operations.LinkEnd`)."""

        node: str
        interface: str
        mac: str | None
        mtu: int | None
        bridge: str | None
        queues: int | None


NO_SUCH_IOCTL = errno.ENOTTY
NO_CPU = "this kernel cannot give nodes a processor; use Linux 6.12 of this wanlab"


class Performer:
    """Performs operations one by one, and can undo them."""

    def __init__(self, namespaces: Namespaces, environment: dict[str, str]) -> None:
        self._namespaces = namespaces
        self._environment = environment
        self._root_links = links.Netlink()
        # Routes of interfaces that are down: the kernel forgets them.
        self._saved_routes: dict[tuple[str, str], dict[str, str]] = {}
        # State for `undo`: interfaces added to the root namespace, and the former content of files.
        self._root_interfaces: dict[str, None] = {}
        self._files_before: dict[str, str | None] = {}
        self._peers: dict[tuple[str, str], tuple[str, str]] = {}
        self._services: Services | None = None
        # Traces that are loaded but not started: node, interface, handle, once.
        self._loaded: list[tuple[str, str, int, bool]] = []

    def perform(self, verb: str, arguments: dict[str, object]) -> None:
        """Perform one operation. OSError or ValueError has the message of the kernel or the tool."""
        operation: Callable[..., None] = getattr(self, verb)
        operation(**arguments)

    # -- nodes ------------------------------------------------------------------------------------

    def add_namespace(self, node: str) -> None:
        self._namespaces.add(node)
        with self._namespaces.inside_net(node), links.Netlink() as netlink:
            netlink.request(*links.change_link(1, up=True))  # lo has index 1 in every namespace

    def remove_namespace(self, node: str) -> None:
        self._namespaces.remove(node)

    def add_bridge(
        self, bridge: str, stp: bool, priority: int | None, vlan_filtering: bool = False
    ) -> None:
        self._root_links.request(*links.bridge(bridge, stp, priority, vlan_filtering))
        self._root_interfaces[bridge] = None

    def add_private_directory(self, node: str, mount: str, backing: str | None) -> None:
        os.makedirs(mount, exist_ok=True)
        if backing is not None:
            os.makedirs(backing, exist_ok=True)
        integrity.expect_mount(mount)
        with self._namespaces.inside(node):
            if backing is None:
                system.mount("tmpfs", mount, "tmpfs")
            else:
                system.mount(backing, mount, flags=system.MS_BIND)

    def set_cpu(self, node: str, table: list[int]) -> None:
        with self._namespaces.inside_net(node):
            try:
                system.set_cpu(table)
            except OSError as error:
                if error.errno != NO_SUCH_IOCTL:
                    raise
                raise ValueError(NO_CPU) from None

    def limit_cpu(self, node: str, share: float | None, cores: str | None) -> None:
        integrity.load("wanlab.agent.cgroups")
        from .cgroups import ControlGroup  # few networks need it

        self._namespaces.put_in_group(node, ControlGroup(node, share, cores))

    # -- links ------------------------------------------------------------------------------------

    def add_link(self, a: EndArguments, b: EndArguments) -> None:
        # The kernel makes the first end up, and the second down because it has no peer yet. Entering
        # a node to bring its end up is slow, so an end in the root namespace goes second.
        first, second = (b, a) if a["node"] == ROOT else (a, b)
        self._root_links.request(
            *links.veth(self._end_attributes(first), self._end_attributes(second))
        )
        for end in (first, second):
            if end["bridge"] or end is second:
                self._bring_end_up(end)

        names = [(end["node"], end["interface"]) for end in (first, second)]
        self._peers.update(zip(names, reversed(names), strict=True))
        for node, interface in names:
            if node == ROOT:
                self._root_interfaces[interface] = None

    def remove_link(self, node: str, interface: str) -> None:
        """Remove an interface; the kernel removes the other end of its link, too."""
        if self._forget_in_ovs((node, interface)):
            return
        with self._namespaces.inside_net(node), links.Netlink() as netlink:
            netlink.request(*links.remove_link(interface))
        if node == ROOT:
            self._root_interfaces.pop(interface, None)

    def _forget_in_ovs(self, end: tuple[str, str]) -> bool:
        """Remove ports from Open vSwitch, which would keep their names. True if it was a switch."""
        peer = self._peers.pop(end, None)
        self._peers.pop(peer or end, None)
        if self._services is None:
            return False
        was_switch = False
        for node, interface in filter(None, (end, peer)):
            was_switch |= node == ROOT and self._services.ovs.forget(interface)
        return was_switch

    def join_bridge(self, interface: str, bridge: str) -> None:
        master = links.number(links.IFLA_MASTER, interface_index(bridge))
        self._root_links.request(*links.change_link(interface_index(interface), attributes=master))

    def _end_attributes(self, end: EndArguments) -> bytes:
        attributes = links.end_of_pair(end["interface"], end["mac"], end["mtu"], end["queues"])
        if end["node"] == ROOT:
            return attributes
        return attributes + links.number(links.IFLA_NET_NS_FD, self._namespaces.net(end["node"]))

    def _bring_end_up(self, end: EndArguments) -> None:
        attributes = links.text(links.IFLA_IFNAME, end["interface"])
        if end["bridge"]:
            attributes += links.number(links.IFLA_MASTER, interface_index(end["bridge"]))
        request = links.change_link(0, up=True, attributes=attributes)
        if end["node"] == ROOT:
            self._root_links.request(*request)
            return
        with self._namespaces.inside_net(end["node"]), links.Netlink() as netlink:
            netlink.request(*request)

    def bring_up(self, node: str, interface: str) -> None:
        with self._namespaces.inside_net(node), links.Netlink() as netlink:
            netlink.request(*links.change_link(interface_index(interface), up=True))

    def add_vlan_interface(self, node: str, port: str, vlan: int, interface: str) -> None:
        with self._namespaces.inside_net(node), links.Netlink() as netlink:
            netlink.request(*links.vlan_interface(interface, interface_index(port), vlan))

    def move_interface(self, interface: str, node: str) -> None:
        """Move an interface from the root namespace into a node."""
        if node != ROOT:
            target = links.number(links.IFLA_NET_NS_FD, self._namespaces.net(node))
            index = interface_index(interface)
            self._root_links.request(*links.change_link(index, attributes=target))
        self.bring_up(node, interface)

    def set_link_state(self, node: str, interface: str, up: bool) -> None:
        """Set an interface up or down. Its addresses and routes survive, as when a cable is pulled."""
        if not up and (node, interface) not in self._saved_routes:
            with self._namespaces.inside_net(node):
                self.write_file(f"/proc/sys/net/ipv6/conf/{interface}/keep_addr_on_down", "1")
            self._saved_routes[node, interface] = {
                family: self._routes_of(node, family, interface) for family in ("-4", "-6")
            }
        with self._namespaces.inside_net(node), links.Netlink() as netlink:
            netlink.request(*links.change_link(interface_index(interface), up=up))
        if up:
            for family, routes in self._saved_routes.pop((node, interface), {}).items():
                lines = [line.replace(" linkdown", "") for line in routes.splitlines()]
                batch = "".join(f"route replace {line} dev {interface}\n" for line in lines)
                self._run(node, ["ip", family, "-batch", "-"], batch)

    def _routes_of(self, node: str, family: str, interface: str) -> str:
        """Return the routes to save, without those of routing daemons (with a nexthop id), which the
        daemons add again."""
        routes = self._run(node, ["ip", family, "route", "show", "dev", interface])
        return "".join(line for line in routes.splitlines(True) if " nhid " not in line)

    def add_address(self, node: str, interface: str, address: str) -> None:
        with self._namespaces.inside_net(node), links.Netlink() as netlink:
            netlink.request(*links.new_address(interface_index(interface), address))

    def set_speed(self, node: str, interface: str, speed_mbps: int) -> None:
        with self._namespaces.inside_net(node):
            ethtool.set_speed(interface, speed_mbps)

    def set_offloads(self, node: str, interface: str, features: dict[str, bool]) -> None:
        with self._namespaces.inside_net(node):
            ethtool.set_offloads(interface, features)

    def set_wire(self, node: str, interface: str) -> None:
        with self._namespaces.inside_net(node):
            ethtool.set_wire(interface)

    def set_coalesce(self, node: str, interface: str, interval_us: int) -> None:
        with self._namespaces.inside_net(node):
            ethtool.set_coalesce(interface, interval_us)

    # -- sysctl, ip route, tc, bridge ---------------------------------------------------------------

    def set_sysctl(self, node: str, key: str, value: str) -> None:
        path = "/proc/sys/" + key.replace(".", "/")
        if node == ROOT:
            self._remember_file(path)
        with self._namespaces.inside_net(node), open(path, "w", encoding="ascii") as file:
            file.write(value)

    def add_route(self, node: str, route: str) -> None:
        self._run(node, ["ip", "route", "add", *route.split()])

    def shape(self, node: str, lines: list[str]) -> None:
        """Run lines of `tc -batch`."""
        self._run(node, ["tc", "-batch", "-"], "".join(f"{line}\n" for line in lines))

    def load_opportunities(
        self, node: str, interface: str, handle: int, at_ms: list[int], once: bool
    ) -> None:
        integrity.load("wanlab.agent.shaping")
        from . import shaping  # few networks need it

        with self._namespaces.inside_net(node), links.Netlink() as netlink:
            for request in shaping.add_opportunities(interface_index(interface), handle, at_ms):
                netlink.request(*request)
        self._loaded.append((node, interface, handle, once))

    def start_opportunities(self, start_ns: int) -> None:
        integrity.load("wanlab.agent.shaping")
        from . import shaping

        for node, interface, handle, once in self._loaded:
            with self._namespaces.inside_net(node), links.Netlink() as netlink:
                index = interface_index(interface)
                netlink.request(*shaping.start_opportunities(index, handle, once, start_ns))
        self._loaded.clear()

    def change_conditions(
        self,
        node: str,
        interface: str,
        shaper: dict[str, int] | None,
        delay_line: dict[str, int] | None,
    ) -> None:
        integrity.load("wanlab.agent.shaping")
        from . import shaping

        with self._namespaces.inside_net(node), links.Netlink() as netlink:
            index = interface_index(interface)
            if shaper is not None:
                netlink.request(*shaping.change_shaper(index, **shaper))
            if delay_line is not None:
                netlink.request(*shaping.change_delay_line(index, **delay_line))

    def set_vlans(self, lines: list[str]) -> None:
        """Run lines of `bridge -batch`."""
        self._run(ROOT, ["bridge", "-batch", "-"], "".join(f"{line}\n" for line in lines))

    # -- services ----------------------------------------------------------------

    @property
    def _started_services(self) -> Services:
        """Loaded on first use: few networks need it."""
        if self._services is None:
            integrity.load("wanlab.agent.services")
            from .services import Services

            self._services = Services(self._run)
        return self._services

    def start_ovs(self) -> None:
        self._started_services.ovs.start()

    def set_ovs(self, arguments: list[str]) -> None:
        """Run `ovs-vsctl`; each of its commands follows a "--"."""
        self._started_services.ovs.configure(arguments)

    def start_controller(self, controller: str, address: str, port: int) -> None:
        self._started_services.controllers.start(controller, address, port)

    def start_relay(self, controller: str, address: str, port: int) -> None:
        self._started_services.controllers.start_relay(controller, address, port)

    def stop_controller(self, controller: str) -> None:
        self._started_services.controllers.stop(controller)

    def await_switches(self, controller: str, count: int) -> None:
        self._started_services.controllers.await_switches(controller, count)

    def prepare_routing(self) -> None:
        self._started_services.routing.prepare()

    def start_routing(self, router: str, programs: list[str], configuration: str) -> None:
        self._started_services.routing.start(router, programs, configuration)

    def configure_routing(self, router: str) -> None:
        self._started_services.routing.configure(router)

    def run_start_command(self, node: str, command: str, folder: str) -> None:
        from .start_command import run_start_command  # few networks need it

        with self._namespaces.inside_net(node):
            run_start_command(command, self._environment, folder)

    def write_file(self, path: str, content: str) -> None:
        if not path.startswith("/proc/"):
            self._remember_file(path)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)

    # -- undoing all operations ---------------------------------------------------------------------

    def undo(self) -> None:
        """Remove added objects and restore changed ones, except those that are gone already."""
        if self._services is not None:
            self._services.undo()
        self._namespaces.remove(*self._namespaces.names())
        for interface in self._root_interfaces:
            with contextlib.suppress(OSError):  # it may have gone with the namespace of its peer
                self._root_links.request(*links.remove_link(interface))
        for path, content in self._files_before.items():
            if content is None:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
            else:
                with contextlib.suppress(OSError), open(path, "w", encoding="utf-8") as file:
                    file.write(content)

    def _remember_file(self, path: str) -> None:
        """Remember the content of a file before its first change."""
        if path not in self._files_before:
            try:
                with open(path, encoding="utf-8") as file:
                    self._files_before[path] = file.read()
            except FileNotFoundError:
                self._files_before[path] = None

    def _run(
        self, node: str, arguments: list[str], stdin: str = "", folder: str | None = None
    ) -> str:
        integrity.load("subprocess")
        import subprocess  # slow to import, and few networks need it

        with self._namespaces.inside_net(node):
            process = subprocess.run(
                arguments,
                input=stdin,
                env=self._environment,
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )
        if process.returncode != 0:
            reason = (process.stderr or process.stdout).strip()
            raise OSError(f"{' '.join(arguments)}: {reason or f'exit status {process.returncode}'}")
        return process.stdout


def interface_index(name: str) -> int:
    """Return the index of an interface in the current namespace."""
    return _socket.if_nametoindex(name)
