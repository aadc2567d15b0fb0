"""What a network can be asked to try: pings between all, throughput between two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wanlab.errors import RequirementError, WanlabError

from .hosts import Node
from .log import output
from .pinger import PATIENCE_S, Pinger
from .throughput import measure

Full = tuple[int, int, float, float, float, float]
"""sent, received, and the least, mean, most and mean deviation of the round trip in ms"""


class Trials:
    """The tests of Mininet."""

    hosts: list[Any]

    def ping(self, hosts: Sequence[Any] | None = None, timeout: Any = None) -> float:
        """Each host pings each other one; the share that was lost, in percent."""
        sent = received = 0
        for _, _, (asked, answered, *_) in self._pings(hosts, timeout):
            sent += asked
            received += answered
        if not sent:
            output("*** Warning: No packets sent\n")
            return 0.0
        loss_percent = 100.0 * (sent - received) / sent
        output(f"*** Results: {int(loss_percent)}% dropped ({received}/{sent} received)\n")
        return loss_percent

    def _pings(self, hosts: Sequence[Any] | None, timeout: Any) -> list[tuple[Any, Any, Full]]:
        if hosts is None:
            hosts = self.hosts
            output("*** Ping: testing ping reachability\n")
        patience_s = PATIENCE_S if timeout is None else float(timeout)
        results = []
        with Pinger() as pinger:
            for source in hosts:
                output(f"{source.name} -> ")
                for target in hosts:
                    if target is source or not target.intfs:
                        continue
                    rtt = self._ping_once(pinger, source, target, patience_s)
                    output(f"{'X' if rtt is None else target.name} ")
                    full = (1, 0, 0.0, 0.0, 0.0, 0.0) if rtt is None else (1, 1, rtt, rtt, rtt, 0.0)
                    results.append((source, target, full))
                output("\n")
        return results

    @staticmethod
    def _ping_once(pinger: Pinger, source: Node, target: Node, patience_s: float) -> float | None:
        address = target.IP()
        if address is None:
            return None
        return pinger.ping(source.namespace, address, patience_s).rtt_ms

    def pingFull(
        self, hosts: Sequence[Any] | None = None, timeout: Any = None
    ) -> list[tuple[Any, Any, Full]]:
        """As ping, with times: (source, target, (sent, received, min, avg, max, mdev))."""
        results = self._pings(hosts, timeout)
        output("*** Results: \n")
        for source, target, (sent, received, *times) in results:
            shown = "/".join(f"{time:.3f}" for time in times)
            output(f" {source}->{target}: {sent}/{received}, rtt min/avg/max/mdev {shown} ms\n")
        return results

    def pingAll(self, timeout: Any = None) -> float:
        return self.ping(timeout=timeout)

    def pingPair(self) -> float:
        return self.ping(hosts=self.hosts[:2])

    def pingAllFull(self) -> list[tuple[Any, Any, Full]]:
        return self.pingFull()

    def pingPairFull(self) -> list[tuple[Any, Any, Full]]:
        return self.pingFull(hosts=self.hosts[:2])

    def iperf(
        self,
        hosts: Sequence[Any] | None = None,
        l4Type: str = "TCP",
        udpBw: str = "10M",
        fmt: str | None = None,
        seconds: float = 5,
        port: int = 5001,
    ) -> list[str]:
        """The rate from the first to the second host (or to the last one): [server's, client's]."""
        client, server = hosts or (self.hosts[0], self.hosts[-1])
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

    def runCpuLimitTest(self, cpu: float, duration: int = 5) -> Any:
        raise RequirementError(
            "CPU limits cannot be tested here: on virtual time computing takes no time, and in a "
            "namespace of a user's own nobody may set them"
        )
