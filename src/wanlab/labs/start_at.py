"""Starts a unit at one of its steps: the steps before it are performed, as a student would.

Only what the lab tells the student to type is performed, never a solution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from wanlab import Network, Topology
from wanlab.errors import WanlabError
from wanlab.network import NO_CHOICE, MachineChoice

from .durations import network_seconds
from .runner import StepRunner
from .unit import MININET, Step, Unit


@dataclass(frozen=True)
class StartedUnit:
    """A unit's network in which the first steps are done."""

    network: Network
    topology: Topology
    """The topology as the steps have drawn it."""
    folders: dict[str, str]
    """The working folder of each terminal that the steps have opened."""
    running: Sequence[tuple[str, str]]
    """Commands that were left running: each terminal with its command."""
    problems: Sequence[str]
    """What went wrong in these steps."""


def steps_before(unit: Unit, at: int) -> list[Step]:
    """Return the steps before step `at`.

    Raises WanlabError if the unit has no such step, or cannot be started at it.
    """
    numbers = [step.n for step in unit.steps]
    if at not in numbers:
        raise WanlabError(
            f"{unit.heading} has no step {at}",
            f"its steps are {min(numbers)} to {max(numbers)}; see: wanlab lab show {unit.name} --steps",
        )
    before = [step for step in unit.steps if step.n < at]
    typed = [step.n for step in before if step.waits_for_enter]
    entered = {number for step in before for number in step.enter}
    if open_steps := [number for number in typed if number not in entered]:
        enters = (step.n for step in unit.steps if open_steps[0] in step.enter)
        raise WanlabError(
            f"at step {at}, the command of step {open_steps[0]} is still waiting for Enter",
            f"start at step {open_steps[0]}, or at step {next(enters, at) + 1}",
        )
    if any(step.where == (MININET,) for step in before):
        first = next(step.n for step in before if step.where == (MININET,))
        raise WanlabError(
            f"step {first} is typed at Mininet's prompt, whose state cannot be handed over to you",
            f"start at step {first} or before",
        )
    return before


def start_at(
    unit: Unit,
    at: int,
    home: Path,
    *,
    seed: int,
    clock: str,
    session: Path | bool | None,
    say: Callable[[str], None],
    memory_bytes: int | None = None,
    start_jitter_ns: int = 0,
    choice: MachineChoice = NO_CHOICE,
) -> StartedUnit:
    """Start a unit's network and perform its steps before step `at`. The caller stops the network."""
    steps = steps_before(unit, at)
    seconds = network_seconds(unit, steps)
    say(f"performing {len(steps)} steps, about {seconds:.0f} s of virtual time")
    with StepRunner(
        unit,
        home,
        seed=seed,
        clock=clock,
        say=say,
        session=session,
        measures=False,
        memory_bytes=memory_bytes,
        start_jitter_ns=start_jitter_ns,
        choice=choice,
    ) as runner:
        outcomes = runner.perform(steps, finish=False)
        runner.run_topology()
        folders = runner.working_folders()
        running = runner.running_commands()
        topology, network = runner.canvas.topology, runner.release()
    problems = [
        f"{outcome.step.title}: {problem}" for outcome in outcomes for problem in outcome.problems
    ]
    return StartedUnit(network, topology, folders, running, problems)
