"""Runs in a terminal window: sends its keys and its size to wanlab, and shows what comes back.

    python3 relay.py SOCKET

Standard library only and one file, because every window starts it.

    to the socket     "k" length(4) keys      "s" rows(2) columns(2)
    from the socket   output to show
"""

import os
import select
import signal
import socket
import struct
import sys
import termios
import tty


def main() -> None:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(sys.argv[1])
    resized, resizes = os.pipe()
    os.set_blocking(resizes, False)
    signal.set_wakeup_fd(resizes)
    signal.signal(signal.SIGWINCH, lambda *_: None)
    before = termios.tcgetattr(0)
    tty.setraw(0, termios.TCSADRAIN)
    try:
        send_size(connection)
        while True:
            ready, _, _ = select.select([0, connection.fileno(), resized], [], [])
            if resized in ready:
                os.read(resized, 64)
                send_size(connection)
            if 0 in ready:
                keys = os.read(0, 4096)
                if not keys:
                    return
                connection.sendall(b"k" + struct.pack(">I", len(keys)) + keys)
            if connection.fileno() in ready:
                output = connection.recv(65536)
                if not output:
                    return
                os.write(1, output)
    except OSError:
        return
    finally:
        termios.tcsetattr(0, termios.TCSANOW, before)


def send_size(connection: socket.socket) -> None:
    size = os.get_terminal_size(0)
    connection.sendall(b"s" + struct.pack(">HH", size.lines, size.columns))


if __name__ == "__main__":
    main()
