"""Traffic from a seed: the program `wanlab-traffic`, which is in every machine.

    wanlab-traffic serve [-D]                        takes what the others send
    wanlab-traffic bulk|onoff|poisson|request|udp HOST [OPTION...]

It waits in the kernel and nowhere else: whole transfers are one system call on either side (large
writes; reads that throw away what comes, MSG_TRUNC | MSG_WAITALL), so that hardly any wall time goes
into it where each system call is dear. What is drawn comes from the seed, and not from what happens.

It travels alone: the standard library only, and of that what loads fast. Both ends read the same
clock, because all nodes are in one machine.
"""
