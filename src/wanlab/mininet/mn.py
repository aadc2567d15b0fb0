"""`mn`: builds the network that its options describe, then runs tests or the prompt.

    mn --topo linear,4 --link tc,bw=10,delay=5ms --test pingall

It runs inside a machine. Exit status: 0; 1 if a test failed, a ping test lost packets, or an error
occurred; 2 for wrong options; 130 for Ctrl-C outside the prompt.
"""

from __future__ import annotations

import logging
import optparse
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from wanlab.errors import WanlabError
from wanlab.topology import IPV6_BASE

from . import options as mn_options
from .cli import CLI
from .link import Link, OVSLink, TCLink, TCULink
from .live_network import live_network
from .log import error, info, lg, setLogLevel
from .mn_arguments import buildTopo, customClass, specialClass, splitArgs
from .net import Mininet
from .node import (
    Controller,
    CPULimitedHost,
    DefaultController,
    Host,
    Node,
    NullController,
    OVSBridge,
    OVSController,
    OVSSwitch,
    RemoteController,
    Ryu,
    Switch,
)
from .nodelib import NAT, LinuxBridge
from .pause import pause
from .prompt import HOST_PROMPT_VARIABLE, LinesOfService
from .strict import STRICT
from .switches import asks_for_openflow
from .topo import (
    LinearTopo,
    MinimalTopo,
    SingleSwitchReversedTopo,
    SingleSwitchTopo,
    Topo,
)
from .topolib import TorusTopo, TreeTopo

T = TypeVar("T")

# The names that options accept. Files of --custom add to them.
TOPOS: dict[str, Callable[..., Topo]] = {
    "minimal": MinimalTopo,
    "linear": LinearTopo,
    "reversed": SingleSwitchReversedTopo,
    "single": SingleSwitchTopo,
    "tree": TreeTopo,
    "torus": TorusTopo,
}
SWITCHES: dict[str, Callable[..., Switch]] = {
    "default": LinuxBridge,
    "lxbr": LinuxBridge,
    "ovs": OVSSwitch,
    "ovsbr": OVSBridge,
    "ovsk": OVSSwitch,
}
HOSTS: dict[str, Callable[..., Node]] = {
    "proc": Host,
    "cfs": specialClass(CPULimitedHost, defaults={"sched": "cfs"}),
    "rt": specialClass(CPULimitedHost, defaults={"sched": "rt"}),
}
CONTROLLERS: dict[str, Callable[..., Controller | None]] = {
    "default": DefaultController,
    "none": NullController,
    "ovsc": OVSController,
    "ref": Controller,
    "remote": RemoteController,
    "ryu": Ryu,
}
LINKS: dict[str, Callable[..., Link]] = {
    "default": Link,
    "tc": TCLink,
    "tcu": TCULink,
    "ovs": OVSLink,
}
TESTS: dict[str, Callable[..., object] | None] = {"none": None, "build": None}
OUR_TOPOS = dict(TOPOS)
TOPO_PARAMETERS = {
    "minimal": (),
    "single": ("k",),
    "reversed": ("k",),
    "linear": ("k", "n"),
    "tree": ("depth", "fanout"),
    "torus": ("x", "y", "n"),
}
CHOICES: dict[str, dict[str, Any]] = {
    "topos": TOPOS,
    "switches": SWITCHES,
    "hosts": HOSTS,
    "controllers": CONTROLLERS,
    "links": LINKS,
    "tests": TESTS,
}

METHOD_NAMES = {"pingall": "pingAll", "pingpair": "pingPair", "iperfudp": "iperfudp"}
LOSS_TESTS = ("ping", "pingAll", "pingPair")
FULL_TESTS = ("pingFull", "pingAllFull", "pingPairFull")
WITHOUT_CONTROLLER = ("lxbr", "ovsbr")
LINE = "-" * 80
INTERRUPTED = 130
STP_S = 32.0
"""Listening and learning take 15 s each (IEEE 802.1D), after the first hellos."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `mn` and return its exit status."""
    parser = mn_options.parser()
    values = mn_options.read(sys.argv[1:] if arguments is None else arguments, parser)
    if values.version:
        print(mn_options.version())
        return 0
    if values.clean:
        print("nothing to clean: everything in this machine ends with the machine")
        return 0
    if values.strict:
        os.environ[STRICT] = "1"
    setLogLevel(values.verbosity)
    if values.verbosity not in ("debug", "info", "output"):
        error(f"*** Warning: with --verbosity {values.verbosity} the prompt shows no output\n")
    if HOST_PROMPT_VARIABLE in os.environ and not sys.stdin.isatty():
        sys.stdin = LinesOfService()
    try:
        for text in values.custom:
            _read_custom(text, parser)
        return MnRun(values, parser).run()
    except KeyboardInterrupt:
        info("\n\nKeyboard Interrupt. Shutting down and cleaning up...\n\n")
        return INTERRUPTED
    except Exception as exception:
        _report(exception)
        return 1


