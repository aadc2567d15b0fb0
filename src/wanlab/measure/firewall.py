"""What the rules of a node's firewall have dropped, from the listing of nft(8).

    table inet mine {
            chain in {
                    tcp dport 80 counter packets 3 bytes 180 drop

Rules of iptables are rules of nf_tables, too, and always have a counter. A rule of nftables has one only
if it says `counter`; a chain's policy has none.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from .lost_packets import Drop

NETLINK_NETFILTER = 12
NFT_MSG_NEWTABLE, NFT_MSG_GETTABLE = 10 << 8, 10 << 8 | 1
TABLES_REQUEST = struct.pack("=BBH", 0, 0, 0)
"""The body of an NFT_MSG_GETTABLE that requests the tables of all families: nfgenmsg of nfnetlink.h."""
LIST_RULES = ("nft", "list", "ruleset")

_BLOCK = re.compile(r"^\s*(?:table|chain) (.*) \{$")
_RULE = re.compile(r"^\s*(.*?)\s*counter packets (\d+) bytes \d+ ((drop|reject)\b.*)$")


def drops_of_rules(node: str, listing: str) -> Iterator[Drop]:
    """Yield the drops of each rule that drops or rejects packets, from the output of LIST_RULES."""
    table = chain = ""
    for line in listing.splitlines():
        if block := _BLOCK.match(line):
            if line.startswith("table"):
                table = block[1]
            else:
                chain = block[1]
        elif (rule := _RULE.match(line)) and int(rule[2]):
            words = " ".join(filter(None, (rule[1], rule[3])))
            yield Drop(
                node,
                node,
                "firewall",
                int(rule[2]),
                0.0,
                f"its rule in {table} {chain}: {words}",
                is_reported=rule[4] == "reject",
            )
