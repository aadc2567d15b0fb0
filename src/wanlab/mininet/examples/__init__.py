"""Classes that Mininet's users take from its examples: a router, and a host in a VLAN."""
