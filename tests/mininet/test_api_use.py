"""Every class, method, function and option of Mininet's API is used by a test, with few exceptions.

TCULink, txo and rxo always failed once, because no test used them.
"""

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parent
TESTS = [*FOLDER.rglob("*.py"), *(FOLDER.parent / "cli").glob("test_mn*.py")]
MODULES = ("net", "topo", "topolib", "node", "nodelib", "link", "cli", "util", "term", "clean")
# Names that no test uses yet, and those that have no effect here. A name that is used leaves the list.
NAMES = """
    Cleanup CmdResult ControllerAddress ForeignGraph KernelInterface Keyboard NodeOfInterface
    NodeTerminal OVSIntf Pexpect Ryu StrictVersion Trials UnknownNode addIntf addPort addTree
    asks_for_openflow batch batchShutdown batchStartup bridgeOpts cargs caution cdir
    checkSetup cip cleanUpScreens cmdloop configureControlNetwork
    configureRoutedControlNetwork controllerUUIDs convertTo debug defaultDpid delController
    delIntf delete do_intfs do_pingpairfull dumpNetConnections emptyline getLocals
    getincrementaldecoder inband inetIntf init interact intfOpts isAvailable isOldOVS
    is_made_by_wanlab is_ours isatty killprocs listenPort localIntf makeTerm makeTerms
    missing_name moduleDeps moveIntfFn moveIntfNoRetry needs_openflow next_mac onecmd
    pathCheck pause_after_start precmd prompt_for protocol reconnectms rt runX11 run_in_root
    ryuArgs setManualConfig setParam setup spawn startTerms start_together tunnelX11 verbose
    waitForNode wait_until_connected warn words_of
"""
UNUSED = set(NAMES.split())


def names() -> Iterator[str]:
    for module in MODULES:
        members = vars(importlib.import_module(f"wanlab.mininet.{module}"))
        for name, member in members.items():
            if name.startswith("_") or not is_mininets(member):
                continue
            yield name
            if inspect.isclass(member):
                yield from getattr(member, "parameters", ())
                yield from (word for word in vars(member) if is_method(word, vars(member)[word]))


def is_mininets(member: object) -> bool:
    is_code = inspect.isclass(member) or inspect.isfunction(member)
    return is_code and str(getattr(member, "__module__", "")).startswith("wanlab.mininet")


def is_method(name: str, value: object) -> bool:
    """Whether it is a method with a name in Mininet's style; wanlab's own contain underscores."""
    is_method = inspect.isroutine(value) or isinstance(value, property | classmethod | staticmethod)
    return is_method and re.fullmatch(r"[a-z]+([A-Z]\w*)?|do_\w+", name) is not None


def used_words() -> set[str]:
    texts = (path.read_text(encoding="utf-8") for path in TESTS if path.name not in EXCLUDED)
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    return words | {f"do_{word}" for word in words}


EXCLUDED = {"test_exports.py", Path(__file__).name}


def test_every_name_of_the_api_is_used_by_a_test() -> None:
    assert sorted(set(names()) - used_words() - UNUSED) == []


def test_the_list_of_unused_names_is_true() -> None:
    assert sorted(UNUSED & used_words()) == []
    assert sorted(UNUSED - set(names())) == []
