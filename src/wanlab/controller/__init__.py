"""A learning controller for OpenFlow switches, as a program: `python -m wanlab.controller`.

    openflow    the messages of OpenFlow 1.0 and 1.3 that it needs: bytes in, messages out
    learning    learns where addresses are and tells the switch: pure
    __main__    the program: accepts connections and passes bytes on
    service     what the programs of this package share: listening, running in the background
    relay       another program, which connects switches to a controller on the user's computer

It runs inside machines as a separate program: standard library only, and no other package of ours.
"""
