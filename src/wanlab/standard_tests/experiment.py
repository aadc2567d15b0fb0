"""Perform one test as an experiment, so that sweeps repeat, cache and compare it.

    0 s              begin                            begin + seconds         end
    |  pings alone   |  flows, calls, pages and pings  |  pings alone          |

Flows start within a tenth of a second, at instants drawn from the seed, so runs with other seeds differ.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wanlab import Flows, Network, Process, Queues, Record, Run, Topology, experiment, ping, shapes
from wanlab.errors import WanlabError, did_you_mean
from wanlab.measure import Sampler, traffic
from wanlab.measure.fairness import jain
from wanlab.record import Table
from wanlab.standard_tests.catalog import (
    CLASSES,
    CODE_POINTS,
    LONG_PATHS_MS,
    StandardTest,
    find,
)
from wanlab.topology import Host, link, loads, resolve
from wanlab.units import format_rate, parse_rate, parse_time

FIRST_PORT = 5202
ALONE_S = 5
"""How long pings run before and after the load."""
STARTS_WITHIN_NS = 100_000_000
PING_INTERVAL_NS = 200_000_000
VOICE_RATE, VOICE_SIZE = "64kbps", "160B"
PAGE_SIZES, PAGE_THINK = "100KB", "500ms"
SAMPLED_EVERY = "50ms"


@dataclass(frozen=True)
class LoadFlow:
    """One TCP flow of the load."""

    name: str
    sender: str
    receiver: str
    port: int
    code_point: int


def flows_of(test: StandardTest, pairs: list[tuple[str, str]]) -> list[LoadFlow]:
    """Return the flows of a test. Each has its own port, which identifies it in samples."""
    flows: list[LoadFlow] = []
    for pair, (client, server) in enumerate(pairs, start=1):
        for way, count in (("up", test.up), ("down", test.down)):
            for number in range(count):
                mark = CLASSES[number % len(CLASSES)] if test.is_marked else ""
                path = str(pair) if len(pairs) > 1 else ""
                label = mark or path or (str(number + 1) if count > 1 else "")
                ends = (client, server) if way == "up" else (server, client)
                port = FIRST_PORT + len(flows)
                name = f"{way} {label}".strip()
                flows.append(LoadFlow(name, *ends, port, CODE_POINTS.get(mark, 0)))
    return flows


@experiment
def standard_test(
    run: Run,
    *,
    test: str = "rrul",
    queue: str = "fifo",
    rate: str = "10Mbps",
    delay: str = "10ms",
    buffer: str = "",
    congestion: str = "",
    flows: int = 4,
    seconds: int = 30,
    topology: str = "",
    client: str = "",
    server: str = "",
    wire: str = "mtu",
) -> None:
    """Throughput and latency of a path under load.

    Without `topology` (the text of a .mn file), the path is a dumbbell whose bottleneck has `rate`,
    `delay` in each direction and `queue`. `buffer` limits the queue: "1bdp", "64KB".
    """
    wanted = find(test).with_flows(flows)
    network = loads(topology, "test.mn") if topology else dumbbell(run, wanted)
    pairs = _pairs(network, wanted, client, server)
    with run.network(network, wire=wire) as net:
        for first, second in pairs:
            net[first].run(f"ping -c 1 {second}")  # so that no address has to be resolved later
        load = flows_of(wanted, pairs)
        for flow in load:
            net[flow.receiver].run(f"wanlab-traffic serve -D --port {flow.port}")
        hosts = dict.fromkeys(host for pair in pairs for host in pair)
        for host in hosts:
            net[host].run(f"wanlab-traffic serve -D --port {FIRST_PORT - 1}")
        samplers: list[Sampler] = [Flows(*hosts)]
        if ports := _shaped_ports(network):
            samplers.append(Queues(*ports))
        with run.sampling(*samplers, every=SAMPLED_EVERY):
            pings = _start_pings(net, wanted, *pairs[0], seconds)
            net.run_for(f"{ALONE_S}s")
            processes = _start_load(run, net, load, congestion, seconds)
            others = _start_others(net, wanted, *pairs[0], rate, seconds)
            for process in (*processes, *others.values(), *pings.values()):
                process.wait()
    run.keep("load", _load_table(load))
    _keep_flows(run, wanted, load, processes, rate if not topology else "")
    _keep_others(run, others)
    _keep_pings(run, pings, seconds)


# -- the network ------------------------------------------------------------------------------------


def dumbbell(run: Run, test: StandardTest) -> Topology:
    """Return the default path of a test, from the run's rate, delay, queue and buffer."""
    rate, delay = str(run.parameters["rate"]), str(run.parameters["delay"])
    queue: dict[str, object] = {"kind": str(run.parameters["queue"])}
    if buffer := str(run.parameters["buffer"]):
        rtt_ns = 2 * parse_time(delay)
        queue["limit"] = run.buffer_bytes(buffer, rate=rate, rtt=rtt_ns)
    made = shapes.dumbbell(pairs=test.pairs, rate=rate, delay=delay, queue=queue)
    if test.pairs == 1:
        return made
    far_ms = {f"h{test.pairs + index}": ms for index, ms in enumerate(LONG_PATHS_MS, start=1)}
    links = [
        link(each.a, each.b, delay=f"{far_ms[each.b.node] // 2}ms")
        if each.b.node in far_ms
        else each
        for each in made.links
    ]
    return replace(made, links=tuple(links))


