"""wanlab: a network laboratory with its own Linux kernel and its own clock.

    from wanlab import Network, shapes

    with Network(shapes.dumbbell(pairs=2, rate="10Mbps", delay="20ms"), seed=1) as net:
        server = net["h3"].start("iperf3 -s")
        print(net["h1"].run("iperf3 -c h3 -t 10").output)

This is the front door: what stands here is public, and faces use nothing else.

    Network, Process, Finished   a live network
    Topology, Host, ..., link    what a network is; load and save files (loads and dumps: texts); shapes
                                 makes common ones
    resolve                      every port named, every host addressed, by rule
    draw, read_drawing, Fault    a topology as an editor has it, and what is wrong with it
    plan_script                  a topology as a shell script
    Sampling, Queues, Flows, ... what is measured while it runs (sample: in one call); samplers: Queues,
                                 Flows, Ports, Softnet, Cpu; traces: Acks, Sojourns, Retransmissions,
                                 Drops; packets: Capture
    ping, iperf3, traffic        what programs say
    Record, Table, Provenance    what was measured, with its origin
    experiment, Run, Design      a recipe of a measurement, one run of it, and which runs a sweep has;
                                 Experiment, Uniform, Result, Metric, Failure
    Sweep, Results               many runs on all cores or a cluster, and what came of them;
                                 read_results; load_experiment: from a file; forget_runs: no cache
    plot                         figures of it
    LocalView                         counters of the machine that one is in
    call_host, open_request, Connection
                                 requests of a program inside to the user's side
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from wanlab.version import VERSION

if TYPE_CHECKING:
    from wanlab import plot, record
    from wanlab.experiments import (
        Design,
        Experiment,
        Failure,
        Metric,
        Result,
        Results,
        Run,
        Sweep,
        SweepProgress,
        Uniform,
        experiment,
        forget_runs,
        load_experiment,
        read_results,
    )
    from wanlab.machine.checkup import Checkup, Finding, checkup
    from wanlab.machine.embedded import EmbeddedMachine, find_image
    from wanlab.machine.stale import find_stale
    from wanlab.measure import (
        Acks,
        Capture,
        Cpu,
        Drops,
        Flows,
        Ports,
        Queues,
        Retransmissions,
        Sampling,
        Softnet,
        Sojourns,
        iperf3,
        iperf3_text,
        ping,
        sample,
        traffic,
    )
    from wanlab.measure.here import LocalView, NodeCounters
    from wanlab.measure.interfaces import Interface, interfaces
    from wanlab.network import Connection, Finished, Network, Process, call_host, open_request
    from wanlab.plan import plan_script
    from wanlab.plot import Panel
    from wanlab.record import Provenance, Record, Table
    from wanlab.topology import (
        Conditions,
        Controller,
        Fault,
        Host,
        Link,
        NetFlow,
        Nic,
        Port,
        Queue,
        Router,
        SFlow,
        Switch,
        Topology,
        draw,
        dumps,
        link,
        load,
        loads,
        read_drawing,
        resolve,
        save,
        shapes,
    )
    from wanlab.topology.layout import arranged

__version__ = VERSION

# Loaded when first used: the command line must not wait for libraries that it does not need.
_PLACES = {
    "Uniform": "experiments",
    "Design": "experiments",
    "Experiment": "experiments",
    "Failure": "experiments",
    "Metric": "experiments",
    "Result": "experiments",
    "Results": "experiments",
    "Sweep": "experiments",
    "SweepProgress": "experiments",
    "forget_runs": "experiments",
    "load_experiment": "experiments",
    "read_results": "experiments",
    "Run": "experiments",
    "experiment": "experiments",
    "Checkup": "machine.checkup",
    "Conditions": "topology",
    "Controller": "topology",
    "EmbeddedMachine": "machine.embedded",
    "Fault": "topology",
    "Finding": "machine.checkup",
    "Finished": "network",
    "LocalView": "measure.here",
    "Host": "topology",
    "Interface": "measure.interfaces",
    "Link": "topology",
    "NetFlow": "topology",
    "Network": "network",
    "Nic": "topology",
    "NodeCounters": "measure.here",
    "Panel": "plot",
    "Port": "topology",
    "Process": "network",
    "Provenance": "record",
    "Queue": "topology",
    "Record": "record",
    "Router": "topology",
    "SFlow": "topology",
    "Switch": "topology",
    "Table": "record",
    "Topology": "topology",
    "Connection": "network",
    "call_host": "network",
    "arranged": "topology.layout",
    "open_request": "network",
    "checkup": "machine.checkup",
    "draw": "topology",
    "dumps": "topology",
    "find_image": "machine.embedded",
    "find_stale": "machine.stale",
    "link": "topology",
    "load": "topology",
    "loads": "topology",
    "read_drawing": "topology",
    "resolve": "topology",
    "plan_script": "plan",
    "save": "topology",
    "Acks": "measure",
    "Capture": "measure",
    "Cpu": "measure",
    "Drops": "measure",
    "Ports": "measure",
    "Retransmissions": "measure",
    "Softnet": "measure",
    "Sojourns": "measure",
    "Flows": "measure",
    "Queues": "measure",
    "Sampling": "measure",
    "iperf3": "measure",
    "iperf3_text": "measure",
    "ping": "measure",
    "interfaces": "measure.interfaces",
    "sample": "measure",
    "traffic": "measure",
}
_MODULES = {"plot": "plot", "record": "record", "shapes": "topology.shapes"}

__all__ = [
    "Acks",
    "Capture",
    "Checkup",
    "Conditions",
    "Connection",
    "Controller",
    "Cpu",
    "Design",
    "Drops",
    "EmbeddedMachine",
    "Experiment",
    "Failure",
    "Fault",
    "Finding",
    "Finished",
    "Flows",
    "Host",
    "Interface",
    "Link",
    "LocalView",
    "Metric",
    "NetFlow",
    "Network",
    "Nic",
    "NodeCounters",
    "Panel",
    "Port",
    "Ports",
    "Process",
    "Provenance",
    "Queue",
    "Queues",
    "Record",
    "Result",
    "Results",
    "Retransmissions",
    "Router",
    "Run",
    "SFlow",
    "Sampling",
    "Softnet",
    "Sojourns",
    "Sweep",
    "SweepProgress",
    "Switch",
    "Table",
    "Topology",
    "Uniform",
    "arranged",
    "call_host",
    "checkup",
    "draw",
    "dumps",
    "experiment",
    "find_image",
    "find_stale",
    "forget_runs",
    "interfaces",
    "iperf3",
    "iperf3_text",
    "link",
    "load",
    "load_experiment",
    "loads",
    "open_request",
    "ping",
    "plan_script",
    "plot",
    "read_drawing",
    "read_results",
    "record",
    "resolve",
    "sample",
    "save",
    "shapes",
    "traffic",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"wanlab.{_MODULES[name]}")
    if name in _PLACES:
        return getattr(import_module(f"wanlab.{_PLACES[name]}"), name)
    raise AttributeError(f"wanlab has no {name}")
