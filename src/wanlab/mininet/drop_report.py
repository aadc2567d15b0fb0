"""Says where packets were lost when a network stops, as `wanlab exec` does at its end."""

from __future__ import annotations

import logging

from .live_network import live_network
from .log import info, lg
from .queue_look import look_at_all_queues


def report_drops() -> None:
    """Say where the live network of this program lost packets, if the log level shows `info`.

    Before, warn of queues that have another effect than they seem to have.
    """
    look_at_all_queues()
    network = live_network().own_network
    if network is None or not lg.isEnabledFor(logging.INFO):
        return
    from wanlab.measure.lost_packets import summary

    for line in summary(network):
        info(f"*** {line}\n")
