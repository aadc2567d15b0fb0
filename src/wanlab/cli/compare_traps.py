"""`wanlab run --compare-traps`: perform a run in two modes of the kernel and compare all bytes."""

from __future__ import annotations

from collections.abc import Callable

from wanlab.errors import RequirementError
from wanlab.experiments import Result
from wanlab.machine.embedded import find_image, in_mode, other_mode
from wanlab.record import Record, differences

REFERENCE = "ptrace"
"""The mode in which no program can touch the kernel."""
DIGITS_OF_DIGEST = 12


def compare(run: Callable[[], Result], kernel: str) -> int:
    """Perform the run in both modes and print what differs; return 1 if anything does.

    `kernel` is the name of the run's kernel. RequirementError if it has one mode only here, or if the
    experiment itself chooses the mode.
    """
    other = other_mode(find_image(kernel))
    records = {mode: _record_in(mode, run) for mode in (REFERENCE, other)}
    lines = differences(*records.values())
    for line in lines:
        print(line)
    digests = [record.digest()[:DIGITS_OF_DIGEST] for record in records.values()]
    if lines:
        print(f"different in {REFERENCE} ({digests[0]}) and {other} mode ({digests[1]})")
        return 1
    print(f"equal in {REFERENCE} and {other} mode: digest {digests[0]}")
    return 0


def _record_in(mode: str, run: Callable[[], Result]) -> Record:
    with in_mode(mode):
        record = run().record
    if record.provenance.traps != mode:
        raise RequirementError(
            f"the experiment ran in {record.provenance.traps or 'no'} mode, not in {mode}",
            "leave out traps= and machine= in it",
        )
    return record
