"""Where a record comes from: everything that is needed to judge it, and to make it again.

A provenance holds no wall-clock time and no path of the computer it was made on, so that the same
experiment leaves the same provenance everywhere.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields

import msgspec

from wanlab.errors import RecordError


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """The origin of a record. `warnings` are what to know before trusting it; figures show them."""

    wanlab: str
    """Version of wanlab."""
    topology: str = ""
    """The topology as the text of a file."""
    commands: tuple[str, ...] = ()
    """What was run, in order, as one would type it, after the node: "h1$ iperf3 -c h3"."""
    seed: int | None = None
    machine: str = ""
    """embedded: our own kernel. native: the computer's."""
    kernel_release: str = ""
    kernel_manifest: str = ""
    """Hash of the kernel's manifest; empty on the computer's own kernel."""
    tools: Mapping[str, str] = field(default_factory=dict)
    """Versions of the tools that measured: `{"iperf3": "3.12"}`."""
    clock: str = ""
    wire: str = ""
    nic: Mapping[str, str] = field(default_factory=dict)
    """The NIC of hosts and routers, where it is not decided by rule: `{"tso": "off"}`."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """What else of the network decides results: line rate, kernel parameters of every node."""
    warnings: tuple[str, ...] = ()
    parameters: Mapping[str, object] = field(default_factory=dict)
    """What was varied, as plain JSON values: `{"limit_bytes": 2621440}`."""

    def to_json(self) -> str:
        """Sorted and indented: the same provenance is always the same text."""
        try:
            return as_text(asdict(self))
        except (TypeError, ValueError) as error:
            raise RecordError(
                f"the provenance cannot be written: {error}",
                "its parameters may hold text, finite numbers, true, false, null, lists and maps",
            ) from error

    @classmethod
    def from_data(cls, data: object) -> "Provenance":
        """The reverse of `json.loads(to_json())`; a wrong type, or a key that this version does not
        know, is an error that says where."""
        if isinstance(data, dict):
            refuse_unknown("the provenance", data, {known.name for known in fields(cls)})
        try:
            return msgspec.convert(data, cls)
        except msgspec.ValidationError as error:
            raise RecordError(f"the provenance is not understood: {error}") from error


def as_text(data: object) -> str:
    """JSON that is the same text for the same data."""
    return json.dumps(data, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)


def refuse_unknown(what: str, data: Mapping[str, object], known: set[str]) -> None:
    """What a reader does not know may change the meaning of what it does know."""
    if unknown := sorted(data.keys() - known):
        raise RecordError(
            f"{what} has what this wanlab does not know: {', '.join(unknown)}",
            "it was written by a newer version",
        )
