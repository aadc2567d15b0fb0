"""Networks as frozen data: the model, shapes, addresses by rule, checks, and files."""

from wanlab.topology.addresses import IPV6_BASE, resolve
from wanlab.topology.check import check, ensure
from wanlab.topology.cpu import Processor, processor_names, read_processor
from wanlab.topology.drawing import Fault, draw, read_drawing
from wanlab.topology.duplicates import duplicate_warnings
from wanlab.topology.files import dumps, load, loads, save
from wanlab.topology.gateways import gateway_warnings
from wanlab.topology.loops import loop_warnings, storm_settings
from wanlab.topology.model import (
    MAX_NODES,
    Conditions,
    Controller,
    Host,
    Link,
    NetFlow,
    Node,
    Port,
    Queue,
    Router,
    SFlow,
    Source,
    Switch,
    Topology,
    processor_of,
)
from wanlab.topology.nic import Nic
from wanlab.topology.settings import QUEUE_KINDS, QUEUES, SETTINGS
from wanlab.topology.words import CONDITION_WORDS, ConditionWords, link

__all__ = [
    "CONDITION_WORDS",
    "IPV6_BASE",
    "MAX_NODES",
    "QUEUES",
    "QUEUE_KINDS",
    "SETTINGS",
    "ConditionWords",
    "Conditions",
    "Controller",
    "Fault",
    "Host",
    "Link",
    "NetFlow",
    "Nic",
    "Node",
    "Port",
    "Processor",
    "Queue",
    "Router",
    "SFlow",
    "Source",
    "Switch",
    "Topology",
    "check",
    "draw",
    "dumps",
    "duplicate_warnings",
    "ensure",
    "gateway_warnings",
    "link",
    "load",
    "loads",
    "loop_warnings",
    "processor_names",
    "processor_of",
    "read_drawing",
    "read_processor",
    "resolve",
    "save",
    "storm_settings",
]
