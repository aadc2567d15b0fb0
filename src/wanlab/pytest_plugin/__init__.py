"""pytest: a network in a test, on virtual time.

    @pytest.mark.topology(shapes.minimal(rate="10Mbps", delay="20ms", loss="2%"))
    def test_the_client_gets_its_answer(network):
        network["h2"].start("./server")
        network.after("2s", network.set_link_up, "s1", "h2", False)
        assert network["h1"].run("./client 10.0.0.2", timeout="30s").output == "42\n"

Fixtures: `network`, `module_network`, `start_network`, and `topology`, which you may override. Markers:
`topology`, `wanlab`. Of a test that fails is kept what explains it: see `evidence`.

pytest loads this module in every run, also in those that know nothing of networks: nothing of wanlab is
imported here before it is needed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from wanlab import Network, Topology

    from .choices import Choices
    from .evidence import Evidence

    StartNetwork = Callable[..., Network]

KEEP_FOLDER = ".wanlab"
REQUIRE_VARIABLE = "WANLAB_REQUIRE_KERNEL"
MARKERS = (
    "topology(it): what the fixture `network` is made of: a Topology, the name of a file, or a shape "
    '("dumbbell,pairs=2,rate=10Mbps")',
    "wanlab(**words): how it is run: seed=, seeds=, wire=, clock=, sysctls=, kernel=, scope=, limit=, "
    "capture=, every=, and what else wanlab.Network takes",
)

_kept = pytest.StashKey[list["Evidence"]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("wanlab", "networks in tests")
    group.addoption(
        "--wanlab-seeds",
        type=_at_least_one,
        metavar="N",
        help="run every test that has a network with N seeds",
    )
    group.addoption(
        "--wanlab-keep",
        metavar="FOLDER",
        default=KEEP_FOLDER,
        help=f"where packets, record and outputs of tests that fail are kept (default: {KEEP_FOLDER})",
    )
    group.addoption(
        "--wanlab-keep-passed", action="store_true", help="keep those of tests that pass, too"
    )
    group.addoption(
        "--wanlab-require",
        action="store_true",
        default=bool(os.environ.get(REQUIRE_VARIABLE)),
        help="without a kernel tests fail instead of being skipped",
    )


def _at_least_one(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


# -- seeds ------------------------------------------------------------------------------------------


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "wanlab_seed" not in metafunc.fixturenames:
        return
    words: dict[str, Any] = {}
    for marker in reversed(list(metafunc.definition.iter_markers("wanlab"))):
        words.update(marker.kwargs)
    count = metafunc.config.getoption("--wanlab-seeds") or words.get("seeds")
    if count:
        first = words.get("seed", 1)
        seeds = range(first, first + count)
        metafunc.parametrize("wanlab_seed", seeds, ids=[f"seed{n}" for n in seeds], indirect=True)


@pytest.fixture(scope="module")
def wanlab_seed(request: pytest.FixtureRequest) -> int | None:
    """The seed of this run of the test; None: what the marker says, or the usual one."""
    seed: int | None = getattr(request, "param", None)
    return seed


# -- networks ---------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def topology() -> None:
    """Override it, in any scope, with one that returns a Topology: it is what `network` is made of where
    no marker says otherwise."""


@pytest.fixture
def network(
    request: pytest.FixtureRequest, topology: Topology | None, wanlab_seed: int | None
) -> Iterator[Network]:
    """A network that lives as long as the test; or, with `wanlab(scope="module")`, `module_network`."""
    from .choices import Choices

    choices = Choices.of(request.node)
    if choices.scope == "module":
        shared: Network = request.getfixturevalue("module_network")
        evidence = _gather_evidence(request, shared, choices)
        yield shared
        evidence.seal()
        return
    start: StartNetwork = request.getfixturevalue("start_network")
    yield start(choices.topology(topology), **_seed(wanlab_seed))


@pytest.fixture(scope="module")
def module_network(
    request: pytest.FixtureRequest,
    topology: Topology | None,
    wanlab_seed: int | None,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Network]:
    """A network that all tests of a module share; the module's `pytestmark` says what it is like."""
    from .choices import Choices
    from .start import started

    choices = Choices.of(request.node)
    folder = tmp_path_factory.mktemp("network")
    options = {"folder": folder, **choices.network, **_seed(wanlab_seed)}
    with started(choices.topology(topology), choices, request.config, options) as live:
        yield live


@pytest.fixture
def start_network(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StartNetwork]:
    """For a test of several networks: `start_network(topology, seed=2, ...)`. They end with the test."""
    from .choices import Choices
    from .start import started

    choices = Choices.of(request.node)
    with ExitStack() as running:

        def start(topology: Topology, **options: Any) -> Network:
            options = {"folder": tmp_path, **choices.network, **options}
            live = running.enter_context(started(topology, choices, request.config, options))
            # Ended by the stack, and so before the network is.
            running.callback(_gather_evidence(request, live, choices).seal)
            return live

        yield start


def _seed(seed: int | None) -> dict[str, Any]:
    return {} if seed is None else {"seed": seed}


# -- what is kept of a test that fails --------------------------------------------------------------


def _gather_evidence(
    request: pytest.FixtureRequest, network: Network, choices: Choices
) -> Evidence:
    """From now on."""
    from wanlab.errors import WanlabError

    from .evidence import Evidence

    try:
        evidence = Evidence(network, choices)
    except WanlabError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    request.node.stash.setdefault(_kept, []).append(evidence)
    return evidence


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    gathered = item.stash.get(_kept, [])
    if gathered and call.excinfo is not None and not item.config.getoption("--full-trace"):
        from .evidence import cut_traceback

        cut_traceback(call.excinfo.value)
    report = yield
    if not gathered:
        return report
    from .evidence import Place

    place = Place.of(item)
    if call.when == "setup":
        place.clear()
    is_wanted = report.failed or (
        report.passed and call.when == "call" and item.config.getoption("--wanlab-keep-passed")
    )
    if is_wanted and not place.is_filled:
        report.sections.append(("wanlab", place.fill(gathered, call.excinfo)))
    if call.when == "teardown":
        for evidence in gathered:
            evidence.discard()
        del item.stash[_kept]  # and with it what was measured
    return report
