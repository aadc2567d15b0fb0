"""The side that sends: a thread for each connection, and what becomes of each."""

from __future__ import annotations

import _socket
import _thread
from _random import Random
from collections.abc import Callable, Iterable

from .messages import (
    DATAGRAM,
    DATAGRAM_REPORT,
    DATAGRAMS,
    HEADER,
    IPPROTO_TCP,
    MAGIC,
    REPORT,
    REQUEST,
    REQUESTS,
    SENT,
    SO_MAX_PACING_RATE,
    SO_SNDTIMEO,
    SOL_SOCKET,
    STACK_BYTES,
    STREAM,
    TCP_NODELAY,
    TCP_NOTSENT_LOWAT,
    WITHOUT_END,
    Address,
    Socket,
    be_punctual,
    now_ns,
    receive,
    send_bytes,
    set_congestion,
    sleep_until,
    throw_away,
    timeval,
)
from .sizes import Sizes, exponential

FOREVER_NS = 1 << 62
# What may wait in a sender that will be told to stop: it still goes out after that.
UNSENT_BYTES = 128 << 10


class Flow:
    """One transfer. Its times count from the beginning of the traffic."""

    def __init__(self, number: int, start_ns: int, size: int) -> None:
        self.number = number
        self.start_ns = start_ns
        self.end_ns = 0
        """When the last byte had arrived; the asker has the answer then."""
        self.bytes = size
        """Asked for; then what has arrived."""
        self.goodput_bps = 0.0
        """Of what arrived while it was to send; without what was still under way then."""
        self.error = ""


