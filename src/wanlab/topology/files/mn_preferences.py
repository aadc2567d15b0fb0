"""MiniEdit's preferences, and what they mean for the switches of a file.

openFlowVersions   what every Open vSwitch speaks. Version 1.0 alone, with which MiniEdit starts,
                   counts as no choice: switch and controller agree on a version.
netflow, sflow     where switches report to whose own "netflow" or "sflow" is "1"; nobody does
                   without a target
switchType         what a switch of type "default" is if it has controllers
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wanlab.fields import Fields, Problems
from wanlab.topology.model import NetFlow, SFlow

APPLICATION: Mapping[str, object] = {
    "dpctl": "",
    "ipBase": "10.0.0.0/8",
    "netflow": {"nflowAddId": "0", "nflowTarget": "", "nflowTimeout": "600"},
    "openFlowVersions": {"ovsOf10": "1", "ovsOf11": "0", "ovsOf12": "0", "ovsOf13": "0"},
    "sflow": {
        "sflowHeader": "128",
        "sflowPolling": "30",
        "sflowSampling": "400",
        "sflowTarget": "",
    },
    "startCLI": "0",
    "switchType": "ovs",
    "terminalType": "xterm",
}
"""As MiniEdit starts with them."""

_VERSIONS = {
    "ovsOf10": "OpenFlow10",
    "ovsOf11": "OpenFlow11",
    "ovsOf12": "OpenFlow12",
    "ovsOf13": "OpenFlow13",
}
_NO_CHOICE = ("OpenFlow10",)


@dataclass(frozen=True)
class Preferences:
    """Those that mean something for a network."""

    switch_type: str = "ovs"
    protocols: tuple[str, ...] = ()
    netflow: NetFlow | None = None
    sflow: SFlow | None = None


def read_preferences(application: Fields) -> Preferences:
    """The preferences; what is wrong with them goes to the file's problems."""
    if ports := application.text("dpctl"):
        what = f'switches are not given the ports from "{ports}" on by themselves'
        application.problem("dpctl", what, 'give each switch its own "dpctl"')
    versions = application.mapping("openFlowVersions")
    protocols = tuple(name for key, name in _VERSIONS.items() if _is_on(versions, key))
    return Preferences(
        application.text("switchType") or "ovs",
        () if protocols == _NO_CHOICE else protocols,
        _netflow(application.mapping("netflow")),
        _sflow(application.mapping("sflow")),
    )


def preferences_of(application: Mapping[str, object]) -> Preferences:
    """Those of a topology that was read before, or was never in a file of MiniEdit's."""
    return read_preferences(Fields(application, "", Problems()))


def _netflow(said: Fields) -> NetFlow | None:
    target, timeout_s = said.text("nflowTarget"), said.integer("nflowTimeout")
    if target is None:
        return None
    timeout_s = NetFlow(target).timeout_s if timeout_s is None else timeout_s
    return NetFlow(target, timeout_s=timeout_s, add_id=_is_on(said, "nflowAddId"))


def _sflow(said: Fields) -> SFlow | None:
    target = said.text("sflowTarget")
    numbers = {
        field: number
        for field, key in (
            ("header_bytes", "sflowHeader"),
            ("sampling", "sflowSampling"),
            ("polling_s", "sflowPolling"),
        )
        if (number := said.integer(key)) is not None
    }
    return None if target is None else SFlow(target, **numbers)


def _is_on(said: Fields, key: str) -> bool:
    """MiniEdit writes its ticks as "0" and "1"."""
    return said.word(key) == "1"
