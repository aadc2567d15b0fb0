"""The origin of a record: everything needed to judge and to reproduce it.

A provenance contains no wall-clock time and no path of the computer, so the same experiment has the
same provenance everywhere.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields

import msgspec

from wanlab.errors import RecordError


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """The origin of a record. Figures show its `warnings`: read them before trusting the record."""

    wanlab: str
    """Version of wanlab."""
    topology: str = ""
    """The topology as the text of a file."""
    commands: tuple[str, ...] = ()
    """The commands in order, each after its node: "h1$ iperf3 -c h3"."""
    seed: int | None = None
    machine: str = ""
    """Always embedded: our own kernel."""
    kernel_release: str = ""
    kernel_manifest: str = ""
    """Hash of the kernel's manifest; empty on the computer's own kernel."""
    tools: Mapping[str, str] = field(default_factory=dict)
    """The versions of the measuring tools: `{"iperf3": "3.12"}`."""
    clock: str = ""
    wire: str = ""
    nic: Mapping[str, str] = field(default_factory=dict)
    """The NIC of hosts and routers, where it is not decided by rule: `{"tso": "off"}`."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Other settings that affect results: line rate, kernel parameters of every node."""
    warnings: tuple[str, ...] = ()
    parameters: Mapping[str, object] = field(default_factory=dict)
    """The varied parameters, as JSON values: `{"limit_bytes": 2621440}`."""
    traps: str = field(default="", compare=False)
    """How the embedded machine's kernel took over system calls: ptrace, inprocess or seccomp. It depends
    on the computer and changes no result, so it takes no part in comparisons and in the digest. Empty in
    records that a program inside a machine made."""

    def to_json(self) -> str:
        """Return JSON, sorted and indented: the same provenance is always the same text."""
        try:
            return as_text(asdict(self))
        except (TypeError, ValueError) as error:
            raise RecordError(
                f"the provenance cannot be written: {error}",
                "its parameters may hold text, finite numbers, true, false, null, lists and maps",
            ) from error

    def identity(self) -> str:
        """Return the text that the digest covers."""
        return as_text(self.compared())

    def compared(self) -> dict[str, object]:
        """Return everything but the mode of the machine's kernel, as plain data."""
        return without_mode(json.loads(self.to_json()))

    @classmethod
    def from_data(cls, data: object) -> "Provenance":
        """Reverse `json.loads(to_json())`; raise RecordError for a wrong type or an unknown key."""
        if isinstance(data, dict):
            refuse_unknown("the provenance", data, {known.name for known in fields(cls)})
        try:
            return msgspec.convert(data, cls)
        except msgspec.ValidationError as error:
            raise RecordError(f"the provenance is malformed: {error}") from error


def without_mode(provenance: Mapping[str, object]) -> dict[str, object]:
    """Return the part of a provenance that a record's digest covers."""
    return {name: value for name, value in provenance.items() if name != "traps"}


def as_text(data: object) -> str:
    """Return JSON that is the same text for the same data."""
    return json.dumps(data, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)


def refuse_unknown(what: str, data: Mapping[str, object], known: set[str]) -> None:
    """Raise RecordError for unknown keys, which may change the meaning of the known ones."""
    if unknown := sorted(data.keys() - known):
        raise RecordError(
            f"{what} has keys that this version does not know: {', '.join(unknown)}",
            "it was written by a newer version",
        )