def _pairs(
    topology: Topology, test: StandardTest, client: str, server: str
) -> list[tuple[str, str]]:
    """Return the clients with their servers: the first host, and the last or as many as needed."""
    hosts = [node.name for node in topology.nodes if isinstance(node, Host)]
    for name in filter(None, (client, server)):
        if name not in hosts:
            raise WanlabError(f'there is no host "{name}"', did_you_mean(name, hosts))
    if len(hosts) < 2 or (client and client == server):
        raise WanlabError("a test needs two hosts", "one sends, one receives")
    if test.pairs == 1:
        client = client or next(name for name in hosts if name != server)
        return [(client, server or next(name for name in reversed(hosts) if name != client))]
    if topology.name.startswith("dumbbell") and not client and not server:
        half = len(hosts) // 2
        return list(zip(hosts[:half], hosts[half:], strict=True))[: test.pairs]
    client = client or hosts[0]
    return [(client, name) for name in hosts if name != client][: test.pairs]


def _shaped_ports(topology: Topology) -> list[str]:
    ports = [port for each in resolve(topology).links for port in each.ports]
    return [str(port.name) for port in ports if port.conditions.rate_bps]


# -- the traffic ------------------------------------------------------------------------------------


def _start_pings(
    net: Network, test: StandardTest, client: str, server: str, seconds: int
) -> dict[str, Process]:
    count = (seconds + 2 * ALONE_S) * 10**9 // PING_INTERVAL_NS
    interval_s = PING_INTERVAL_NS / 1e9
    return {
        name: net[client].start(
            f"ping -i {interval_s} -c {count} -W 2 -Q {CODE_POINTS[name] << 2} {server}"
        )
        for name in test.ping_classes
    }


def _start_load(
    run: Run, net: Network, flows: list[LoadFlow], congestion: str, seconds: int
) -> list[Process]:
    begin_ns = net.now_ns
    starts_ns = sorted(int(run.random.uniform(0, STARTS_WITHIN_NS)) for _ in flows)
    order = list(range(len(flows)))
    run.random.shuffle(order)
    processes: dict[int, Process] = {}
    chosen = f" --congestion {congestion}" if congestion else ""
    for start_ns, index in zip(starts_ns, order, strict=True):
        flow = flows[index]
        net.run_until(begin_ns + start_ns)
        processes[index] = net[flow.sender].start(
            f"wanlab-traffic bulk {flow.receiver} --port {flow.port} --time {seconds}s"
            f" --dscp {flow.code_point} --json{chosen}"
        )
    return [processes[index] for index in range(len(flows))]


def _start_others(
    net: Network, test: StandardTest, client: str, server: str, rate: str, seconds: int
) -> dict[str, Process]:
    """Start the datagrams, calls and pages of a test, by the names of their results."""
    started: dict[str, Process] = {}
    tail = f"--port {FIRST_PORT - 1} --time {seconds}s --json"
    if test.udp_share:
        flood = format_rate(int(parse_rate(rate) * test.udp_share))
        command = f"wanlab-traffic udp {server} --rate {flood} {tail}"
        started["udp"] = net[client].start(command)
    if test.has_voice:
        call = f"--rate {VOICE_RATE} --size {VOICE_SIZE} {tail}"
        started["voice_up"] = net[client].start(f"wanlab-traffic udp {server} {call}")
        started["voice_down"] = net[server].start(f"wanlab-traffic udp {client} {call}")
    if test.has_web:
        user = f"--think {PAGE_THINK} --sizes {PAGE_SIZES} {tail}"
        started["pages"] = net[client].start(f"wanlab-traffic request {server} {user}")
    return started


# -- the results ------------------------------------------------------------------------------------


