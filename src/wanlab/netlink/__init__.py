"""Reads what the kernel answers to netlink requests: interfaces, qdiscs, and their settings."""
