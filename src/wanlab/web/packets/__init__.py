"""Packets in words: of a capture file, and on the links of the running network."""
