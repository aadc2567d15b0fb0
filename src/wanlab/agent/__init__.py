"""The agent: a small program inside the machine that carries out calls from outside.

It performs operations, runs processes and terminals, and reads counters. In the embedded machine it is
the first process (PID 1). It imports nothing of wanlab outside this folder, so that it can be started
from the folder alone, and little of the standard library, because it is started with every machine.

    serve         the loop: calls in, answers and events out
    messages      the frames between a machine and its agent
    perform       performs the operations of a plan, with
                      links, shaping    rtnetlink messages          ethtool   its ioctls
                      services          Open vSwitch, controllers, FRRouting
    processes     starts processes and terminals, and passes their data
    namespaces    the namespaces of nodes                  cgroups   their shares of the CPU
    counters      reads /proc and netlink sockets          dumps     netlink lists, many at once
    watches       reads counters at regular instants, with
                      ticker, tracing (kernel events), packets (captures)
    host_service  the socket for requests of programs in the machine
    root          the file system of the embedded machine
    system        system calls that Python lacks
"""
