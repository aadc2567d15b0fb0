"""Measures the costs of a model, each as the difference between two loops.

    call        recv() on a socket without data, less a function of the C library
    copy        send() and recv() of datagrams: the slope over their size; each of the two copies
    tx_stack    send() of a datagram through a device that discards it, less call
    rx_stack    send() to a socket of this computer and recv() there, less the send() and call above
    checksum    the slope of send() over the size without checksum offload, less the slope with it
    switch      an exchange of datagrams by two processes on one core, less the same calls in one
    idle_exit   from a write to its reader, which sleeps on another core, less switch and call
    fork, exec  the loop of a shell with a subshell, and with a program, less the loop without

The device is in user and network namespaces of its own, for which no privileges are needed where the
system allows such namespaces. Elsewhere, tx_stack and rx_stack are known as their sum only.

What a network adapter costs (interrupt, rx_packet, tx_packet) cannot be measured without one.
"""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from .loops import (
    LIBC,
    Loop,
    Measured,
    no_call,
    on_cores,
    other_process,
    recv,
    repeated,
    send,
    shortest,
    slope,
)

BATCHES_S = 1.0
"""How long each loop is repeated."""
COPIED_BYTES = (1000, 4000, 8000, 16000, 32000)
SENT_BYTES = (100, 400, 700, 1000, 1400)
EXCHANGED_BYTES = 1000
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
DEVICE, SUBNET, FAR_ADDRESS = "discard", "198.18.0.1/24", "198.18.0.2"
KINDS_OF_DEVICE = ("dummy", "bridge")
"""Those that discard what is sent; a bridge does without ports. A kernel may lack the first."""
SIOCETHTOOL, ETHTOOL_STXCSUM, NAME_BYTES = 0x8946, 0x17, 16
SHELL_LOOPS = 100
SHELL_LOOP = "i=0; while [ $i -lt {count} ]; do {command} i=$((i+1)); done"
WAKE_UPS, WAKE_INTERVAL_S = 500, 0.001
DIGITS = 20
_buffer = ctypes.create_string_buffer(max(COPIED_BYTES))
_address = ctypes.addressof(_buffer)


def measure(
    say: Callable[[str], None], *, seconds: float = BATCHES_S
) -> tuple[dict[str, Measured], float]:
    """Return the costs by their names in a model, in ns (bytes: in ps), and the error of the fit.

    The error says how much longer an exchange over TCP between two programs on one core, which is not
    among the measured loops, takes than the costs say: 0.1 is 10 %. A cost that cannot be measured
    here is not in the result; "stack" is the sum of tx_stack and rx_stack if they are not known.
    """
    cores = sorted(os.sched_getaffinity(0))
    costs: dict[str, Measured] = {}
    with on_cores(cores[0]):
        say("system calls")
        base = repeated(_loop(no_call, 0), seconds=seconds)
        costs["call_ns"] = call = _receive_nothing(seconds) - base
        say("copies")
        per_byte = _copies(seconds) / 2
        costs["copy_ps_per_byte"] = per_byte * 1000
        say("the network stack")
        copied = per_byte * SENT_BYTES[0]
        here = _send_and_receive(seconds)
        stack = here - base * 2 - call * 2 - copied * 2
        costs |= _stack(stack, base, call, copied, seconds)
        say("switches between programs")
        costs["switch_ns"] = switch = _exchange(_datagrams(), seconds) / 2 - here
        say("fork and exec")
        costs |= _programs()
        say("an exchange over TCP, to check the costs")
        calls = base * 4 + call * 4 + per_byte * (4 * EXCHANGED_BYTES)
        predicted = calls + stack * 2 + switch * 2
        error = _exchange(_connection(), seconds, EXCHANGED_BYTES).value / predicted.value - 1
    if len(cores) > 1:
        say("waking a core that sleeps")
        costs["idle_exit_ns"] = _wake(cores[0], cores[1]) - switch - call
    return {name: cost for name, cost in costs.items() if cost.value >= 0}, error


def _loop(function: Callable[..., int], descriptor: int, size: int = 0, flags: int = 0) -> Loop:
    def loop(repetitions: range) -> None:
        for _ in repetitions:
            function(descriptor, _address, size, flags)

    return loop


def _receive_nothing(seconds: float) -> Measured:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as empty:
        empty.bind(("127.0.0.1", 0))
        return repeated(_loop(recv, empty.fileno(), 1, socket.MSG_DONTWAIT), seconds=seconds)


def _copies(seconds: float) -> Measured:
    """Return the time per byte of a datagram that is sent and received."""
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with a, b:
        return slope(
            {
                size: repeated(_pass_through(a, b, size), seconds=seconds, count=50)
                for size in COPIED_BYTES
            }
        )


# -- the network stack ----------------------------------------------------------------------------


def _stack(
    stack: Measured, base: Measured, call: Measured, copied: Measured, seconds: float
) -> dict[str, Measured]:
    """Return the two parts of what the stack costs for a datagram, and the cost of checksums."""
    in_namespace = _in_namespace(lambda: _send_times(seconds))
    if in_namespace is None:
        return {"stack": stack}
    discarded, with_offload, without = in_namespace
    checksum = {"checksum_ps_per_byte": (without - with_offload) * 1000}
    tx_stack = discarded - base - call - copied
    if not 0 <= tx_stack.value <= stack.value:  # something else has disturbed one of them
        return {"stack": stack, **checksum}
    return {"tx_stack_ns": tx_stack, "rx_stack_ns": stack - tx_stack, **checksum}


