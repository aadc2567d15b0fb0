"""Mininet's Python API over wanlab's public names.

A Mininet script runs unmodified, inside a machine: `wanlab python SCRIPT`. There this package is
imported as `mininet`, and sleep, files and subprocess in the script are the machine's.

    net        Mininet: a network that grows by addHost, addSwitch, addLink, or from a Topo
    topo       Topo: a network as a description          topolib  more of them
    node       hosts, switches, controllers              nodelib  LinuxBridge, NAT
    link       links and interfaces, with traffic control
    cli        the mininet> prompt
    log util clean term moduledeps examples

What differs from Mininet, and why, stands in docs/mininet.md. Names that do not follow wanlab's
style are Mininet's.

Inside, `ground` holds the live network under all nodes, and nothing is made before it is needed:
additions wait and are made in one go. `shell`, `namespace`, `shaping`, `pinger` and `throughput` do
one thing each and know nothing of Mininet's classes.
"""
