"""The options of `mn`: Mininet's, and those that wanlab adds.

Standard library only: the command line also reads them outside the machine, so that a wrong option is
reported before a machine boots. Options that choose the machine are split off there. Inside a machine
they are refused, because it is too late for them.
"""

from __future__ import annotations

import optparse
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NoReturn

from wanlab import __version__
from wanlab.machine_options import MACHINE_OPTIONS

MININET_VERSION = "2.3.1"
"""The version of Mininet whose options and prompt wanlab has."""
LINE_RATE = MACHINE_OPTIONS["line-rate"].default
OPENFLOW_PORTS = (6653, 6633)
LEVELS = "debug|info|output|warning|warn|error|critical"
TOPO_HELP = "linear|minimal|reversed|single|torus|tree[,param=value...], or a file (.mn, .yaml)"
SWITCH_HELP = "default|lxbr|ovs|ovsbr|ovsk[,param=value...]"
HOST_HELP = "cfs|proc|rt[,param=value...]"
CONTROLLER_HELP = "default|none|ovsc|ref|remote|ryu[,param=value...]"
LINK_HELP = "default|ovs|tc|tcu[,param=value...]"
TEST_HELP = (
    "pingall|pingpair|iperf|iperfudp|all|none|build, or any method of Mininet (repeatable, or A+B)"
)

DESCRIPTION = """\
Builds a network and runs a prompt or tests in it. The options are Mininet's, plus some that wanlab \
adds. No root is needed: the network is in a machine with its own kernel. On virtual time, a \
command ends as soon as it has been computed, however long it takes on the network's clock.

Without --link tc,bw=..., links run at 1 Gbit/s (see --line-rate). Switches are Linux bridges \
unless --switch or --controller selects Open vSwitch. The machine shares the folder in which you start \
mn; files written elsewhere are lost when it ends, and named then.

Exit status: 0; 1 if a test failed, a ping test lost packets, or an error occurred; 2 for wrong options.
"""


VALUES: Mapping[str, tuple[str, ...]] = {
    f"--{option}": tuple(help.partition("[")[0].split("|"))
    for option, help in (
        ("switch", SWITCH_HELP),
        ("host", HOST_HELP),
        ("controller", CONTROLLER_HELP),
        ("link", LINK_HELP),
        ("test", "pingall|pingpair|iperf|iperfudp|all|none|build"),
        ("verbosity", LEVELS),
    )
}
"""Values of Mininet's own options, for the completion of command lines."""
STRICT_HELP = "fail instead of warning if an option or a part of a script has no effect"
STP_HELP = (
    "let all switches that need no controller speak the spanning tree protocol, as a network with loops "
    "needs, and wait 32 s of virtual time for it"
)
IPV6_HELP = "give hosts IPv6 addresses, too: fd00::1, fd00::2, ... (h1 ping -6 h2)"
MACHINE_NAMES = tuple(f"--{name}" for name in MACHINE_OPTIONS)


class Options(optparse.OptionParser):
    """Mininet's kind of parser: `Usage: mn [options]`, exit status 2 for wrong options."""

    def format_description(self, formatter: optparse.HelpFormatter) -> str:
        """Keep the paragraphs of the description."""
        width = formatter.width - formatter.current_indent
        paragraphs = (self.description or "").strip().split("\n\n")
        return "\n\n".join(textwrap.fill(paragraph, width) for paragraph in paragraphs) + "\n"

    def error(self, msg: str) -> NoReturn:
        """Name the nearest option if there is no such option."""
        wrong = msg.removeprefix("no such option: ")
        nearest = get_close_matches(wrong, names(), n=1) if wrong != msg else []
        super().error(f"{msg} (did you mean {nearest[0]}?)" if nearest else msg)


def remote_controllers(texts: Sequence[str]) -> list[str]:
    """Return the addresses of remote controllers in values of --controller: "127.0.0.1:6653"."""
    addresses = []
    for text in texts:
        kind, *words = text.split(",")
        if kind == "remote":
            named = dict(word.split("=", 1) for word in words if "=" in word)
            ip, _, port = named.get("ip", "127.0.0.1").partition(":")
            ports = [named["port"]] if "port" in named else [port] if port else OPENFLOW_PORTS
            addresses += [f"{ip}:{number}" for number in ports]
    return addresses


