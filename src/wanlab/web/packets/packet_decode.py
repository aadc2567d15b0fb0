"""Describe packets in one line, as Wireshark's list does: ends, protocol, and info.

Formats: RFC 826 (ARP), 791 and 8200 (IP), 792 and 4443 (ICMP), 9293 (TCP), 768 (UDP), 1035 (DNS),
2131 (DHCP), 2328 (OSPF), IEEE 802.1D (STP) and 802.1Q.
"""

from __future__ import annotations

import ipaddress
import struct
from dataclasses import dataclass, replace
from functools import lru_cache

ETHERNET_BYTES = 14
MAX_STP_LENGTH = 1536
"""A smaller number after the addresses is the length of an LLC frame."""

ETHER_TYPES = {0x0806: "ARP", 0x86DD: "IPv6", 0x0800: "IPv4", 0x88CC: "LLDP", 0x8847: "MPLS"}
IP_PROTOCOLS = {
    1: "ICMP",
    2: "IGMP",
    6: "TCP",
    17: "UDP",
    47: "GRE",
    58: "ICMPv6",
    89: "OSPF",
    132: "SCTP",
}
ICMP_TYPES = {
    0: "echo reply",
    3: "destination unreachable",
    4: "source quench",
    5: "redirect",
    8: "echo request",
    11: "time exceeded",
    12: "parameter problem",
}
ICMP6_TYPES = {
    1: "destination unreachable",
    2: "packet too big",
    3: "time exceeded",
    128: "echo request",
    129: "echo reply",
    133: "router solicitation",
    134: "router advertisement",
    135: "neighbour solicitation",
    136: "neighbour advertisement",
    143: "multicast listener report",
}
UNREACHABLE = {
    0: "net",
    1: "host",
    2: "protocol",
    3: "port",
    4: "fragmentation needed",
    13: "prohibited",
}
TCP_FLAGS = ("FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR")
OSPF_TYPES = {
    1: "hello",
    2: "database description",
    3: "link state request",
    4: "link state update",
    5: "link state acknowledgment",
}
DHCP_TYPES = {
    1: "discover",
    2: "offer",
    3: "request",
    4: "decline",
    5: "ack",
    6: "nak",
    7: "release",
    8: "inform",
}
DNS_TYPES = {
    1: "A",
    2: "NS",
    5: "CNAME",
    6: "SOA",
    12: "PTR",
    15: "MX",
    16: "TXT",
    28: "AAAA",
    255: "ANY",
}
PORTS = {
    53: "DNS",
    67: "DHCP",
    68: "DHCP",
    179: "BGP",
    520: "RIP",
    6653: "OpenFlow",
    6633: "OpenFlow",
}


@dataclass(frozen=True)
class DecodedPacket:
    """A packet in words. `flow` names both ends and the protocol, the smaller end first, so that it is
    the same in both directions; "" if it has none."""

    source: str
    destination: str
    protocol: str
    info: str
    flow: str = ""
    payload_bytes: int = 0
    """The bytes of a program that the packet carries; 0 for a pure acknowledgement."""


def decode(data: bytes, length: int) -> DecodedPacket:
    """Describe the beginning of an Ethernet frame that was `length` bytes long."""
    try:
        return _ethernet(data, length)
    except (struct.error, IndexError, ValueError):
        return DecodedPacket("", "", "?", f"{length} bytes, of which too few were captured")


def _ethernet(data: bytes, length: int) -> DecodedPacket:
    destination, source = _mac(data[:6]), _mac(data[6:12])
    (kind,) = struct.unpack_from("!H", data, 12)
    start, vlan = ETHERNET_BYTES, ""
    while kind in (0x8100, 0x88A8):
        tag, kind = struct.unpack_from("!HH", data, start)
        vlan += f"VLAN {tag & 0xFFF} "
        start += 4
    if kind == 0x0800:
        found = _ipv4(data, start)
    elif kind == 0x86DD:
        found = _ipv6(data, start)
    elif kind == 0x0806:
        found = _arp(data, start)
    elif kind < MAX_STP_LENGTH and data[start : start + 2] == b"\x42\x42":
        found = DecodedPacket(source, destination, "STP", _stp(data, start + 3))
    else:
        name = ETHER_TYPES.get(kind, f"0x{kind:04x}")
        found = DecodedPacket(source, destination, name, f"{length} bytes")
    if not vlan:
        return found
    return replace(found, info=vlan + found.info)


def _mac(raw: bytes) -> str:
    return raw.hex(":")


@lru_cache(4096)
def _ip(raw: bytes) -> str:
    return str(ipaddress.ip_address(raw))


def _arp(data: bytes, start: int) -> DecodedPacket:
    (operation,) = struct.unpack_from("!H", data, start + 6)
    sender_mac, sender = _mac(data[start + 8 : start + 14]), _ip(data[start + 14 : start + 18])
    target = _ip(data[start + 24 : start + 28])
    flow = _flow("ARP", sender, target)
    if operation == 1:
        info = f"who has {target}? tell {sender}"
        return DecodedPacket(sender, "broadcast", "ARP", info, flow)
    return DecodedPacket(sender, target, "ARP", f"{sender} is at {sender_mac}", flow)


