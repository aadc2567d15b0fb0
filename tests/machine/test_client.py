"""The client's methods have the names and arguments of the agent's functions."""

import inspect
from typing import Any, cast

import pytest

from wanlab.agent.counters import Counters
from wanlab.agent.namespaces import Namespaces
from wanlab.agent.processes import Processes
from wanlab.agent.serve import Agent, calls_of
from wanlab.agent.watches import Watches
from wanlab.machine.client import AgentClient

# Classes in place of instances: their functions are not bound.
FUNCTIONS = {
    **calls_of(
        cast(Agent, Agent),
        cast(Processes, Processes),
        cast(Namespaces, Namespaces),
        cast(Counters, Counters),
        cast(Watches, Watches),
    ),
    "prepare": Agent.prepare,
}
METHODS = [name for name in vars(AgentClient) if not name.startswith("_")]


def parameters(function: Any) -> dict[str, Any]:
    """Return the names and defaults of the parameters, in order."""
    return {name: it.default for name, it in inspect.signature(function).parameters.items()}


def test_the_client_has_a_method_for_each_function_of_the_agent() -> None:
    assert sorted(METHODS) == sorted(FUNCTIONS)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_has_the_parameters_of_the_agents_function(name: str) -> None:
    method = parameters(getattr(AgentClient, name))
    assert list(method.items()) == list(parameters(FUNCTIONS[name]).items())


@pytest.mark.parametrize("name", METHODS)
def test_a_method_calls_the_function_of_its_name_with_all_arguments(name: str) -> None:
    calls: list[tuple[str, dict[str, object]]] = []

    def call(name: str, /, **arguments: object) -> object:
        calls.append((name, arguments))
        return None

    expected = [it for it in parameters(FUNCTIONS[name]) if it != "self"]
    kinds = getattr(AgentClient, name).__annotations__
    getattr(AgentClient(call), name)(**{it: "" if kinds[it] == "str" else {} for it in expected})
    ((called, arguments),) = calls
    assert (called, list(arguments)) == (name, expected)
