"""Start the networks of tests, or skip the tests where there is no kernel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import NoReturn
from weakref import WeakKeyDictionary

import pytest

from wanlab import Network, Process, Topology
from wanlab.errors import RequirementError, WanlabError
from wanlab.machine.embedded import find_image

from .marker_options import KeywordOptions, MarkerOptions

processes_of: WeakKeyDictionary[Network, list[Process]] = WeakKeyDictionary()
"""All processes that were started in each network."""


@contextmanager
def started(
    topology: Topology, markers: MarkerOptions, config: pytest.Config, options: KeywordOptions
) -> Iterator[Network]:
    """Run a network in which the project's folder is visible, wherever it is.

    Skips the test if there is no kernel, and fails it if the network cannot be started.
    """
    project = dict.fromkeys([config.rootpath, config.invocation_params.dir])
    visible_folders = [*project, *options.get("visible_folders", ())]
    chosen = {**options, "visible_folders": visible_folders, "kernel": markers.kernel}
    try:
        network = Network(topology, **chosen)
        if network.clock == "virtual" and "session" not in options:
            network.session.record(True)
        network.start()
    except WanlabError as error:
        may_lack_kernel = isinstance(error, RequirementError)
        why_no_kernel = _why_no_kernel(markers.kernel) if may_lack_kernel else ""
        _skip_or_fail(error, config, why_no_kernel)
    processes: list[Process] = []
    processes_of[network] = processes
    network.on_process = processes.append
    with ExitStack() as running:
        running.push(network)  # ends it as `with network:` would; it has been started already
        yield network


def _skip_or_fail(error: WanlabError, config: pytest.Config, why_no_kernel: str) -> NoReturn:
    """Skip the test if there is no kernel and none is required; otherwise fail it."""
    if why_no_kernel and not config.getoption("--wanlab-require"):
        raise pytest.skip.Exception(why_no_kernel) from None
    raise pytest.fail.Exception(str(error), pytrace=False) from None


def _why_no_kernel(kernel: str) -> str:
    """Return why the kernel of this name cannot be booted; "" if it can."""
    try:
        find_image(kernel)
    except RequirementError as error:
        return str(error)
    return ""