def _stp(data: bytes, start: int) -> str:
    if data[start + 3] == 0x80:
        return "topology change"
    (priority, cost) = struct.unpack_from("!H6xI", data, start + 5)
    return f"root {priority}.{data[start + 7 : start + 13].hex(':')}, cost {cost}"


def _ipv4(data: bytes, start: int) -> DecodedPacket:
    header = (data[start] & 15) * 4
    total, _, fragment = struct.unpack_from("!HHH", data, start + 2)
    ttl, number = data[start + 8], data[start + 9]
    source, destination = _ip(data[start + 12 : start + 16]), _ip(data[start + 16 : start + 20])
    if fragment & 0x1FFF:
        name = IP_PROTOCOLS.get(number, str(number))
        info = f"fragment at {(fragment & 0x1FFF) * 8} of {name}"
        return DecodedPacket(source, destination, "IPv4", info, _flow("IPv4", source, destination))
    found = _transport(data, start + header, number, source, destination, total - header)
    if data[start + 1] & 3 == 3:
        found = replace(found, info=f"{found.info} [CE]")
    return found if ttl > 1 else replace(found, info=f"{found.info} [TTL {ttl}]")


def _ipv6(data: bytes, start: int) -> DecodedPacket:
    payload, number = struct.unpack_from("!HB", data, start + 4)
    source, destination = _ip(data[start + 8 : start + 24]), _ip(data[start + 24 : start + 40])
    start += 40
    while number in (0, 43, 60):  # hop-by-hop, routing and destination options
        number, size = data[start], (data[start + 1] + 1) * 8
        start, payload = start + size, payload - size
    return _transport(data, start, number, source, destination, payload)


def _flow(protocol: str, a: str, b: str) -> str:
    first, second = sorted((a, b))
    return f"{protocol} {first} {second}"


def _transport(
    data: bytes, start: int, number: int, source: str, destination: str, size: int
) -> DecodedPacket:
    if number == 6:
        return _tcp(data, start, source, destination, size)
    if number == 17:
        return _udp(data, start, source, destination)
    if number in (1, 58):
        kind, code = data[start], data[start + 1]
        names = ICMP_TYPES if number == 1 else ICMP6_TYPES
        info = names.get(kind, f"type {kind}")
        if number == 1 and kind == 3:
            info += f" ({UNREACHABLE.get(code, code)})"
        if "echo" in info:
            identifier, sequence = struct.unpack_from("!HH", data, start + 4)
            info += f" id={identifier} seq={sequence}"
        name = IP_PROTOCOLS[number]
        return DecodedPacket(
            source, destination, name, info, _flow(name, source, destination), size - 8
        )
    name = IP_PROTOCOLS.get(number, f"IP {number}")
    info = OSPF_TYPES.get(data[start + 1], "") if number == 89 else ""
    return DecodedPacket(
        source, destination, name, info or f"{size} bytes", _flow(name, source, destination), size
    )


def _tcp(data: bytes, start: int, source: str, destination: str, size: int) -> DecodedPacket:
    a, b, sequence, ack = struct.unpack_from("!HHII", data, start)
    header, flags = (data[start + 12] >> 4) * 4, data[start + 13]
    (window,) = struct.unpack_from("!H", data, start + 14)
    payload = size - header
    words = ", ".join(name for bit, name in enumerate(TCP_FLAGS) if flags >> bit & 1)
    info = f"{a} → {b} [{words}] seq={sequence}"
    if flags & 16:
        info += f" ack={ack}"
    info += f" win={window} len={payload}"
    flow = _flow("TCP", f"{_end(source)}:{a}", f"{_end(destination)}:{b}")
    name = PORTS.get(a) or PORTS.get(b) or "TCP"
    return DecodedPacket(source, destination, name if payload else "TCP", info, flow, payload)


def _end(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _udp(data: bytes, start: int, source: str, destination: str) -> DecodedPacket:
    a, b, length = struct.unpack_from("!HHH", data, start)
    flow = _flow("UDP", f"{_end(source)}:{a}", f"{_end(destination)}:{b}")
    name = PORTS.get(a) or PORTS.get(b) or "UDP"
    info = f"{a} → {b} len={length - 8}"
    if name == "DNS":
        info = _dns(data, start + 8) or info
    elif name == "DHCP":
        info = _dhcp(data, start + 8) or info
    return DecodedPacket(source, destination, name, info, flow, length - 8)


def _dns(data: bytes, start: int) -> str:
    if len(data) < start + 17:
        return ""
    flags, _, answers = struct.unpack_from("!HHH", data, start + 2)
    labels, at = [], start + 12
    while at < len(data) and 0 < data[at] < 64:
        labels.append(data[at + 1 : at + 1 + data[at]].decode("ascii", "replace"))
        at += 1 + data[at]
    if at + 3 > len(data):
        return ""
    (kind,) = struct.unpack_from("!H", data, at + 1)
    asked = f"{DNS_TYPES.get(kind, kind)} {'.'.join(labels)}"
    if not flags & 0x8000:
        return f"query {asked}"
    return f"response {asked}, {'no such name' if flags & 15 == 3 else f'{answers} answers'}"


def _dhcp(data: bytes, start: int) -> str:
    at = start + 240
    while at + 2 < len(data) and data[at] != 255:
        if data[at] == 53:
            return DHCP_TYPES.get(data[at + 2], "")
        at += 1 if data[at] == 0 else 2 + data[at + 1]
    return ""