def _report(exception: Exception) -> None:
    message = str(exception)
    if not isinstance(exception, WanlabError):
        message = f"{type(exception).__name__}: {message}"
    error(f"{LINE}\nCaught exception. Cleaning up...\n\n{message}\n{LINE}\n")
    if lg.isEnabledFor(logging.DEBUG):
        traceback.print_exc()


def _read_custom(text: str, parser: optparse.OptionParser) -> None:
    """Execute files that define topologies, nodes, links and tests.

    Other names replace those of this module, so that a file may define its own CLI.
    """
    for name in [text] if Path(text).is_file() else text.split(","):
        file = Path(name)
        if not file.is_file():
            parser.error(f"could not find custom file: {name}")
        sys.path.append(str(file.resolve().parent))
        names: dict[str, Any] = {"__name__": file.stem, "__file__": name}
        exec(compile(file.read_bytes(), name, "exec"), names)
        for key, value in names.items():
            if key in CHOICES:
                CHOICES[key].update(value)
            elif not key.startswith("__"):
                globals()[key] = value


class MnRun:
    """One run of `mn`: builds the network, uses it and stops it."""

    def __init__(self, values: optparse.Values, parser: optparse.OptionParser) -> None:
        self._values = values
        self._parser = parser
        self._has_failed = False

    def run(self) -> int:
        """Return the exit status."""
        values = self._values
        start = time.time()
        if values.attach:
            return self._attach()
        if "validate" in globals():
            globals()["validate"](values)
        net = self._build()
        try:
            self._use(net)
        finally:
            net.stop()
        info(f"completed in {time.time() - start:0.3f} seconds\n")
        return 1 if self._has_failed else 0

    def _attach(self) -> int:
        """Run tests or the prompt on the network that this machine already carries."""
        from .attached import attach, detach

        net = attach()
        try:
            if self._values.stp:
                info(f"*** Waiting {STP_S:g} s for the spanning tree\n")
                pause(STP_S)
            if self._values.pre:
                self._run_script(net, self._values.pre)
            if self._values.test:
                self._test(net)
            else:
                self._note(CLI(net))
            if self._values.post:
                self._run_script(net, self._values.post)
        finally:
            detach(net)
        return 1 if self._has_failed else 0

    def _build(self) -> Mininet:
        values = self._values
        self._check(TOPOS, values.topo, "topo", "Invalid topo name ")
        self._check_topo_parameters(values.topo)
        topo = buildTopo(TOPOS, values.topo)
        switch, controllers = self._switch_and_controllers(topo)
        if values.pin and values.host.partition(",")[0] not in ("cfs", "rt"):
            self._parser.error("--pin needs --host cfs or --host rt")
        if values.ipv6:
            live_network().ipv6_base = IPV6_BASE
        return Mininet(
            topo=topo,
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

    def _switch_and_controllers(
        self, topo: Topo
    ) -> tuple[Callable[..., Switch] | None, list[Controller | Callable[..., Controller | None]]]:
        """Choose bridges without a controller, or Open vSwitches if there is a controller.

        A switch of --custom that asks for OpenFlow becomes an Open vSwitch, as in a script.
        """
        name = self._values.switch + (",stp=1" if self._values.stp else "")
        kind = name.partition(",")[0]
        controllers = [text for text in self._values.controller if text != "none"]
        if controllers and kind in WITHOUT_CONTROLLER:
            self._parser.error(
                f"--controller {controllers[0]}: --switch {kind} cannot have a controller; "
                "use --switch ovsk"
            )
        if kind == "default" and controllers:
            name = "ovsk" + name.removeprefix("default")
        switch = self._class(SWITCHES, name, "switch")
        is_default = kind == "default" and not self._values.controller
        if is_default and any(asks_for_openflow(topo.nodeInfo(s)) for s in topo.switches()):
            return None, [DefaultController]
        if not controllers:
            learns = kind in ("default", *WITHOUT_CONTROLLER) or bool(self._values.controller)
            return switch, [NullController if learns else DefaultController]
        return switch, [self._class(CONTROLLERS, text, "controller") for text in controllers]

    def _class(
        self, choices: Mapping[str, Callable[..., T]], text: str, option: str
    ) -> Callable[..., T]:
        self._check(choices, text, option)
        return customClass(choices, text)

    def _check(
        self, choices: Mapping[str, object], text: str, option: str, prefix: str = ""
    ) -> None:
        name = text.partition(",")[0]
        if name not in choices:
            known = ", ".join(sorted(choices))
            problem = f"{prefix}{name}" if prefix else f"{name} is unknown"
            self._parser.error(f"--{option}: {problem} - please specify one of {known}")

    def _check_topo_parameters(self, text: str) -> None:
        """Refuse parameters that one of our topologies does not take."""
        name, args, kwargs = splitArgs(text)
        if TOPOS[name] is not OUR_TOPOS.get(name):
            return
        known = TOPO_PARAMETERS[name]
        wrong = [str(value) for value in args[len(known) :]]
        wrong += [f"{word}={value}" for word, value in kwargs.items() if word not in known]
        wrong += [str(value) for value in (*args, *kwargs.values()) if not isinstance(value, int)]
        if wrong:
            takes = f"{' and '.join(known)} (whole numbers)" if known else "no parameters"
            self._parser.error(f"--topo {text}: unexpected {wrong[0]}; {name} takes {takes}")

    def _wait(self) -> float | bool:
        """Return the limit for connecting switches, in seconds; True: no limit, False: do not wait.

        The default is no limit if there are tests, and not to wait otherwise.
        """
        limit: float | bool | None = self._values.wait or (True if self._values.stp else None)
        if limit is None or limit is True:
            return limit is True or bool(self._values.test and self._values.test != ["none"])
        return limit

    # -- once it is built -------------------------------------------------------------------------

    def _use(self, net: Mininet) -> None:
        values = self._values
        if values.nat is not None:
            _, args, kwargs = splitArgs(f"nat,{values.nat}" if values.nat else "nat")
            add_nat: Callable[..., NAT] = net.addNAT
            add_nat(*args, **kwargs).configDefault()
        if values.pre:
            self._run_script(net, values.pre)
        net.start()
        if values.test:
            self._test(net)
        else:
            self._note(CLI(net))
        if values.post:
            self._run_script(net, values.post)

    def _run_script(self, net: Mininet, script: str) -> None:
        self._note(CLI(net, script=script), is_script=True)

    def _note(self, cli: object, *, is_script: bool = False) -> None:
        """Include a failure in the exit status, unless a person at the prompt has seen it."""
        if is_script or not sys.stdin.isatty():
            self._has_failed |= bool(getattr(cli, "has_failed", False))

    def _test(self, net: Mininet) -> None:
        for text in "+".join(self._values.test).split("+"):
            name, args, kwargs = splitArgs(text)
            test = _test_of(net, name)
            if test is not None and _is_failure(name, test(*args, **kwargs)):
                self._has_failed = True


def _test_of(net: Mininet, name: str) -> Callable[..., object] | None:
    """Return the function of a test; None if there is nothing to do."""
    if name in TESTS:
        custom = TESTS[name]
        return None if custom is None else partial(custom, net)
    name = METHOD_NAMES.get(name.lower(), name)
    if name == "all":
        return lambda: _all(net)
    if name == "iperfudp":
        return partial(net.iperf, l4Type="UDP")
    method = getattr(net, name, None)
    if not callable(method):
        known = ", ".join(sorted([*TESTS, *METHOD_NAMES, "iperf", "all"]))
        raise WanlabError(f"Test {name} is unknown - please specify one of {known}")
    function: Callable[..., object] = method
    return function


def _all(net: Mininet) -> float:
    loss_percent: float = net.ping()
    net.iperf()
    return loss_percent


def _is_failure(name: str, result: Any) -> bool:
    """Whether the result of a test means that it failed."""
    name = METHOD_NAMES.get(name.lower(), name)
    if name in (*LOSS_TESTS, "all"):
        return bool(result)
    if name in FULL_TESTS:
        return any(received < sent for _, _, (sent, received, *_) in result)
    return result is False


if __name__ == "__main__":
    sys.exit(main())
