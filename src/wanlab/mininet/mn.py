"""`mn`: makes a network by its options, then tests it or offers the prompt. Runs inside a machine.

    mn --topo linear,4 --link tc,bw=10,delay=5ms --test pingall

Exit status: 0; 1 if a test failed, a ping test lost packets, or something went wrong; 2 for wrong
options; 130 for Ctrl-C outside the prompt.
"""

from __future__ import annotations

import optparse
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from wanlab.errors import WanlabError

from . import options as words
from .cli import CLI
from .link import Link, OVSLink, TCLink, TCULink
from .log import error, info, lg, setLogLevel
from .net import Mininet
from .node import (
    Controller,
    CPULimitedHost,
    DefaultController,
    Host,
    NullController,
    OVSBridge,
    OVSController,
    OVSSwitch,
    RemoteController,
    Ryu,
)
from .nodelib import LinuxBridge
from .topo import (
    LinearTopo,
    MinimalTopo,
    SingleSwitchReversedTopo,
    SingleSwitchTopo,
)
from .topolib import TorusTopo, TreeTopo
from .util import buildTopo, customClass, specialClass, splitArgs

Choices = dict[str, Any]

TOPOS: Choices = {
    "minimal": MinimalTopo,
    "linear": LinearTopo,
    "reversed": SingleSwitchReversedTopo,
    "single": SingleSwitchTopo,
    "tree": TreeTopo,
    "torus": TorusTopo,
}
SWITCHES: Choices = {
    "default": LinuxBridge,
    "lxbr": LinuxBridge,
    "ovs": OVSSwitch,
    "ovsbr": OVSBridge,
    "ovsk": OVSSwitch,
}
HOSTS: Choices = {
    "proc": Host,
    "cfs": specialClass(CPULimitedHost, defaults={"sched": "cfs"}),
    "rt": specialClass(CPULimitedHost, defaults={"sched": "rt"}),
}
CONTROLLERS: Choices = {
    "default": DefaultController,
    "none": NullController,
    "ovsc": OVSController,
    "ref": Controller,
    "remote": RemoteController,
    "ryu": Ryu,
}
LINKS: Choices = {"default": Link, "tc": TCLink, "tcu": TCULink, "ovs": OVSLink}
TESTS: Choices = {"none": None, "build": None}
SHAPES = dict(TOPOS)
SHAPE_WORDS = {
    "minimal": (),
    "single": ("k",),
    "reversed": ("k",),
    "linear": ("k", "n"),
    "tree": ("depth", "fanout"),
    "torus": ("x", "y", "n"),
}
CHOICES = {
    "topos": TOPOS,
    "switches": SWITCHES,
    "hosts": HOSTS,
    "controllers": CONTROLLERS,
    "links": LINKS,
    "tests": TESTS,
}

