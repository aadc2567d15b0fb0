"""What is said of a network when it stops, as `wanlab exec` does at its end."""

from __future__ import annotations

import logging
from contextlib import suppress

from wanlab.errors import WanlabError
from wanlab.network import tell_namespaces

from .live_network import live_network
from .log import info, lg
from .queue_look import look_at_all_queues


def report_drops() -> None:
    """Say where the live network of this program lost packets, if the log level shows `info`.

    Before, warn of queues that have another effect than they seem to have, and let the user's side find
    out how long programs have computed.
    """
    look_at_all_queues()
    network = live_network().own_network
    if network is None:
        return
    with suppress(WanlabError):  # a command has removed a node's namespace
        tell_namespaces(network)
    if not lg.isEnabledFor(logging.INFO):
        return
    from wanlab.measure.lost_packets import summary

    for line in summary(network):
        info(f"*** {line}\n")
