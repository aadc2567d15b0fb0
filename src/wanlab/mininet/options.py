"""The options of `mn`, those that wanlab adds among them. Standard library only: the command line reads
them outside the machine, too, so that a wrong one is told before a machine boots.

Some options choose the machine. They are split off outside; whoever runs `mn` inside a machine that runs
already is told that they come too late.
"""

from __future__ import annotations

import optparse
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wanlab import __version__

MININET_VERSION = "2.3.1"
"""Whose options and prompt these are."""
LINE_RATE = "1Gbps"
OPENFLOW_PORTS = (6653, 6633)
LEVELS = "debug|info|output|warning|warn|error|critical"
TOPO_WORDS = "linear|minimal|reversed|single|torus|tree[,param=value...]"
SWITCH_WORDS = "default|lxbr|ovs|ovsbr|ovsk[,param=value...]"
HOST_WORDS = "cfs|proc|rt[,param=value...]"
CONTROLLER_WORDS = "default|none|ovsc|ref|remote|ryu[,param=value...]"
LINK_WORDS = "default|ovs|tc|tcu[,param=value...]"
TEST_WORDS = (
    "pingall|pingpair|iperf|iperfudp|all|none|build, or any method of Mininet; a+b for several"
)

DESCRIPTION = """\
Makes a network and lets you use it at a prompt, or tests it. Options are Mininet's, with those of \
wanlab added. Needs no root: the network is in a machine with a kernel of its own, and on virtual time \
a command takes as long as it takes to compute, whatever the clock in the network says.

Without --link tc,bw=... a link is a cable of 1 Gbit/s (see --line-rate). Switches are Linux bridges \
unless --switch or --controller ask for Open vSwitch. What you want to read or write in the machine is \
in the folder that you start it in.

Exit status: 0; 1 if a test failed, packets of a ping test were lost, or something went wrong; 2 for \
wrong options.
"""


@dataclass(frozen=True)
class MachineOption:
    """An option that chooses the machine."""

    name: str
    metavar: str
    help: str
    choices: tuple[str, ...] = ()


MACHINE_OPTIONS = (
    MachineOption(
        "clock",
        "CLOCK",
        "virtual (the default: as fast as it can be computed, equal runs are equal) or real",
        ("virtual", "real"),
    ),
    MachineOption(
        "machine",
        "MACHINE",
        "embedded (the default: a kernel of its own, which needs no root) or native (this computer's"
        " kernel in fresh namespaces, on the real clock)",
        ("embedded", "native"),
    ),
    MachineOption(
        "pace",
        "PACE",
        "fast (the default: time stands still at the prompt) or real (time goes on as on your watch,"
        " at the prompt, too, and never faster)",
        ("fast", "real"),
    ),
    MachineOption(
        "wire",
        "WIRE",
        "mtu (the default: as a real wire) or gso (packets up to 64 KB, as plain veth; faster)",
        ("mtu", "gso"),
    ),
    MachineOption("seed", "NUMBER", "of all random numbers in the machine (1)"),
    MachineOption(
        "memory", "SIZE", "of the machine, 4GB for example (by default it follows --topo)"
    ),
    MachineOption(
        "line-rate",
        "RATE",
        f"of the cable that a link is ({LINE_RATE}); what a link with bw carries is said by bw",
    ),
    MachineOption(
        "allow-connect",
        "ADDRESS:PORT",
        "where programs inside may connect to on your computer; several with commas. What --controller"
        " remote names is among it",
    ),
)
MACHINE_NAMES = tuple(f"--{option.name}" for option in MACHINE_OPTIONS)


class Options(optparse.OptionParser):
    """Mininet's parser: the same words, `Usage: mn [options]`, status 2 for wrong usage."""

    def format_description(self, formatter: optparse.HelpFormatter) -> str:
        """With its paragraphs."""
        width = formatter.width - formatter.current_indent
        paragraphs = (self.description or "").strip().split("\n\n")
        return "\n\n".join(textwrap.fill(paragraph, width) for paragraph in paragraphs) + "\n"


def remote_controllers(texts: Sequence[str]) -> list[str]:
    """Where the values of --controller say that remote ones are: "127.0.0.1:6653"."""
    found = []
    for text in texts:
        kind, *words = text.split(",")
        if kind == "remote":
            named = dict(word.split("=", 1) for word in words if "=" in word)
            ip, _, port = named.get("ip", "127.0.0.1").partition(":")
            ports = [named["port"]] if "port" in named else [port] if port else OPENFLOW_PORTS
            found += [f"{ip}:{number}" for number in ports]
    return found


def version() -> str:
    return f"{MININET_VERSION} (wanlab {__version__})"


