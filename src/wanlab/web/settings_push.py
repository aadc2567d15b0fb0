"""Messages to browsers about settings that commands in terminals have made."""

from __future__ import annotations

import msgspec

from .push import Push


class NodeSetting(msgspec.Struct, frozen=True, kw_only=True):
    """What a command in a terminal has set at a node ("" for none), and where a drawing has it."""

    node: str
    line: str
    drawn_as: str
    """ "MTU of h1-eth0", "start command"; "" if a drawing cannot have it."""


class SettingsPush(Push, frozen=True, tag="settings"):
    """What `ip`, `ethtool`, `sysctl` and their like have set in terminals of the running network."""

    settings: tuple[NodeSetting, ...] = ()
