"""Mininet's Python API, built on wanlab's public names.

A Mininet script runs unmodified inside a machine: `wanlab python SCRIPT`. There this package is
imported as `mininet`, and the script's sleep, files and subprocess are those of the machine.

    net        Mininet: a network built by addHost, addSwitch and addLink, or from a Topo
    topo       Topo: the description of a network         topolib  more topologies
    node       hosts, switches, controllers               nodelib  LinuxBridge, NAT
    link       links and interfaces, with traffic control
    cli        the mininet> prompt
    log util clean term moduledeps examples

docs/mininet.md lists the differences from Mininet and their reasons. Names that do not follow
wanlab's style are Mininet's.

The other modules are our own. `live_network` creates the nodes and links of a script in the kernel,
together and only when they are needed. `node_shell`, `namespace`, `shaping`, `pinger` and
`throughput` do not depend on the rest.
"""
