"""Recognises a value of a sweep with which every run fails for the same reason, as with a typo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wanlab.run.result import Task

DEFAULT_LIMIT = 5
Pairs = frozenset[tuple[str, str]]
"""Names and values of the parameters that a sweep varies."""


@dataclass
class _Failures:
    """The failures with one reason, and the values that all of them have in common."""

    count: int
    common: Pairs


class RepeatedFailures:
    """The outcomes of a sweep so far.

    `limit` is the number of equal failures after which runs with the same values are not started; if it
    is 0, all are started.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._succeeded: set[tuple[str, str]] = set()
        self._has_success = False
        self._failures: dict[str, _Failures] = {}

    def add_success(self, task: Task) -> None:
        self._has_success = True
        self._succeeded |= _pairs(task)

    def add_failure(self, task: Task, reason: str) -> None:
        failures = self._failures.setdefault(reason, _Failures(0, _pairs(task)))
        failures.count += 1
        failures.common &= _pairs(task)

    def reason_to_skip(self, task: Task) -> str:
        """Return why a run would fail as others did, or "".

        It has all values that the equal failures have in common and with which no run has succeeded.
        """
        for reason, failures in self._failures.items():
            suspects = failures.common - self._succeeded
            if not self._limit or failures.count < self._limit or not suspects <= _pairs(task):
                continue
            if suspects or not self._has_success:
                return f"{failures.count} runs{_named(sorted(suspects))} failed: {reason}"
        return ""


def _pairs(task: Task) -> Pairs:
    return frozenset((name, str(task.parameters[name])) for name in task.varied)


def _named(pairs: Sequence[tuple[str, str]]) -> str:
    return " with " + ", ".join(f"{name}={value}" for name, value in pairs) if pairs else ""
