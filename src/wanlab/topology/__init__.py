"""What a network is: frozen data, shapes, addresses by rule, checks, and files."""

from wanlab.topology.addresses import resolve
from wanlab.topology.check import check, ensure
from wanlab.topology.files import load, save
from wanlab.topology.model import (
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
)
from wanlab.topology.nic import Nic
from wanlab.topology.words import ConditionWords, link

__all__ = [
    "ConditionWords",
    "Conditions",
    "Controller",
    "Host",
    "Link",
    "NetFlow",
    "Nic",
    "Node",
    "Port",
    "Queue",
    "Router",
    "SFlow",
    "Source",
    "Switch",
    "Topology",
    "check",
    "ensure",
    "link",
    "load",
    "resolve",
    "save",
]