def _load_table(flows: list[LoadFlow]) -> Table:
    """Return the flows as a table, from which `flows_in` reads them again."""
    return Table.of(
        {
            "name": [flow.name for flow in flows],
            "sender": [flow.sender for flow in flows],
            "receiver": [flow.receiver for flow in flows],
            "port": [flow.port for flow in flows],
            "code_point": [flow.code_point for flow in flows],
        }
        if flows
        else {}
    )


def flows_in(record: Record) -> list[LoadFlow]:
    """Return the TCP flows of a run of a test."""
    table = record["load"]
    if not len(table):
        return []
    columns = [table[name] for name in ("name", "sender", "receiver", "port", "code_point")]
    return [
        LoadFlow(str(name), str(sender), str(receiver), int(port), int(code_point))
        for name, sender, receiver, port, code_point in zip(*columns, strict=True)
    ]


def _keep_flows(
    run: Run, test: StandardTest, flows: list[LoadFlow], processes: list[Process], rate: str
) -> None:
    goodputs_mbps: dict[str, list[float]] = {"up": [], "down": []}
    for flow, process in zip(flows, processes, strict=True):
        results = traffic.parse(process.output)
        assert isinstance(results, traffic.FlowResults)
        goodputs_mbps[flow.name.partition(" ")[0]].append(results.goodput_bps / 1e6)
        run.keep(f"{flow.name.replace(' ', '-')}.json", process.output)
    keep_goodput_metrics(run, goodputs_mbps, rate)


def keep_goodput_metrics(run: Run, goodputs_mbps: dict[str, list[float]], rate: str = "") -> None:
    """Keep the sums of the goodputs of the flows "up" and "down", and the fairness of all flows.

    `rate` is the bottleneck's, "" if it is unknown.
    """
    most = parse_rate(rate) / 1e6 if rate else None
    for way, name in (("down", "download"), ("up", "upload")):
        if goodputs_mbps[way]:
            run.metric(name, sum(goodputs_mbps[way]), "Mbit/s", most=most)
    together = goodputs_mbps["up"] + goodputs_mbps["down"]
    if len(together) > 1:
        run.metric("fairness", jain(together) if any(together) else float("nan"), most=1)


def _keep_others(run: Run, others: dict[str, Process]) -> None:
    for name, process in others.items():
        run.keep(f"{name}.json", process.output)
        results = traffic.parse(process.output)
        if isinstance(results, traffic.Datagrams):
            run.metric(f"{name}_delay", results.mean_delay_ns / 1e6, "ms")
            run.metric(f"{name}_jitter", results.jitter_ns / 1e6, "ms")
            run.metric(f"{name}_loss", 100 * results.loss_fraction, "%", most=100)
        else:
            times_ms = np.asarray(results.table()["completion_ns"], float) / 1e6
            run.keep(name, results.table(start_ns=ALONE_S * 10**9))
            for label, share in (("median", 50), ("p95", 95)):
                value = float(np.percentile(times_ms, share)) if len(times_ms) else float("nan")
                run.metric(f"{name}_{label}", value, "ms")


def _keep_pings(run: Run, pings: dict[str, Process], seconds: int) -> None:
    for name, process in pings.items():
        word = "" if name == "BE" else f"_{name.lower()}"
        result = ping.parse(process.output)
        table = result.table(interval_ns=PING_INTERVAL_NS)
        run.keep(f"ping{word}.txt", process.output)
        run.keep(f"ping{word}", table)
        keep_ping_metrics(run, f"ping{word}", table, seconds)


def keep_ping_metrics(run: Run, name: str, table: Table, seconds: int) -> None:
    """Keep the quantiles and the loss of pings, whose table has the columns of `PingResult.table`."""
    times_s = np.asarray(table["time_ns"], float) / 1e9
    rtts_ms = np.asarray(table["rtt_ms"], float)
    is_loaded = (times_s >= ALONE_S) & (times_s < ALONE_S + seconds)
    if name == "ping":
        run.metric("ping_alone", _quantile(rtts_ms[times_s < ALONE_S], 50), "ms")
    for label, share in (("median", 50), ("p95", 95), ("p99", 99)):
        run.metric(f"{name}_{label}", _quantile(rtts_ms[is_loaded], share), "ms")
    sent = seconds * 10**9 // PING_INTERVAL_NS
    lost = 100 * (1 - len(set(np.asarray(table["sequence"])[is_loaded].tolist())) / sent)
    run.metric(f"{name}_loss", max(0.0, lost), "%", most=100)


def _quantile(values: NDArray[np.float64], share: float) -> float:
    return float(np.percentile(values, share)) if len(values) else float("nan")