def version() -> str:
    return f"{MININET_VERSION} (wanlab {__version__})"


def names() -> list[str]:
    """Return all options by their long names."""
    known = parser()
    options = [*known.option_list, *(o for group in known.option_groups for o in group.option_list)]
    return [name for option in options for name in option._long_opts]


def parser() -> Options:
    """Return the parser of all options of `mn`, those that choose the machine included."""
    options = Options(
        usage="%prog [options]\n(type %prog -h for details)", prog="mn", description=DESCRIPTION
    )
    _add_mininet_options(options)
    _add_wanlab_options(options)
    return options


def _add_mininet_options(options: Options) -> None:
    add = options.add_option
    add("--switch", default="default", help=SWITCH_HELP)
    add("--host", default="proc", help=HOST_HELP)
    add("--link", default="default", help=LINK_HELP)
    add("--controller", action="append", default=[], help=f"{CONTROLLER_HELP} (repeatable)")
    add("--topo", default="minimal", help=TOPO_HELP)
    add("-c", "--clean", action="store_true", help="remove what killed runs have left, and exit")
    add(
        "--custom",
        action="append",
        default=[],
        help="read classes and parameters from .py files (repeatable, or FILE,FILE)",
    )
    add("--test", action="append", default=[], help=TEST_HELP)
    add("-x", "--xterms", action="store_true", help="open a terminal window for each node")
    add(
        "-i",
        "--ipbase",
        default="10.0.0.0/8",
        help="address range of the hosts (default: %default)",
    )
    add(
        "--mac",
        action="store_true",
        help="give hosts simple MAC addresses (00:00:00:00:00:01, ...)",
    )
    add("--arp", action="store_true", help="add static ARP entries for all pairs of hosts")
    add(
        "-v",
        "--verbosity",
        choices=LEVELS.split("|"),
        default="info",
        metavar="LEVEL",
        help=f"{LEVELS} (default: %default)",
    )
    add(
        "--innamespace",
        action="store_true",
        help="not supported: switches are in the root namespace",
    )
    add(
        "--listenport",
        type="int",
        default=6654,
        help="first port on which switches listen (default: %default)",
    )
    add("--nolistenport", action="store_true", help="switches do not listen on a port")
    add("--pre", help="file of prompt commands to run before the network starts", metavar="FILE")
    add("--post", help="file of prompt commands to run after tests or the prompt", metavar="FILE")
    add("--pin", action="store_true", help="assign hosts to cores (needs --host cfs or --host rt)")
    add(
        "--nat",
        action="callback",
        callback=_read_nat,
        dest="nat",
        help="[param=value,...] add a NAT gateway to the machine's root namespace",
    )
    add("--version", action="store_true", help="print the version and exit")
    add(
        "-w",
        "--wait",
        action="store_const",
        const=True,
        dest="wait",
        help="wait until switches are connected to their controllers",
    )
    add(
        "-t",
        "--twait",
        type="int",
        dest="wait",
        metavar="SECONDS",
        help="like --wait, but for at most SECONDS",
    )
    add("--cluster", metavar="SERVER,...", help="not supported: one machine carries the network")
    add("--placement", metavar="block|random", help="not supported, see --cluster")


def _add_wanlab_options(options: Options) -> None:
    group = optparse.OptionGroup(options, "Options added by wanlab")
    group.add_option(
        "--attach",
        action="store_true",
        help="inside a machine: run the prompt on the machine's network, which runs on afterwards",
    )
    group.add_option("--ipv6", action="store_true", help=IPV6_HELP)
    group.add_option("--stp", action="store_true", help=STP_HELP)
    group.add_option("--strict", action="store_true", help=STRICT_HELP)
    for name, option in MACHINE_OPTIONS.items():
        group.add_option(f"--{name}", metavar=option.metavar, help=option.phrase)
    options.add_option_group(group)


