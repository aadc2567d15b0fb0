"""Starts the networks of tests; says what is missing where they cannot be started."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, NoReturn
from weakref import WeakKeyDictionary

import pytest

from wanlab import Network, Process, Topology
from wanlab.errors import RequirementError, WanlabError
from wanlab.machine.embedded import find_image

from .choices import Choices

KERNEL_VARIABLE = "WANLAB_KERNEL"

processes_of: WeakKeyDictionary[Network, list[Process]] = WeakKeyDictionary()
"""All that was started in each."""


@contextmanager
def started(
    topology: Topology, choices: Choices, config: pytest.Config, options: Mapping[str, Any]
) -> Iterator[Network]:
    """A live network. The project can be seen in it, wherever it lies."""
    project = dict.fromkeys([config.rootpath, config.invocation_params.dir])
    visible_folders = [*project, *options.get("visible_folders", ())]
    with _kernel(choices.kernel):
        try:
            network = Network(topology, **{**options, "visible_folders": visible_folders})
            network.start()
        except WanlabError as error:
            may_lack_kernel = options.get("machine") != "native" and isinstance(
                error, RequirementError
            )
            _refuse(error, config, _why_no_kernel() if may_lack_kernel else "")
    processes: list[Process] = []
    processes_of[network] = processes
    network.on_process = processes.append
    with ExitStack() as running:
        running.push(network)  # ended as by `with network:`; it has been started already
        yield network


def _refuse(error: WanlabError, config: pytest.Config, why_no_kernel: str) -> NoReturn:
    """Without a kernel tests are skipped, unless one is required. Everything else is a failure."""
    if why_no_kernel and not config.getoption("--wanlab-require"):
        raise pytest.skip.Exception(why_no_kernel) from None
    raise pytest.fail.Exception(str(error), pytrace=False) from None


def _why_no_kernel() -> str:
    """Empty if there is one."""
    try:
        find_image()
    except RequirementError as error:
        return str(error)
    return ""


@contextmanager
def _kernel(folder: str) -> Iterator[None]:
    """Networks that are started meanwhile boot the image in this folder."""
    if not folder:
        yield
        return
    before = os.environ.get(KERNEL_VARIABLE)
    os.environ[KERNEL_VARIABLE] = str(folder)
    try:
        yield
    finally:
        os.environ.pop(KERNEL_VARIABLE)
        if before is not None:
            os.environ[KERNEL_VARIABLE] = before
