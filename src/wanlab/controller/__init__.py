"""A learning controller for OpenFlow switches, as a program: `python -m wanlab.controller`.

    openflow    the messages of OpenFlow 1.0 and 1.3 that it needs: bytes in, messages out
    learning    learns at which port each address is, and makes flows; no input or output
    __main__    the program: accepts connections and passes bytes on
    service     the common part of both programs: listening, running in the background
    relay       another program, which connects switches to a controller on the user's computer

It runs inside machines as a separate program, so it imports only the standard library and this package.
"""
