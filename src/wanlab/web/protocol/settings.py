"""Messages to browsers about settings that commands in terminals have made."""

from __future__ import annotations

import msgspec

from .push import Push


class NodeSetting(msgspec.Struct, frozen=True, kw_only=True):
    """A setting of a command in a terminal at a node ("" for none), and its place in a drawing."""

    node: str
    line: str
    drawn_as: str
    """ "MTU of h1-eth0", "start command"; "" if a drawing cannot have it."""


class SettingsPush(Push, frozen=True, tag="settings"):
    """Settings that `ip`, `ethtool`, `sysctl` and the like have made in terminals of the network."""

    settings: tuple[NodeSetting, ...] = ()