def parser() -> Options:
    options = Options(
        usage="%prog [options]\n(type %prog -h for details)", prog="mn", description=DESCRIPTION
    )
    add = options.add_option
    add("--switch", default="default", help=SWITCH_WORDS)
    add("--host", default="proc", help=HOST_WORDS)
    add("--link", default="default", help=LINK_WORDS)
    add("--controller", action="append", default=[], help=f"{CONTROLLER_WORDS} (repeatable)")
    add("--topo", default="minimal", help=TOPO_WORDS)
    add("-c", "--clean", action="store_true", help="take away what a killed run has left, and exit")
    add(
        "--custom",
        action="append",
        default=[],
        help="read custom classes and parameters from .py files",
    )
    add("--test", action="append", default=[], help=TEST_WORDS)
    add("-x", "--xterms", action="store_true", help="open a terminal for each node")
    add("-i", "--ipbase", default="10.0.0.0/8", help="base address of the hosts")
    add("--mac", action="store_true", help="give hosts simple MAC addresses")
    add("--arp", action="store_true", help="set ARP entries of all pairs of hosts")
    add(
        "-v", "--verbosity", choices=LEVELS.split("|"), default="info", metavar="LEVEL", help=LEVELS
    )
    add("--innamespace", action="store_true", help="not here: switches are in the root namespace")
    add("--listenport", type="int", default=6654, help="base port for passive switch listening")
    add("--nolistenport", action="store_true", help="no passive listening ports")
    add("--pre", help="file of prompt commands to run before the network starts")
    add("--post", help="file of prompt commands to run after tests or prompt")
    add("--pin", action="store_true", help="pin hosts to cores (needs --host cfs or --host rt)")
    add(
        "--nat",
        action="callback",
        callback=_take_nat,
        dest="nat",
        help="[param=value,...] add a NAT node that leads out of the network",
    )
    add("--version", action="store_true", help="print the version, and exit")
    add(
        "-w",
        "--wait",
        action="store_const",
        const=True,
        dest="wait",
        help="wait for switches to connect",
    )
    add(
        "-t",
        "--twait",
        type="int",
        dest="wait",
        metavar="SECONDS",
        help="the same, so long at most",
    )
    add("--cluster", metavar="SERVER,...", help="not here: one machine carries the network")
    add("--placement", metavar="block|random", help="not here, see --cluster")

    group = optparse.OptionGroup(options, "Added by wanlab, for the machine")
    group.add_option(
        "--attach",
        action="store_true",
        help="inside a machine: the prompt for the network that it was started with, which goes on"
        " afterwards",
    )
    for option in MACHINE_OPTIONS:
        group.add_option(f"--{option.name}", metavar=option.metavar, help=option.help)
    options.add_option_group(group)
    return options


def read(arguments: Sequence[str], options: Options) -> optparse.Values:
    """The options, if they can be honoured; otherwise tells why not and exits with status 2."""
    values, rest = options.parse_args(list(arguments))
    if rest:
        options.error(f"unexpected argument: {rest[0]}")
    for option in MACHINE_OPTIONS:
        if getattr(values, option.name.replace("-", "_")) is not None:
            options.error(
                f"--{option.name} comes too late: the machine runs already (give it, written in full, "
                "to: wanlab mn)"
            )
    for name, reason in NOT_HERE.items():
        if getattr(values, name):
            options.error(f"--{name}: {reason}")
    for option_name, reasons in NOT_HERE_WORDS.items():
        given = getattr(values, option_name) or ()
        for text in [given] if isinstance(given, str) else given:
            if told := reasons.get(text.partition(",")[0]):
                options.error(f"--{option_name} {text}: {told}")
    return values


NO_SERVERS = (
    "one machine carries the whole network; hosts of the size that one server carries fit into it, "
    "and for many runs at once start many machines"
)
NOT_HERE = {
    "innamespace": "switches and controllers are in the machine's root namespace, because a kernel's"
    " bridges and Open vSwitch are one for all; a node that forwards by itself is a host or router",
    "cluster": NO_SERVERS,
    "placement": NO_SERVERS,
}
NOT_HERE_WORDS = {
    "switch": {
        "user": "the reference user-space switch is not maintained any more; Open vSwitch in user space "
        "is --switch ovs,datapath=user",
        "ivs": "Indigo Virtual Switch is not maintained any more; use --switch ovsk or lxbr",
    },
    "controller": {
        "nox": "NOX is not maintained any more; use --controller ref, ryu or remote",
    },
}


@dataclass(frozen=True)
class Split:
    """What was said of the machine, and what is for `mn` itself."""

    machine: Mapping[str, str]
    rest: tuple[str, ...]


def split(arguments: Sequence[str], *, only_first: bool = False) -> Split:
    """Takes the options of the machine out, or those that stand first. ValueError if one has no value or
    a wrong one."""
    machine: dict[str, str] = {}
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if name not in MACHINE_NAMES or (only_first and rest):
            rest.append(word)
            continue
        if not equals:
            try:
                value = next(words)
            except StopIteration:
                raise ValueError(f"{name} option requires 1 argument") from None
        machine[name.removeprefix("--")] = _checked(name.removeprefix("--"), value)
    return Split(machine, tuple(rest))


def _checked(name: str, value: str) -> str:
    option = next(option for option in MACHINE_OPTIONS if option.name == name)
    if option.choices and value not in option.choices:
        known = ", ".join(map(repr, option.choices))
        raise ValueError(f"option --{name}: invalid choice: {value!r} (choose from {known})")
    if name == "seed" and not value.isdigit():
        raise ValueError(f"option --{name}: invalid integer value: {value!r}")
    return value


def _take_nat(
    option: optparse.Option, name: str, value: object, options: optparse.OptionParser
) -> None:
    """Its parameters are the next word, unless that is an option."""
    assert options.values is not None
    assert options.rargs is not None
    has_words = bool(options.rargs) and not options.rargs[0].startswith("-")
    options.values.nat = options.rargs.pop(0) if has_words else ""
