"""MiniEdit's preferences, and their effect on the switches of a file.

openFlowVersions   the OpenFlow versions of every Open vSwitch. MiniEdit's default, version 1.0
                   alone, counts as no choice: switch and controller negotiate a version.
netflow, sflow     the collector of each switch whose "netflow" or "sflow" is "1"; without a target
                   no switch reports
switchType         the kind of a switch of type "default" that has controllers, or whose start
                   command calls Open vSwitch's programs
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
"""MiniEdit's defaults."""

_VERSIONS = {
    "ovsOf10": "OpenFlow10",
    "ovsOf11": "OpenFlow11",
    "ovsOf12": "OpenFlow12",
    "ovsOf13": "OpenFlow13",
}
_NO_CHOICE = ("OpenFlow10",)


@dataclass(frozen=True)
class Preferences:
    """The preferences that affect a network."""

    switch_type: str = "ovs"
    protocols: tuple[str, ...] = ()
    netflow: NetFlow | None = None
    sflow: SFlow | None = None


def read_preferences(application: Fields) -> Preferences:
    """Return the preferences; mistakes go to the file's problems."""
    if ports := application.text("dpctl"):
        what = f'switches do not get listening ports from "{ports}" on automatically'
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
    """Return the preferences of a topology; its mistakes were reported when it was read."""
    return read_preferences(Fields(application, "", Problems()))


def _netflow(fields: Fields) -> NetFlow | None:
    target, timeout_s = fields.text("nflowTarget"), fields.integer("nflowTimeout")
    if target is None:
        return None
    timeout_s = NetFlow(target).timeout_s if timeout_s is None else timeout_s
    return NetFlow(target, timeout_s=timeout_s, add_id=_is_on(fields, "nflowAddId"))


def _sflow(fields: Fields) -> SFlow | None:
    target = fields.text("sflowTarget")
    numbers = {
        field: number
        for field, key in (
            ("header_bytes", "sflowHeader"),
            ("sampling", "sflowSampling"),
            ("polling_s", "sflowPolling"),
        )
        if (number := fields.integer(key)) is not None
    }
    return None if target is None else SFlow(target, **numbers)


def _is_on(fields: Fields, key: str) -> bool:
    """Whether a check box, which MiniEdit writes as "0" or "1", is ticked."""
    return fields.word(key) == "1"
