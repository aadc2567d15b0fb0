"""`wanlab run --compare-traps`: perform a run in two modes of the kernel and compare all bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from wanlab.errors import RequirementError
from wanlab.experiments import Result
from wanlab.machine.embedded import find_image, other_mode
from wanlab.network import MachineChoice
from wanlab.record import Record, differences

REFERENCE = "ptrace"
"""The mode in which no program can touch the kernel."""
DIGITS_OF_DIGEST = 12


def compare(run: Callable[..., Result], choice: MachineChoice) -> int:
    """Perform the run in both modes and print what differs; return 1 if anything does.

    `run` gets the `choice` with the mode. RequirementError if its kernel has one mode only here, or if
    the experiment itself chooses the mode.
    """
    other = other_mode(find_image(choice.kernel))
    records = {mode: _record(run, replace(choice, traps=mode)) for mode in (REFERENCE, other)}
    lines = differences(*records.values())
    for line in lines:
        print(line)
    digests = [record.digest()[:DIGITS_OF_DIGEST] for record in records.values()]
    if lines:
        print(f"different in {REFERENCE} ({digests[0]}) and {other} mode ({digests[1]})")
        return 1
    print(f"equal in {REFERENCE} and {other} mode: digest {digests[0]}")
    return 0


def _record(run: Callable[..., Result], choice: MachineChoice) -> Record:
    record = run(choice=choice).record
    if record.provenance.traps != choice.traps:
        raise RequirementError(
            f"the experiment ran in {record.provenance.traps or 'no'} mode, not in {choice.traps}",
            "leave out traps= and machine= in it",
        )
    return record
