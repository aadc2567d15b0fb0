"""A traffic generator: the program `wanlab-traffic`, which is in every machine.

    wanlab-traffic serve [-D]                                          receives
    wanlab-traffic bulk|onoff|poisson|request|udp HOST [OPTION...]     sends

System calls are expensive in the embedded kernel, so each side makes one for a whole transfer: a large
write, and a read that discards the data (MSG_TRUNC | MSG_WAITALL). All random numbers depend on the
seed alone, not on what happens in the network.

The program runs without the rest of wanlab. It imports only those parts of the standard library that
load fast. Both ends read the same clock, because all nodes are in one machine.
"""
