"""The base class of all operations.

describe()   one line for log files and error messages
commands()   shell commands with the same result, for root of the machine
request()    verb and arguments for the agent. The verb names a method of
             `wanlab.agent.perform.Performer`, which is faster than the commands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

ROOT = ""
"""The node name that stands for the machine's root namespace."""

Request = tuple[str, dict[str, object]]
"""A verb, and keyword arguments that can be written as JSON."""


@dataclass(frozen=True)
class Operation:
    """One step of a plan. Its fields are the arguments of the agent's method `verb`."""

    verb: ClassVar[str]
    may_fail: ClassVar[bool] = False
    """Whether a failure is only a warning: the step does what the user wrote in a program's words."""

    def describe(self) -> str:
        raise NotImplementedError

    def commands(self) -> list[str]:
        raise NotImplementedError

    def request(self) -> Request:
        return self.verb, dict(vars(self))


def here_document(command: str, text: str) -> str:
    """Return a command that reads a text from a here-document; no line of the text can end it."""
    lines = text.splitlines()
    end = "END"
    while end in lines:
        end += "_"
    body = "".join(f"{line}\n" for line in text.removesuffix("\n").split("\n")) if text else ""
    return f"{command} <<'{end}'\n{body}{end}"


def in_node(node: str, command: str) -> str:
    """Return the command that, typed in the root namespace, runs `command` in a node."""
    return command if node == ROOT else f"ip netns exec {node} {command}"


def netns_option(node: str) -> str:
    """Return the option that makes `ip` work in a node, with a space after it."""
    return "" if node == ROOT else f"-n {node} "


def namespace_name(node: str) -> str:
    return node or "root"