OTHER_CASES = {"pingall": "pingAll", "pingpair": "pingPair", "iperfudp": "iperfudp"}
LOSS_TESTS = ("ping", "pingAll", "pingPair")
FULL_TESTS = ("pingFull", "pingAllFull", "pingPairFull")
OBEY_NOBODY = ("lxbr", "ovsbr")
LINE = "-" * 80
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status."""
    parser = words.parser()
    values = words.read(sys.argv[1:] if arguments is None else arguments, parser)
    if values.version:
        print(words.version())
        return 0
    if values.clean:
        print("nothing to clean: what was started in this machine ends with it")
        return 0
    setLogLevel(values.verbosity)
    if values.verbosity not in ("debug", "info", "output"):
        error(f"*** Warning: at verbosity {values.verbosity} the prompt shows no output\n")
    try:
        for text in values.custom:
            _read_custom(text, parser)
        return Runner(values, parser).run()
    except KeyboardInterrupt:
        info("\n\nKeyboard Interrupt. Shutting down and cleaning up...\n\n")
        return INTERRUPTED
    except Exception as problem:
        _tell(problem)
        return 1


def _tell(problem: Exception) -> None:
    told = (
        str(problem) if isinstance(problem, WanlabError) else f"{type(problem).__name__}: {problem}"
    )
    error(f"{LINE}\nCaught exception. Cleaning up...\n\n{told}\n{LINE}\n")
    if lg.getEffectiveLevel() <= LEVEL_OF_DEBUG:
        traceback.print_exc()


LEVEL_OF_DEBUG = 10


def _read_custom(text: str, parser: optparse.OptionParser) -> None:
    """Performs files that define topologies, nodes, links and tests. Other names replace ours, so that a
    file may bring a CLI of its own."""
    for name in [text] if Path(text).is_file() else text.split(","):
        file = Path(name)
        if not file.is_file():
            parser.error(f"could not find custom file: {name}")
        sys.path.append(str(file.resolve().parent))
        found: dict[str, Any] = {"__name__": file.stem, "__file__": name}
        exec(compile(file.read_bytes(), name, "exec"), found)
        for key, value in found.items():
            if key in CHOICES:
                CHOICES[key].update(value)
            elif not key.startswith("__"):
                globals()[key] = value


class Runner:
    """One network, from its options to its end."""

    def __init__(self, values: optparse.Values, parser: optparse.OptionParser) -> None:
        self._values = values
        self._parser = parser
        self._has_failed = False

    def run(self) -> int:
        """Returns the exit status."""
        values = self._values
        began = time.time()
        if values.attach:
            return self._attach()
        if "validate" in globals():
            globals()["validate"](values)
        net = self._build()
        try:
            self._use(net)
        finally:
            net.stop()
        info(f"completed in {time.time() - began:0.3f} seconds\n")
        return 1 if self._has_failed else 0

    def _attach(self) -> int:
        """The prompt, over the network that is here already."""
        from .attached import attach, leave

        net = attach()
        try:
            self._note(CLI(net))
        finally:
            leave(net)
        return 1 if self._has_failed else 0

    def _build(self) -> Mininet:
        values = self._values
        self._check(TOPOS, values.topo, "topo", "Invalid topo name ")
        self._check_shape(values.topo)
        switch, controllers = self._switch_and_controllers()
        if values.pin and values.host.partition(",")[0] not in ("cfs", "rt"):
            self._parser.error("--pin needs --host cfs or --host rt")
        return Mininet(
            topo=buildTopo(TOPOS, values.topo),
            switch=switch,
            host=self._class(HOSTS, values.host, "host"),
            controller=controllers,
            link=self._class(LINKS, values.link, "link"),
            ipBase=values.ipbase,
            xterms=bool(values.xterms),
            autoSetMacs=bool(values.mac),
            autoStaticArp=bool(values.arp),
            autoPinCpus=bool(values.pin),
            listenPort=None if values.nolistenport else values.listenport,
            waitConnected=self._wait(),
        )

    def _switch_and_controllers(self) -> tuple[Any, list[Any]]:
        """Bridges learn by themselves; whoever asks for a controller gets switches that obey one."""
        name = self._values.switch
        kind = name.partition(",")[0]
        wanted = [text for text in self._values.controller if text != "none"]
        if wanted and kind in OBEY_NOBODY:
            self._parser.error(
                f"--controller {wanted[0]}: --switch {kind} obeys no controller; use --switch ovsk"
            )
        if kind == "default" and wanted:
            name = "ovsk" + name.removeprefix("default")
        switch = self._class(SWITCHES, name, "switch")
        if not wanted:
            learns = kind in ("default", *OBEY_NOBODY) or bool(self._values.controller)
            return switch, [NullController if learns else DefaultController]
        return switch, [self._class(CONTROLLERS, text, "controller") for text in wanted]

    def _class(self, choices: Choices, text: str, option: str) -> Any:
        self._check(choices, text, option)
        return customClass(choices, text)

    def _check(self, choices: Choices, text: str, option: str, before: str = "") -> None:
        name = text.partition(",")[0]
        if name not in choices:
            known = ", ".join(sorted(choices))
            told = f"{before}{name}" if before else f"{name} is unknown"
            self._parser.error(f"--{option}: {told} - please specify one of {known}")

    def _check_shape(self, text: str) -> None:
        """What a shape of ours is not told by its words, it would not do."""
        name, given, named = splitArgs(text)
        if TOPOS[name] is not SHAPES.get(name):
            return
        known = SHAPE_WORDS[name]
        wrong = [str(value) for value in given[len(known) :]]
        wrong += [f"{word}={value}" for word, value in named.items() if word not in known]
        wrong += [str(value) for value in (*given, *named.values()) if not isinstance(value, int)]
        if wrong:
            takes = f"takes {' and '.join(known)}, whole numbers" if known else "takes nothing"
            self._parser.error(f"--topo {text}: what does {wrong[0]} mean? {name} {takes}")

    def _wait(self) -> Any:
        """Tests wait for the switches; a time given limits that."""
        wanted: Any = self._values.wait
        if wanted is None or wanted is True:
            return wanted is True or bool(self._values.test and self._values.test != ["none"])
        return wanted

    # -- once it is built -------------------------------------------------------------------------

    def _use(self, net: Mininet) -> None:
        values = self._values
        if values.nat is not None:
            _, arguments, parameters = splitArgs(f"nat,{values.nat}" if values.nat else "nat")
            net.addNAT(*arguments, **parameters).configDefault()
        if values.pre:
            self._perform(net, values.pre)
        net.start()
        if values.test:
            self._test(net)
        else:
            self._note(CLI(net))
        if values.post:
            self._perform(net, values.post)

    def _perform(self, net: Mininet, script: str) -> None:
        self._note(CLI(net, script=script), is_script=True)

    def _note(self, cli: Any, *, is_script: bool = False) -> None:
        """Who types sees what went wrong; a script must be told."""
        if is_script or not sys.stdin.isatty():
            self._has_failed |= bool(getattr(cli, "has_failed", False))

    def _test(self, net: Mininet) -> None:
        for text in "+".join(self._values.test).split("+"):
            name, arguments, parameters = splitArgs(text)
            test = _test_of(net, name)
            if test is not None and _is_failure(name, test(*arguments, **parameters)):
                self._has_failed = True


def _test_of(net: Mininet, name: str) -> Callable[..., Any] | None:
    """What to call; None if there is nothing to do."""
    if name in TESTS:
        own = TESTS[name]
        return None if own is None else lambda *args, **named: own(net, *args, **named)
    name = OTHER_CASES.get(name.lower(), name)
    if name == "all":
        return lambda: _all(net)
    if name == "iperfudp":
        return lambda **named: net.iperf(**{"l4Type": "UDP", **named})
    method = getattr(net, name, None)
    if not callable(method):
        known = ", ".join(sorted([*TESTS, *OTHER_CASES, "iperf", "all"]))
        raise WanlabError(f"Test {name} is unknown - please specify one of {known}")
    return method  # type: ignore[no-any-return]


def _all(net: Mininet) -> float:
    loss_percent: float = net.ping()
    net.iperf()
    return loss_percent


def _is_failure(name: str, result: Any) -> bool:
    """Whether what a test returned says that something did not work."""
    name = OTHER_CASES.get(name.lower(), name)
    if name in (*LOSS_TESTS, "all"):
        return bool(result)
    if name in FULL_TESTS:
        return any(received < sent for _, _, (sent, received, *_) in result)
    return result is False


if __name__ == "__main__":
    sys.exit(main())
