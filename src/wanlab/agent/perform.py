"""Does the operations of a plan. Each function here is the operation of the same name.

What an operation asks for and what a person would type for it stands in `operations`; this is the
fast way to the same result.
"""

from __future__ import annotations

import _socket
import contextlib
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from . import card, links, system
from .namespaces import ROOT, Namespaces

if TYPE_CHECKING:
    from .beside import ProgramsBeside


class Performer:
    """Performs operations one by one; keeps open what several of them use."""

    def __init__(self, namespaces: Namespaces, environment: dict[str, str]) -> None:
        self._namespaces = namespaces
        self._environment = environment
        self._root_links = links.Netlink()
        self._routes: dict[tuple[str, str], dict[str, str]] = {}
        # What is in the root namespace now because of us, or was there before: how to undo it.
        self._root_interfaces: dict[str, None] = {}
        self._files_before: dict[str, str | None] = {}
        self._peers: dict[tuple[str, str], tuple[str, str]] = {}
        self._beside: ProgramsBeside | None = None
        self._loaded: list[tuple[str, str, int, bool]] = []  # and not started

    def perform(self, name: str, arguments: dict[str, object]) -> None:
        """OSError or ValueError, with the kernel's or the tool's words, if it cannot be done."""
        operation: Callable[..., None] = getattr(self, name)
        operation(**arguments)

    # -- nodes ------------------------------------------------------------------------------------

    def add_namespace(self, name: str) -> None:
        self._namespaces.add(name)
        with self._namespaces.inside_net(name), links.Netlink() as netlink:
            netlink.request(*links.change_link(1, up=True))  # lo is the first interface anywhere

    def remove_namespace(self, name: str) -> None:
        self._namespaces.remove(name)

    def add_bridge(
        self, name: str, stp: bool, priority: int | None, vlan_filtering: bool = False
    ) -> None:
        self._root_links.request(*links.bridge(name, stp, priority, vlan_filtering))
        self._root_interfaces[name] = None

    def add_private_directory(self, node: str, mount: str, kept_in: str | None) -> None:
        os.makedirs(mount, exist_ok=True)
        if kept_in is not None:
            os.makedirs(kept_in, exist_ok=True)
        with self._namespaces.inside(node):
            if kept_in is None:
                system.mount("tmpfs", mount, "tmpfs")
            else:
                system.mount(kept_in, mount, flags=system.MS_BIND)

    def limit_processor(self, node: str, share: float | None, cores: str | None) -> None:
        from .groups import Group  # few networks need it

        self._namespaces.put_in_group(node, Group(node, share, cores))

    # -- links ------------------------------------------------------------------------------------

    def add_link(self, a: dict[str, object], b: dict[str, object]) -> None:
        # The first end is up when it is made. The second cannot be (it has no peer yet then), so it
        # is the one in the root namespace, if either is: to reach that takes no change of namespace.
        first, second = (b, a) if a["node"] == ROOT else (a, b)
        self._root_links.request(*links.veth(self._end(first), self._end(second)))
        for end in (first, second):
            if end["bridge"] or end is second:
                self._bring_up(end)

        ends = [(str(end["node"]), str(end["name"])) for end in (first, second)]
        self._peers.update(zip(ends, reversed(ends), strict=True))
        for node, name in ends:
            if node == ROOT:
                self._root_interfaces[name] = None

    def remove_link(self, node: str, name: str) -> None:
        """An interface; the other end of its link goes with it."""
        if self._forget_in_ovs((node, name)):
            return
        with self._namespaces.inside_net(node), links.Netlink() as netlink:
            netlink.request(*links.remove_link(name))
        if node == ROOT:
            self._root_interfaces.pop(name, None)

    def _forget_in_ovs(self, end: tuple[str, str]) -> bool:
        """Open vSwitch keeps the names of ports that have gone. Whether it was a switch of its own."""
        peer = self._peers.pop(end, None)
        self._peers.pop(peer or end, None)
        if self._beside is None:
            return False
        was_switch = False
        for node, name in filter(None, (end, peer)):
            was_switch |= node == ROOT and self._beside.ovs.forget(name)
        return was_switch

    def join_bridge(self, interface: str, bridge: str) -> None:
        master = links.number(links.IFLA_MASTER, interface_index(bridge))
        self._root_links.request(*links.change_link(interface_index(interface), attributes=master))

    def _end(self, end: dict[str, object]) -> bytes:
        attributes = links.end_of_pair(str(end["name"]), _text(end["mac"]), _number(end["mtu"]))
        node = str(end["node"])
        if node == ROOT:
            return attributes
        return attributes + links.number(links.IFLA_NET_NS_FD, self._namespaces.net(node))

    def _bring_up(self, end: dict[str, object]) -> None:
        node, attributes = str(end["node"]), links.text(links.IFLA_IFNAME, str(end["name"]))
        if end["bridge"]:
            attributes += links.number(links.IFLA_MASTER, interface_index(str(end["bridge"])))
        request = links.change_link(0, up=True, attributes=attributes)
        if node == ROOT:
            self._root_links.request(*request)
            return
        with self._namespaces.inside_net(node), links.Netlink() as netlink:
            netlink.request(*request)

    def bring_up(self, node: str, name: str) -> None:
        with self._namespaces.inside_net(node), links.Netlink() as netlink:
            netlink.request(*links.change_link(interface_index(name), up=True))

    def add_vlan_interface(self, node: str, port: str, vlan: int, interface: str) -> None:
        with self._namespaces.inside_net(node), links.Netlink() as netlink:
            netlink.request(*links.vlan_interface(interface, interface_index(port), vlan))

    def take_interface(self, interface: str, node: str) -> None:
        """One that is in the root namespace."""
        if node != ROOT:
            target = links.number(links.IFLA_NET_NS_FD, self._namespaces.net(node))
            index = interface_index(interface)
            self._root_links.request(*links.change_link(index, attributes=target))
        self.bring_up(node, interface)

    def set_link_state(self, node: str, name: str, up: bool) -> None:
        """Addresses and routes stay, as when a cable is pulled: what the kernel forgets is kept here."""
        if not up and (node, name) not in self._routes:
            with self._namespaces.inside_net(node):
                self.write_file(f"/proc/sys/net/ipv6/conf/{name}/keep_addr_on_down", "1")
            self._routes[node, name] = {
                family: self._routes_of(node, family, name) for family in ("-4", "-6")
            }
        with self._namespaces.inside_net(node), links.Netlink() as netlink:
            netlink.request(*links.change_link(interface_index(name), up=up))
        if up:
            for family, routes in self._routes.pop((node, name), {}).items():
                lines = [line.replace(" linkdown", "") for line in routes.splitlines()]
                replace = "".join(f"route replace {line} dev {name}\n" for line in lines)
                self._run(node, ["ip", family, "-batch", "-"], replace)

    def _routes_of(self, node: str, family: str, name: str) -> str:
        """Those that nobody else looks after: what routing programs have found, they find again."""
        shown = self._run(node, ["ip", family, "route", "show", "dev", name])
        kept = [line for line in shown.splitlines(True) if " nhid " not in line]
        return "".join(kept)

    def add_address(self, node: str, name: str, address: str) -> None:
        with self._namespaces.inside_net(node), links.Netlink() as netlink:
            netlink.request(*links.new_address(interface_index(name), address))

    def set_speed(self, node: str, name: str, speed_mbps: int) -> None:
        """The line rate of the wire out of this port (our patch of veth); 0 is no limit."""
        with self._namespaces.inside_net(node):
            card.set_speed(name, speed_mbps)

    def set_offloads(self, node: str, name: str, features: dict[str, bool]) -> None:
        with self._namespaces.inside_net(node):
            card.set_offloads(name, features)

    def limit_joining(self, node: str, name: str, most_bytes: int) -> None:
        limit = links.number(links.IFLA_GRO_MAX_SIZE, most_bytes)
        with self._namespaces.inside_net(node), links.Netlink() as netlink:
            netlink.request(*links.change_link(interface_index(name), attributes=limit))

    def set_wire(self, node: str, name: str) -> None:
        with self._namespaces.inside_net(node):
            card.set_wire(name)

    def set_moderation(self, node: str, name: str, least_us: int) -> None:
        with self._namespaces.inside_net(node):
            card.set_moderation(name, least_us)

    # -- what has tools of its own ----------------------------------------------------------------

    def set_sysctl(self, node: str, key: str, value: str) -> None:
        path = "/proc/sys/" + key.replace(".", "/")
        if node == ROOT:
            self._keep(path)
        with self._namespaces.inside_net(node), open(path, "w", encoding="ascii") as file:
            file.write(value)

    def add_route(self, node: str, words: str) -> None:
        self._run(node, ["ip", "route", "add", *words.split()])

    def shape(self, node: str, commands: list[str]) -> None:
        """Lines for `tc -batch`."""
        self._run(node, ["tc", "-batch", "-"], "".join(f"{line}\n" for line in commands))

    def load_opportunities(
        self, node: str, name: str, handle: int, at_ms: list[int], once: bool
    ) -> None:
        from . import shaping  # few networks need it

        with self._namespaces.inside_net(node), links.Netlink() as netlink:
            for request in shaping.add_opportunities(interface_index(name), handle, at_ms):
                netlink.request(*request)
        self._loaded.append((node, name, handle, once))

    def start_opportunities(self, start_ns: int) -> None:
        from . import shaping

        for node, name, handle, once in self._loaded:
            with self._namespaces.inside_net(node), links.Netlink() as netlink:
                index = interface_index(name)
                netlink.request(*shaping.start_opportunities(index, handle, once, start_ns))
        self._loaded.clear()

    def change_conditions(
        self,
        node: str,
        name: str,
        shaper: dict[str, int] | None,
        delay_line: dict[str, int] | None,
    ) -> None:
        from . import shaping

        with self._namespaces.inside_net(node), links.Netlink() as netlink:
            index = interface_index(name)
            if shaper is not None:
                netlink.request(*shaping.change_shaper(index, **shaper))
            if delay_line is not None:
                netlink.request(*shaping.change_delay_line(index, **delay_line))

    def set_vlans(self, lines: list[str]) -> None:
        """Lines for `bridge -batch`."""
        self._run(ROOT, ["bridge", "-batch", "-"], "".join(f"{line}\n" for line in lines))

    # -- what needs programs beside it --------------------------------------------------------------

    @property
    def _programs(self) -> ProgramsBeside:
        """Loaded when it is wanted: few networks need it."""
        if self._beside is None:
            from .beside import ProgramsBeside

            self._beside = ProgramsBeside(self._run)
        return self._beside

    def start_ovs(self) -> None:
        self._programs.ovs.start()

    def set_ovs(self, words: list[str]) -> None:
        """Words for `ovs-vsctl`, each command of it after a "--"."""
        self._programs.ovs.tell(words)

    def start_controller(self, controller: str, address: str, port: int) -> None:
        self._programs.controllers.start(controller, address, port)

    def start_relay(self, controller: str, address: str, port: int) -> None:
        self._programs.controllers.start_relay(controller, address, port)

    def stop_controller(self, controller: str) -> None:
        self._programs.controllers.stop(controller)

    def await_switches(self, controller: str, count: int) -> None:
        self._programs.controllers.await_switches(controller, count)

    def prepare_routing(self) -> None:
        self._programs.routing.prepare()

    def start_routing(self, router: str, programs: list[str], configuration: str) -> None:
        self._programs.routing.start(router, programs, configuration)

    def run_command(self, node: str, command: str) -> None:
        self._run(node, ["/bin/sh", "-c", command])

    def write_file(self, path: str, content: str) -> None:
        if not path.startswith("/proc/"):
            self._keep(path)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)

    # -- the way back -----------------------------------------------------------------------------

    def undo(self) -> None:
        """Takes away what was added and puts back what was changed. What is gone already is no error."""
        if self._beside is not None:
            self._beside.undo()
        self._namespaces.remove(*self._namespaces.names())
        for name in self._root_interfaces:
            with contextlib.suppress(OSError):  # ends of links to a namespace go with it
                self._root_links.request(*links.remove_link(name))
        for path, content in self._files_before.items():
            if content is None:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
            else:
                with contextlib.suppress(OSError), open(path, "w", encoding="utf-8") as file:
                    file.write(content)

    def _keep(self, path: str) -> None:
        """Notes what a file held before the first change."""
        if path not in self._files_before:
            try:
                with open(path, encoding="utf-8") as file:
                    self._files_before[path] = file.read()
            except FileNotFoundError:
                self._files_before[path] = None

    def _run(self, node: str, arguments: list[str], given: str = "") -> str:
        import subprocess  # dear to import, and few networks need it

        with self._namespaces.inside_net(node):
            done = subprocess.run(
                arguments,
                input=given,
                env=self._environment,
                capture_output=True,
                text=True,
                check=False,
            )
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip()
            raise OSError(f"{' '.join(arguments)}: {said or f'exit status {done.returncode}'}")
        return done.stdout


def interface_index(name: str) -> int:
    """In the present namespace."""
    return _socket.if_nametoindex(name)


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _number(value: object) -> int | None:
    return None if value is None else int(str(value))