def _send_times(seconds: float) -> tuple[Measured, ...]:
    """Return the time of sending 100 bytes through the device, and the slopes over the size with and
    without checksum offload."""
    if not any(_ip("link", "add", DEVICE, "type", kind) for kind in KINDS_OF_DEVICE):
        return ()
    _ip("address", "add", SUBNET, "dev", DEVICE)
    _ip("link", "set", DEVICE, "up", "arp", "off")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect((FAR_ADDRESS, 9))
        with_offload = _send_sizes(sender, seconds)
        _switch_checksums_off(sender)
        without = _send_sizes(sender, seconds)
    return with_offload[SENT_BYTES[0]], slope(with_offload), slope(without)


def _ip(*words: str) -> bool:
    done = subprocess.run(["ip", *words], check=False, stderr=subprocess.DEVNULL)
    return done.returncode == 0


def _send_sizes(sender: socket.socket, seconds: float) -> dict[int, Measured]:
    return {
        size: repeated(_loop(send, sender.fileno(), size), seconds=seconds) for size in SENT_BYTES
    }


def _datagrams() -> tuple[socket.socket, socket.socket]:
    """Return two sockets that are connected through the loopback interface."""
    a, b = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    for end in (a, b):
        end.bind(("127.0.0.1", 0))
    a.connect(b.getsockname())
    b.connect(a.getsockname())
    return a, b


def _connection() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        a = socket.create_connection(listener.getsockname())
        b, _ = listener.accept()
    for end in (a, b):
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return a, b


def _send_and_receive(seconds: float) -> Measured:
    """Return the time of sending 100 bytes through the loopback interface and receiving them."""
    a, b = _datagrams()
    with a, b:
        return repeated(_pass_through(a, b, SENT_BYTES[0]), seconds=seconds)


def _pass_through(a: socket.socket, b: socket.socket, size: int) -> Loop:
    """Return a loop that sends to one socket and receives from another, which may be the same."""
    sender, receiver = a.fileno(), b.fileno()

    def loop(repetitions: range) -> None:
        for _ in repetitions:
            send(sender, _address, size, 0)
            recv(receiver, _address, size, 0)

    return loop


def _switch_checksums_off(any_socket: socket.socket) -> None:
    """Let the sender compute checksums, as `ethtool -K dummy0 tx off` does."""
    import fcntl
    import struct

    value = ctypes.create_string_buffer(struct.pack("=II", ETHTOOL_STXCSUM, 0))
    request = struct.pack(f"{NAME_BYTES}sP", DEVICE.encode(), ctypes.addressof(value))
    fcntl.ioctl(any_socket.fileno(), SIOCETHTOOL, request.ljust(40, b"\0"))


def _in_namespace(work: Callable[[], tuple[Measured, ...]]) -> tuple[Measured, ...] | None:
    """Return the results of a function in new namespaces; None if the system does not allow them."""
    user = os.getuid()
    readable, writable = os.pipe()

    def serve() -> None:
        os.close(readable)
        if LIBC.unshare(CLONE_NEWUSER | CLONE_NEWNET):
            return
        Path("/proc/self/uid_map").write_text(f"0 {user} 1", encoding="ascii")
        results = work()
        text = " ".join(f"{result.value} {result.error}" for result in results)
        os.write(writable, text.encode())

    with other_process(serve), os.fdopen(readable, encoding="ascii") as file:
        os.close(writable)
        numbers = [float(word) for word in file.read().split()]
    pairs = zip(numbers[::2], numbers[1::2], strict=True)
    return tuple(Measured(value, error) for value, error in pairs) or None


# -- several processes ----------------------------------------------------------------------------


def _exchange(
    ends: tuple[socket.socket, socket.socket], seconds: float, size: int = SENT_BYTES[0]
) -> Measured:
    """Return the time in which another process on this core sends back what this one has sent."""
    a, b = ends

    def serve() -> None:
        while recv(b.fileno(), _address, size, 0) > 0:
            send(b.fileno(), _address, size, 0)

    with a, b, other_process(serve) as clock:
        return repeated(_pass_through(a, a, size), seconds=seconds, count=20, clock=clock)


def _wake(core: int, other_core: int) -> Measured:
    """Return the lower quartile of the times from a write to its reader on a core that sleeps.

    The shortest would be one in which the core did not sleep yet.
    """
    there, back = os.pipe(), os.pipe()

    def serve() -> None:
        os.sched_setaffinity(0, [other_core])
        while os.read(there[0], 1):
            os.write(back[1], b"%0*d" % (DIGITS, time.monotonic_ns()))

    times = []
    with on_cores(core), other_process(serve):
        for _ in range(WAKE_UPS):
            time.sleep(WAKE_INTERVAL_S)
            written_ns = time.monotonic_ns()
            os.write(there[1], b"x")
            times.append(int(os.read(back[0], DIGITS)) - written_ns)
    _close(*there, *back)
    times.sort()
    quartile, median = times[len(times) // 4], times[len(times) // 2]
    return Measured(quartile, median - quartile)


def _programs() -> dict[str, Measured]:
    program = shutil.which("true")
    empty, forks = _shell_loop(""), _shell_loop("(:);")
    costs = {"fork_ns": (forks - empty) / SHELL_LOOPS}
    if program is not None:
        costs["exec_ns"] = (_shell_loop(f"{program};") - forks) / SHELL_LOOPS
    return costs


def _shell_loop(command: str) -> Measured:
    script = SHELL_LOOP.format(count=SHELL_LOOPS, command=command)
    times = []
    for _ in range(8):
        before_s = _children_s()
        subprocess.run(["sh", "-c", script], check=True)
        times.append(1e9 * (_children_s() - before_s))
    return shortest(times)


def _children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