class Sender:
    """Where to, and how: what all connections of one run have in common."""

    def __init__(self, address: Address, family: int, congestion: str, pacing_bps: int) -> None:
        self._address, self._family = address, family
        self._congestion = congestion.encode()
        self._pacing_bytes_ps = max(1, pacing_bps // 8) if pacing_bps else 0
        be_punctual()
        self._began_ns = now_ns()
        self._running = 0
        self._all_done = _thread.allocate_lock()
        self._waits = _thread.allocate_lock()
        _thread.stack_size(STACK_BYTES)

    # -- kinds of traffic -------------------------------------------------------------------------

    def bulk(self, count: int, size: int, until_ns: int) -> list[Flow]:
        """`count` flows at once, each of `size` bytes, or (0) until then."""
        flows = [Flow(number, 0, size) for number in range(count)]
        looks_ns = self._began_ns + until_ns
        opened: list[Socket] = []

        def send(flow: Flow) -> None:
            with self._connection(STREAM, size, 0 if size else looks_ns) as connection:
                if not size:
                    connection.setsockopt(IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNSENT_BYTES)
                opened.append(connection)
                if not size and self._began_ns + until_ns <= now_ns():
                    _end(connection)  # it has got through too late, when the others had been ended
                self._send_stream(connection, flow, flow.bytes or WITHOUT_END)

        self._begin((send, flow) for flow in flows)
        if not size:
            if self._ends_before(looks_ns):
                return flows  # none got through
            for connection in opened:
                _end(connection)
        self._finish()
        return flows

    def onoff(self, count: int, periods: list[list[tuple[int, int]]], until_ns: int) -> list[Flow]:
        """Sources that send as fast as they may for some time, and then are silent for some time.
        `periods`: (begin, end) of each sending, for each source."""
        flows = [Flow(number, 0, 0) for number in range(count)]

        def send(flow: Flow) -> None:
            with self._connection(STREAM, 0, self._began_ns + until_ns) as connection:
                connection.setsockopt(IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNSENT_BYTES)
                for begin_ns, end_ns in periods[flow.number]:
                    sleep_until(self._began_ns + begin_ns)
                    left_ns = min(end_ns, until_ns) - self._passed_ns()
                    if left_ns > 0:
                        connection.setsockopt(SOL_SOCKET, SO_SNDTIMEO, timeval(left_ns))
                        send_bytes(connection, WITHOUT_END)
                self._send_stream(connection, flow, 0)

        self._begin((send, flow) for flow in flows)
        self._finish()
        return flows

    def arrivals(self, instants_ns: list[int], sizes: list[int]) -> list[Flow]:
        """A connection of its own for each, at its instant."""
        pairs = enumerate(zip(instants_ns, sizes, strict=True))
        flows = [Flow(number, at_ns, size) for number, (at_ns, size) in pairs]

        def send(flow: Flow) -> None:
            with self._connection(STREAM, flow.bytes) as connection:
                self._send_stream(connection, flow, flow.bytes)

        for flow in flows:
            sleep_until(self._began_ns + flow.start_ns)
            self._begin([(send, flow)])
        self._finish()
        return flows

    def requests(
        self,
        users: int,
        request_bytes: int,
        answers: Sizes,
        think_ns: int,
        most: int,
        until_ns: int,
        seed: int,
    ) -> list[Flow]:
        """Users that each ask, wait for the answer, think, and ask again, over one connection."""
        flows: list[Flow] = []

        def ask(user: Flow) -> None:
            numbers = Random(seed * 1_000_003 + user.number)
            with self._connection(REQUESTS, 0) as connection:
                connection.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
                for _ in range(most or WITHOUT_END):
                    size = answers.draw(numbers)
                    flow = Flow(user.number, self._passed_ns(), size)
                    if until_ns and flow.start_ns >= until_ns:
                        break
                    connection.sendall(REQUEST.pack(request_bytes, size))
                    send_bytes(connection, request_bytes - REQUEST.size)
                    flow.bytes = throw_away(connection, size)
                    flow.end_ns = self._passed_ns()
                    flow.goodput_bps = flow.bytes * 8e9 / max(1, flow.end_ns - flow.start_ns)
                    flows.append(flow)
                    if flow.bytes < size:
                        flow.error = "the other side has ended"
                        break
                    if think_ns:
                        pause_ns = round(exponential(numbers, think_ns))
                        sleep_until(self._began_ns + flow.end_ns + pause_ns)

        crowd = [Flow(number, 0, 0) for number in range(users)]
        self._begin((ask, user) for user in crowd)
        self._finish()
        return sorted(flows + [user for user in crowd if user.error], key=lambda f: f.start_ns)

    def datagrams(
        self, interval_ns: float, size: int, count: int, number: int, patience_ns: int
    ) -> dict[str, float]:
        """At a constant rate; what the other side says of them."""
        outward = Socket(self._family, _socket.SOCK_DGRAM)
        outward.connect(self._address)
        packet = bytearray(size)
        with self._connection(DATAGRAMS, number, patience_ns) as control:
            if not receive(control, SENT.size):
                raise ConnectionResetError(0, "the other side has ended")
            self._began_ns = now_ns()
            for place in range(count):
                sleep_until(self._began_ns + round(place * interval_ns))
                DATAGRAM.pack_into(packet, 0, MAGIC, number, place + 1, now_ns())
                outward.send(packet)
            control.sendall(SENT.pack(count))
            told = receive(control, DATAGRAM_REPORT.size)
        if not told:
            raise ConnectionResetError(0, "the other side has ended")
        names = ("datagrams", "bytes", "duplicates", "late", "first_ns", "last_ns")
        delays = ("least_delay_ns", "mean_delay_ns", "greatest_delay_ns", "greatest", "jitter_ns")
        report = dict(zip(names + delays, DATAGRAM_REPORT.unpack(told), strict=True))
        for name in ("first_ns", "last_ns"):
            report[name] -= self._began_ns if report["datagrams"] else 0
        return report

    # -- one connection ---------------------------------------------------------------------------

    def _connection(self, kind: int, first: int, second: int = 0) -> Socket:
        connection = Socket(self._family, _socket.SOCK_STREAM)
        try:
            set_congestion(connection, self._congestion)
            if self._pacing_bytes_ps:
                rate = self._pacing_bytes_ps.to_bytes(8, "little")
                connection.setsockopt(SOL_SOCKET, SO_MAX_PACING_RATE, rate)
            connection.connect(self._address)
            connection.sendall(HEADER.pack(MAGIC, kind, self._congestion, first, second))
        except BaseException:
            connection.close()
            raise
        return connection

    def _send_stream(self, connection: Socket, flow: Flow, size: int) -> None:
        send_bytes(connection, size)
        _end(connection)
        told = receive(connection, REPORT.size)
        if not told:
            raise ConnectionResetError(0, "the other side has ended")
        flow.bytes, last_ns, seen, seen_ns = REPORT.unpack(told)
        flow.end_ns = last_ns - self._began_ns
        until_ns = seen_ns - self._began_ns if seen else flow.end_ns
        flow.goodput_bps = (seen or flow.bytes) * 8e9 / max(1, until_ns - flow.start_ns)

    def _passed_ns(self) -> int:
        return now_ns() - self._began_ns

    # -- all connections --------------------------------------------------------------------------

    def _begin(self, jobs: Iterable[tuple[Callable[[Flow], None], Flow]]) -> None:
        for work, flow in jobs:
            with self._all_done:
                if not self._running:
                    self._waits.acquire(blocking=False)
                self._running += 1
            _thread.start_new_thread(self._do, (work, flow))

    def _do(self, work: Callable[[Flow], None], flow: Flow) -> None:
        try:
            work(flow)
        except OSError as error:
            flow.error = error.strerror or str(error)
            flow.end_ns = self._passed_ns()
            flow.bytes = 0
        with self._all_done:
            self._running -= 1
            if not self._running:
                self._waits.release()

    def _finish(self) -> None:
        """Waits until no connection is left."""
        self._ends_before(FOREVER_NS)

    def _ends_before(self, instant_ns: int) -> bool:
        """Waits until no connection is left, or until then."""
        with self._all_done:
            if not self._running:
                return True
        left_s = -1.0 if instant_ns == FOREVER_NS else max(0, instant_ns - now_ns()) / 1e9
        if not self._waits.acquire(True, left_s):
            return False
        self._waits.release()
        return True


def _end(connection: Socket) -> None:
    try:
        connection.shutdown(_socket.SHUT_WR)
    except OSError:  # the other side was faster
        return
