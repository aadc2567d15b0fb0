"""The modules export the names of Mininet's API, and a test uses each: class, method, function, option.

TCULink, txo and rxo always failed once, because no test used them.
"""

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
TESTS = [*FOLDER.rglob("*.py"), *(FOLDER.parent / "cli").glob("test_mn*.py")]
# Names that no test uses: none. Add a test for a new name, or the name and a reason here.
UNUSED: set[str] = set()

LOG = "debug error info output warn"
NAMES = {
    "node": "Node Host CPULimitedHost Switch UserSwitch OVSSwitch OVSKernelSwitch OVSBridge IVSSwitch"
    " Controller OVSController NOX Ryu RemoteController DefaultController DefaultControllers"
    " findController NullController Link Intf TCIntf OVSIntf os pty re signal select findall Popen PIPE"
    " exit sleep info error warn debug quietRun errRun errFail moveIntf isShellBuiltin numCores retry"
    " mountCgroups BaseString decode encode getincrementaldecoder Python3 which StrictVersion"
    " moduleDeps pathCheck TUN",
    "util": "BaseString CmdResult Encoding F_GETFL F_SETFL O_NONBLOCK PIPE POLLHUP POLLIN Pexpect"
    " Popen Python3 RLIMIT_NOFILE RLIMIT_NPROC STDOUT StrictVersion buildTopo call checkFloat"
    " checkInt checkRun check_call codecs custom customClass decode dumpNetConnections"
    " dumpNodeConnections dumpPorts encode ensureRoot errFail errRun exit fcntl fixLimits fmtBps"
    " getincrementaldecoder getrlimit ipAdd ipNum ipParse ipStr irange isShellBuiltin macColonHex"
    " makeIntfPair makeNumeric mountCgroups moveIntf moveIntfNoRetry namedtuple natural naturalSeq"
    " netParse numCores oldQuietRun os partial pexpect pmonitor poll quietRun re retry"
    " rlimitTestAndSet run setrlimit sleep specialClass splitArgs sys sysctlTestAndSet"
    f" waitListening which {LOG}",
    "net": "CLI Controller DefaultController Host Intf Link Mininet MininetWithControlNet NAT Node"
    " OVSKernelSwitch BaseString VERSION ceil chain cleanUpScreens ensureRoot exit fixLimits fmtBps"
    " groupby ipAdd ipParse ipStr macColonHex makeTerms netParse numCores os quietRun random re select"
    f" signal sleep waitListening {LOG}",
    "link": "Intf Link OVSIntf OVSLink TCIntf TCLink TCULink debug error info makeIntfPair re",
    "nodelib": "LinuxBridge NAT Node Switch info warn pathCheck quietRun",
    "topo": "LinearTopo MinimalTopo MultiGraph SingleSwitchReversedTopo SingleSwitchTopo Topo irange"
    " natural naturalSeq",
    "topolib": "Mininet Topo TorusTopo TreeNet TreeTopo",
    "cli": "CLI Cmd POLLIN atexit call dumpNodeConnections dumpPorts errno error info isatty makeTerms"
    " os output poll quietRun runX11 select sys time",
    "clean": "CalledProcessError Cleanup PIPE Popen addCleanupCallback cleanUpScreens cleanup"
    " decode info killprocs sh time",
    "moduledeps": "OF_KMOD OVS_KMOD TUN debug environ error exit info lsmod modprobe moduleDeps"
    " pathCheck quietRun rmmod",
    "term": "cleanUpScreens environ errRun error makeTerm makeTerms quietRun runX11 tunnelX11",
    "log": "LEVELS LOGLEVELDEFAULT LOGMSGFORMAT MininetLogger OUTPUT lg logging setLogLevel"
    f" warning {LOG}",
}
"""The names that `from mininet.MODULE import *` gives in Mininet 2.3.1, on Python 3.

Names that only Python 2 or Mininet itself needs are left out (spawn, NullCodec, Singleton, ...).
"""


@pytest.mark.parametrize("module", NAMES)
def test_a_star_import_gives_the_names_that_it_gives_in_mininet(module: str) -> None:
    names: dict[str, object] = {}
    exec(f"from wanlab.mininet.{module} import *", names)
    assert sorted(set(NAMES[module].split()) - names.keys()) == []


def test_strict_versions_are_compared_by_number() -> None:
    from wanlab.errors import WanlabError
    from wanlab.mininet.util import StrictVersion

    assert StrictVersion("2.10.0") > StrictVersion("2.9.1")
    assert StrictVersion("2.3.1b4") < StrictVersion("2.3.1") == "2.3.1"
    assert StrictVersion("2.3") >= "2.3.0"
    assert str(StrictVersion("1.5")) == "1.5"
    with pytest.raises(WanlabError, match="is not a version"):
        StrictVersion("new")


def names() -> Iterator[str]:
    """Yield the functions and classes of Mininet, with their parameters and methods."""
    for module, exported in NAMES.items():
        members = vars(importlib.import_module(f"wanlab.mininet.{module}"))
        for name in exported.split():
            member = members[name]
            if not is_mininets(member):
                continue
            yield name
            for owner in filter(is_mininets, getattr(member, "__mro__", ())):
                yield from getattr(owner, "parameters", ())
                yield from (word for word in vars(owner) if is_method(word, vars(owner)[word]))


def is_mininets(member: object) -> bool:
    is_code = inspect.isclass(member) or inspect.isfunction(member)
    return is_code and str(getattr(member, "__module__", "")).startswith("wanlab.mininet")


def is_method(name: str, value: object) -> bool:
    """Whether it is a method with a name in Mininet's style; wanlab's own contain underscores."""
    is_method = inspect.isroutine(value) or isinstance(value, property | classmethod | staticmethod)
    return is_method and re.fullmatch(r"[A-Za-z0-9]+|do_\w+", name) is not None


def used_words() -> set[str]:
    texts = (path.read_text(encoding="utf-8") for path in TESTS if path != Path(__file__))
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    return words | {f"do_{word}" for word in words}


def test_every_name_of_the_api_is_used_by_a_test() -> None:
    assert sorted(set(names()) - used_words() - UNUSED) == []


def test_the_list_of_unused_names_is_true() -> None:
    assert sorted(UNUSED & used_words()) == []
    assert sorted(UNUSED - set(names())) == []
