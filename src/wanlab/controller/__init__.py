"""A learning controller for OpenFlow switches, as a program: `python -m wanlab.controller`.

    openflow    the few messages of OpenFlow 1.0 and 1.3 that it needs: bytes in, messages out
    learning    who is where, and what a switch is told about it: pure
    __main__    the program: listens, waits, passes bytes on

It runs inside machines, as a program of its own: standard library only, and nothing else of ours.
"""
