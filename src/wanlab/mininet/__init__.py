"""Mininet's Python API, built on wanlab's public names.

A Mininet script runs unmodified inside a machine: `wanlab python SCRIPT`. There this package is
imported as `mininet`, and the script's sleep, files and subprocess are those of the machine.

    net        Mininet: a network built by addHost, addSwitch and addLink, or from a Topo
    topo       Topo: the description of a network         topolib  more topologies
    node       hosts, switches, controllers               nodelib  LinuxBridge, NAT
    link       links and interfaces, with traffic control
    cli        the mininet> prompt
    log util clean term moduledeps examples

wanlab docs mininet lists the differences from Mininet and their reasons. Names that do not follow
wanlab's style are Mininet's.

The other modules are our own. `live_network` creates the nodes and links of a script in the kernel,
together and only when they are needed. `node_shell`, `namespace`, `shaping`, `pinger` and
`throughput` do not depend on the rest.
"""

MODULES = (
    "clean",
    "cli",
    "examples",
    "link",
    "log",
    "moduledeps",
    "net",
    "node",
    "nodelib",
    "term",
    "topo",
    "topolib",
    "util",
)
"""Modules that are loaded when a script names them, as in `import mininet.net; mininet.node.Host`:
Mininet's own modules load each other."""


def __getattr__(name: str) -> object:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return import_module(f"{__name__}.{name}")
