"""The agent: one small program beside the kernel that does what it is told.

It performs operations, runs processes and terminals, and reads counters. In the embedded machine it is
the first process (PID 1). It imports the standard library only and nothing of ours outside this
folder, so the folder travels alone; and little of that library, because it starts anew with every
machine.

    messages    the frames between a machine and its agent
    operations  what a plan consists of; loaded by the host side only
    perform     does operations            links     rtnetlink, for those that touch links
    processes   starts, feeds, signals, reaps
    counters    reads /proc and netlink sockets when told; returns raw bytes
    system      system calls that Python lacks, each wrapped once
    root        the file system of the embedded machine
"""