def read(arguments: Sequence[str], options: Options) -> optparse.Values:
    """Parse the options. Those that are not supported are reported, and the program exits with 2."""
    values, rest = options.parse_args(list(arguments))
    if rest:
        options.error(f"unexpected argument: {rest[0]}")
    for name in MACHINE_OPTIONS:
        if getattr(values, name.replace("-", "_")) is not None:
            options.error(
                f"--{name} is too late: the machine is already running (give it to `wanlab mn`, "
                "spelled out in full)"
            )
    for name, reason in UNSUPPORTED.items():
        if getattr(values, name):
            options.error(f"--{name}: {reason}")
    for option_name, reasons in UNSUPPORTED_VALUES.items():
        chosen = getattr(values, option_name) or ()
        for text in [chosen] if isinstance(chosen, str) else chosen:
            if why := reasons.get(text.partition(",")[0]):
                options.error(f"--{option_name} {text}: {why}")
    return values


NO_SERVERS = (
    "one machine carries the whole network, and is not spread over servers; to run several networks "
    "at once, start several machines"
)
OF_DRAWN_NETWORKS = "the file defines the nodes and links: change it there"
NOT_WITH_FILES = (
    "switch",
    "host",
    "link",
    "controller",
    "custom",
    "mac",
    "arp",
    "ipbase",
    "nat",
    "pin",
)
"""Options that say how to build a network from a shape."""


def refuse_beside_file(values: optparse.Values, options: Options) -> None:
    """Report an option that has no effect on a topology from a file; the program exits with 2."""
    for name in NOT_WITH_FILES:
        value = getattr(values, name)
        # optparse appends to the default of an option that may be repeated.
        is_set = bool(value) if isinstance(value, list) else value != options.defaults.get(name)
        if is_set:
            options.error(f"--{name} has no effect with --topo {values.topo}: {OF_DRAWN_NETWORKS}")


UNSUPPORTED = {
    "innamespace": "switches and controllers are in the machine's root namespace, because Open vSwitch"
    " and the bridges of a kernel are shared; for a node that forwards in its own namespace use a host",
    "cluster": NO_SERVERS,
    "placement": NO_SERVERS,
}
UNSUPPORTED_VALUES = {
    "switch": {
        "user": "the reference user-space switch is no longer maintained; for Open vSwitch in user "
        "space use --switch ovs,datapath=user",
        "ivs": "Indigo Virtual Switch is no longer maintained; use --switch ovsk or lxbr",
    },
    "controller": {
        "nox": "NOX is no longer maintained; use --controller ref, ryu or remote",
    },
}


@dataclass(frozen=True)
class SplitArguments:
    """Arguments, split into the machine's options by name and the rest."""

    machine: Mapping[str, str]
    rest: tuple[str, ...]
    is_strict: bool = False


def split(arguments: Sequence[str], *, only_first: bool = False) -> SplitArguments:
    """Split off the machine's options.

    With `only_first`, only options before the first other argument count, and --strict is one of
    them. Raises ValueError if an option has no value or a wrong one.
    """
    machine: dict[str, str] = {}
    rest: list[str] = []
    is_strict = False
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if word == "--strict" and only_first and not rest:
            is_strict = True
            continue
        if name not in MACHINE_NAMES or (only_first and rest):
            rest.append(word)
            continue
        if not equals:
            try:
                value = next(words)
            except StopIteration:
                raise ValueError(f"{name} option requires 1 argument") from None
        machine[name.removeprefix("--")] = _checked(name.removeprefix("--"), value)
    return SplitArguments(machine, tuple(rest), is_strict)


def _checked(name: str, value: str) -> str:
    option = MACHINE_OPTIONS[name]
    if option.choices and value not in option.choices:
        known = ", ".join(map(repr, option.choices))
        raise ValueError(f"option --{name}: invalid choice: {value!r} (choose from {known})")
    if name == "seed" and not (value.isascii() and value.isdigit() and len(value) <= 20):
        raise ValueError(f"option --{name}: invalid integer value: {value[:40]!r}")
    return value


def _read_nat(
    option: optparse.Option, name: str, value: object, options: optparse.OptionParser
) -> None:
    """Take the next argument as parameters of --nat, unless it is an option."""
    assert options.values is not None
    assert options.rargs is not None
    has_parameters = bool(options.rargs) and not options.rargs[0].startswith("-")
    options.values.nat = options.rargs.pop(0) if has_parameters else ""
