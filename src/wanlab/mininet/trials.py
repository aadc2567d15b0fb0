"""The tests of a network: ping between all hosts, throughput between two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from wanlab.errors import RequirementError, WanlabError

from .addresses import UNSPECIFIED
from .hosts import Node
from .log import output
from .pinger import REPLY_TIMEOUT_S, Pinger
from .throughput import measure

PingStatistics = tuple[int, int, float, float, float, float]
"""(sent, received, and the minimum, mean, maximum and mean deviation of the round trip in ms)"""
PingResult = tuple[Node, Node, PingStatistics]
"""(source, target, statistics)"""
Seconds = float | str | None
"""A timeout; a text comes from the prompt, None is the default."""


class Trials:
    """The tests that Mininet offers as methods of a network."""

    hosts: list[Node]

    def ping(self, hosts: Sequence[Node] | None = None, timeout: Seconds = None) -> float:
        """Let each host ping every other host once; return the loss in percent."""
        sent = received = 0
        for _, _, statistics in self._pings(hosts, timeout):
            sent += statistics[0]
            received += statistics[1]
        if not sent:
            output("*** Warning: No packets sent\n")
            return 0.0
        loss_percent = 100.0 * (sent - received) / sent
        output(f"*** Results: {int(loss_percent)}% dropped ({received}/{sent} received)\n")
        return loss_percent

    def _pings(self, hosts: Sequence[Node] | None, timeout: Seconds) -> list[PingResult]:
        if hosts is None:
            hosts = self.hosts
            output("*** Ping: testing ping reachability\n")
        timeout_s = REPLY_TIMEOUT_S if timeout is None else float(timeout)
        results: list[PingResult] = []
        with Pinger() as pinger:
            for source in hosts:
                output(f"{source.name} -> ")
                for target in hosts:
                    if target is source:
                        continue
                    if not target.intfs:  # as in Mininet, it is shown, but not counted
                        output("X ")
                        continue
                    rtt = self._ping_once(pinger, source, target, timeout_s)
                    output(f"{'X' if rtt is None else target.name} ")
                    lost = (1, 0, 0.0, 0.0, 0.0, 0.0)
                    statistics = lost if rtt is None else (1, 1, rtt, rtt, rtt, 0.0)
                    results.append((source, target, statistics))
                output("\n")
        return results

    @staticmethod
    def _ping_once(pinger: Pinger, source: Node, target: Node, timeout_s: float) -> float | None:
        address = target.IP()
        if address in (None, UNSPECIFIED):  # `ping 0.0.0.0` would ping the source itself
            return None
        return pinger.ping(source.namespace, address, timeout_s).rtt_ms

    def pingFull(
        self, hosts: Sequence[Node] | None = None, timeout: Seconds = None
    ) -> list[PingResult]:
        """Ping as `ping` does; return (source, target, (sent, received, min, avg, max, mdev))."""
        results = self._pings(hosts, timeout)
        output("*** Results: \n")
        for source, target, (sent, received, *times) in results:
            rtt = "/".join(f"{time:.3f}" for time in times)
            output(f" {source}->{target}: {sent}/{received}, rtt min/avg/max/mdev {rtt} ms\n")
        return results

    def pingAll(self, timeout: Seconds = None) -> float:
        return self.ping(timeout=timeout)

    def pingPair(self) -> float:
        return self.ping(hosts=self.hosts[:2])

    def pingAllFull(self) -> list[PingResult]:
        return self.pingFull()

    def pingPairFull(self) -> list[PingResult]:
        return self.pingFull(hosts=self.hosts[:2])

    def iperf(
        self,
        hosts: Sequence[Node] | None = None,
        l4Type: str = "TCP",
        udpBw: str = "10M",
        fmt: str | None = None,
        seconds: float = 5,
        port: int = 5001,
    ) -> list[str]:
        """Measure the rate from the first host to the second; by default, to the last of the network.

        Returns [rate at the server, rate at the client], for UDP with the offered rate before them.
        """
        ends = hosts or [*self.hosts[:1], *self.hosts[1:][-1:]]
        if len(ends) != 2 or ends[0] is ends[1]:
            raise WanlabError(
                f"iperf measures between two hosts, not {', '.join(map(str, ends)) or 'none'}",
                "as in: iperf h1 h2",
            )
        client, server = ends
        if l4Type not in ("TCP", "UDP"):
            raise WanlabError(f"Unexpected l4 type: {l4Type}", "TCP or UDP")
        output(f"*** Iperf: testing {l4Type} bandwidth between {client} and {server} \n")
        udp_rate = udpBw if l4Type == "UDP" else None
        rates = measure(
            client, server, udp_rate=udp_rate, seconds=seconds, port=port, fmt=fmt or ""
        )
        result = [*([udpBw] if udp_rate else []), *rates]
        output(f"*** Results: {result}\n")
        return result

    def runCpuLimitTest(self, cpu: float, duration: int = 5) -> NoReturn:
        raise RequirementError(
            "CPU limits cannot be tested: on virtual time computation takes no time, and in a user "
            "namespace nobody may set them"
        )
