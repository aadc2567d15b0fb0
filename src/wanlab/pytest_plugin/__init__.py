"""pytest: a network in a test, on virtual time.

    @pytest.mark.topology(shapes.minimal(rate="10Mbps", delay="20ms", loss="2%"))
    def test_the_client_gets_its_answer(network):
        network["h2"].start("./server")
        network.after("2s", network.set_link_up, "s1", "h2", False)
        assert network["h1"].run("./client 10.0.0.2", timeout="30s").output == "42\n"

Fixtures: `network`, `module_network`, `start_network`, and `topology`, which you may override. Markers:
`topology`, `wanlab`. A test that fails leaves evidence that explains the failure (see `evidence`).

pytest loads this module in every run, with or without networks, so nothing else of wanlab is imported
before it is needed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from wanlab import Network, Topology

    from .evidence import Evidence
    from .marker_options import KeywordOptions, MarkerOptions

    StartNetwork = Callable[..., Network]

KEEP_FOLDER = ".wanlab"
REQUIRE_VARIABLE = "WANLAB_REQUIRE_KERNEL"
MARKERS = (
    "topology(topology): the topology of the fixture `network`: a Topology, the name of a file, or a "
    'shape ("dumbbell,pairs=2,rate=10Mbps")',
    "wanlab(**options): how the network is run: seed=, seeds=, wire=, clock=, sysctls=, kernel=, "
    "scope=, limit=, capture=, every=, and the other options of wanlab.Network",
)

_evidence_of_test = pytest.StashKey[list["Evidence"]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("wanlab", "networks in tests")
    group.addoption(
        "--wanlab-seeds",
        type=_positive_integer,
        metavar="N",
        help="run every test that uses a network with N seeds",
    )
    group.addoption(
        "--wanlab-keep",
        metavar="FOLDER",
        default=KEEP_FOLDER,
        help=f"folder for packets, records and outputs of failed tests (default: {KEEP_FOLDER})",
    )
    group.addoption(
        "--wanlab-keep-passed", action="store_true", help="also keep those of tests that pass"
    )
    group.addoption(
        "--wanlab-require",
        action="store_true",
        default=bool(os.environ.get(REQUIRE_VARIABLE)),
        help="fail tests without a kernel instead of skipping them",
    )


def _positive_integer(text: str) -> int:
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
    options: KeywordOptions = {}
    for marker in reversed(list(metafunc.definition.iter_markers("wanlab"))):
        options.update(marker.kwargs)
    count = metafunc.config.getoption("--wanlab-seeds") or options.get("seeds")
    if count:
        first = options.get("seed", 1)
        seeds = range(first, first + count)
        metafunc.parametrize("wanlab_seed", seeds, ids=[f"seed{n}" for n in seeds], indirect=True)


@pytest.fixture(scope="module")
def wanlab_seed(request: pytest.FixtureRequest) -> int | None:
    """The seed of this run of the test; None: the marker's seed, or the default."""
    seed: int | None = getattr(request, "param", None)
    return seed


# -- networks ---------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def topology() -> None:
    """The topology of `network`, unless a marker names another; override it, in any scope."""


@pytest.fixture
def network(
    request: pytest.FixtureRequest, topology: Topology | None, wanlab_seed: int | None
) -> Iterator[Network]:
    """A network that ends with the test; with `wanlab(scope="module")`, it is `module_network`."""
    from .marker_options import MarkerOptions

    markers = MarkerOptions.of(request.node)
    if markers.scope == "module":
        shared: Network = request.getfixturevalue("module_network")
        evidence = _record_evidence(request, shared, markers)
        yield shared
        evidence.seal()
        return
    start: StartNetwork = request.getfixturevalue("start_network")
    yield start(markers.topology(topology), **_seed_option(wanlab_seed))


@pytest.fixture(scope="module")
def module_network(
    request: pytest.FixtureRequest,
    topology: Topology | None,
    wanlab_seed: int | None,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Network]:
    """A network that all tests of a module share, with the options of the module's `pytestmark`."""
    from .marker_options import MarkerOptions
    from .start import started

    markers = MarkerOptions.of(request.node)
    folder = tmp_path_factory.mktemp("network")
    options = {"folder": folder, **markers.network, **_seed_option(wanlab_seed)}
    with started(markers.topology(topology), markers, request.config, options) as live:
        yield live


@pytest.fixture
def start_network(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StartNetwork]:
    """Starts networks in a test: `start_network(topology, seed=2, ...)`; they end with the test."""
    from .marker_options import MarkerOptions
    from .start import started

    markers = MarkerOptions.of(request.node)
    with ExitStack() as running:

        def start(topology: Topology, **options: object) -> Network:
            options = {"folder": tmp_path, **markers.network, **options}
            live = running.enter_context(started(topology, markers, request.config, options))
            # Entered after the network, so the stack seals the evidence before it ends the network.
            running.callback(_record_evidence(request, live, markers).seal)
            return live

        yield start


def _seed_option(seed: int | None) -> dict[str, int]:
    return {} if seed is None else {"seed": seed}


# -- evidence of failed tests -----------------------------------------------------------------------


def _record_evidence(
    request: pytest.FixtureRequest, network: Network, markers: MarkerOptions
) -> Evidence:
    """Begin to record a network, in case the test fails."""
    from wanlab.errors import WanlabError

    from .evidence import Evidence

    try:
        evidence = Evidence(network, markers)
    except WanlabError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    request.node.stash.setdefault(_evidence_of_test, []).append(evidence)
    return evidence


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    recorded = item.stash.get(_evidence_of_test, [])
    if recorded and call.excinfo is not None and not item.config.getoption("--full-trace"):
        from .evidence import cut_traceback

        cut_traceback(call.excinfo.value)
    report = yield
    if not recorded:
        return report
    from .evidence import EvidenceFolder

    folder = EvidenceFolder.of(item)
    if call.when == "setup":
        folder.clear()
    is_kept = report.failed or (
        report.passed and call.when == "call" and item.config.getoption("--wanlab-keep-passed")
    )
    if is_kept and not folder.is_filled:
        report.sections.append(("wanlab", folder.fill(recorded, call.excinfo)))
    if call.when == "teardown":
        for evidence in recorded:
            evidence.discard()
        del item.stash[_evidence_of_test]  # frees the samples
    return report
