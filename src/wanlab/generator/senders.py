"""The client: it makes each transfer in a thread, over one connection."""

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
    SOL_SOCKET,
    STACK_BYTES,
    STREAM,
    TCP_NODELAY,
    TCP_NOTSENT_LOWAT,
    UNLIMITED,
    Address,
    Socket,
    disable_timer_slack,
    discard,
    now_ns,
    receive,
    send_bytes,
    send_until,
    set_congestion,
    sleep_until,
)
from .sizes import Sizes, exponential

NEVER_NS = 1 << 62
CLOSED_BY_SERVER = "the server has closed the connection"
# The limit of unsent bytes for a sender that stops at a time: what it has buffered is sent after that.
UNSENT_BYTES = 128 << 10


class Transfer:
    """One transfer, or one request and its answer. Its times count from the start of the traffic."""

    def __init__(self, number: int, start_ns: int, size_bytes: int) -> None:
        self.number = number
        self.start_ns = start_ns
        self.end_ns = 0
        """When the last byte arrived; for a request, the last byte of its answer."""
        self.size_bytes = size_bytes
        """The intended size; 0 if the transfer ends at a time."""
        self.received_bytes = 0
        """The number of bytes that have arrived; 0 until the transfer ends."""
        self.counted_bytes, self.counted_until_ns = 0, 0
        """The bytes that arrived until this time: the end of the sending time, or of the transfer."""
        self.error = ""

    @property
    def goodput_bps(self) -> float:
        """The rate of the data that arrived during the sending time; data in flight at its end does
        not count."""
        return self.counted_bytes * 8e9 / max(1, self.counted_until_ns - self.start_ns)

    def count_all(self) -> None:
        """Count everything that has arrived."""
        self.counted_bytes, self.counted_until_ns = self.received_bytes, self.end_ns


class Sender:
    """The destination and the options that all connections of one run share."""

    def __init__(
        self, address: Address, family: int, congestion: str, pacing_bps: int, dscp: int = 0
    ) -> None:
        self._address, self._family = address, family
        self._congestion = congestion.encode()
        self._pacing_bytes_ps = max(1, pacing_bps // 8) if pacing_bps else 0
        self._traffic_class = dscp << 2  # RFC 2474: the two lower bits are ECN's
        disable_timer_slack()
        self._began_ns = now_ns()
        self._running = 0
        self._count_lock = _thread.allocate_lock()
        self._all_ended = _thread.allocate_lock()
        """Held while connections are running."""
        _thread.stack_size(STACK_BYTES)

    # -- kinds of traffic -------------------------------------------------------------------------

    def bulk(self, count: int, size: int, until_ns: int) -> list[Transfer]:
        """Make `count` transfers at once, each of `size` bytes (0: unlimited until `until_ns`)."""
        transfers = [Transfer(number, 0, size) for number in range(count)]
        stop_ns = self._began_ns + until_ns
        opened: list[Socket] = []

        def send(transfer: Transfer) -> None:
            with self._connection(STREAM, size, 0 if size else stop_ns) as connection:
                if not size:
                    connection.setsockopt(IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNSENT_BYTES)
                opened.append(connection)
                if not size and stop_ns <= now_ns():
                    _shut_down(connection)  # connected after the others had been stopped
                self._send_stream(connection, transfer, transfer.size_bytes or UNLIMITED)

        self._begin((send, transfer) for transfer in transfers)
        if not size:
            if self._wait_until(stop_ns):
                return transfers  # none could connect
            for connection in opened:
                _shut_down(connection)
        self._finish()
        return transfers

    def onoff(
        self, count: int, periods: list[list[tuple[int, int]]], until_ns: int
    ) -> list[Transfer]:
        """Run sources that alternate between sending as fast as TCP lets them, and silence.

        `periods`: the begin and end of each sending period in ns, for each source.
        """
        transfers = [Transfer(number, 0, 0) for number in range(count)]

        def send(transfer: Transfer) -> None:
            with self._connection(STREAM, 0, self._began_ns + until_ns) as connection:
                for begin_ns, end_ns in periods[transfer.number]:
                    sleep_until(self._began_ns + begin_ns)
                    stop_ns = self._began_ns + min(end_ns, until_ns)
                    send_until(connection, stop_ns, self._pacing_bytes_ps, UNSENT_BYTES)
                self._send_stream(connection, transfer, 0)

        self._begin((send, transfer) for transfer in transfers)
        self._finish()
        return transfers

    def arrivals(self, times_ns: list[int], sizes: list[int]) -> list[Transfer]:
        """Make a transfer at each of these times, each over a new connection."""
        pairs = enumerate(zip(times_ns, sizes, strict=True))
        transfers = [Transfer(number, time_ns, size) for number, (time_ns, size) in pairs]

        def send(transfer: Transfer) -> None:
            with self._connection(STREAM, transfer.size_bytes) as connection:
                self._send_stream(connection, transfer, transfer.size_bytes)

        for transfer in transfers:
            sleep_until(self._began_ns + transfer.start_ns)
            self._begin([(send, transfer)])
        self._finish()
        return transfers

    def requests(
        self,
        users: int,
        request_bytes: int,
        answers: Sizes,
        think_ns: int,
        max_requests: int,
        until_ns: int,
        seed: int,
    ) -> list[Transfer]:
        """Run users that each request, wait for the answer, think, and repeat, over one connection.

        Each makes `max_requests` requests (0: unlimited) until `until_ns` (0: unlimited).
        """
        transfers: list[Transfer] = []

        def run_user(user: Transfer) -> None:
            numbers = Random(seed * 1_000_003 + user.number)
            with self._connection(REQUESTS, 0) as connection:
                connection.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
                for _ in range(max_requests or UNLIMITED):
                    size = answers.draw(numbers)
                    transfer = Transfer(user.number, self._elapsed_ns(), size)
                    if until_ns and transfer.start_ns >= until_ns:
                        break
                    connection.sendall(REQUEST.pack(request_bytes, size))
                    send_bytes(connection, request_bytes - REQUEST.size)
                    transfer.received_bytes = discard(connection, size)
                    transfer.end_ns = self._elapsed_ns()
                    transfer.count_all()
                    transfers.append(transfer)
                    if transfer.received_bytes < size:
                        transfer.error = CLOSED_BY_SERVER
                        break
                    if think_ns:
                        pause_ns = round(exponential(numbers, think_ns))
                        sleep_until(self._began_ns + transfer.end_ns + pause_ns)

        user_flows = [Transfer(number, 0, 0) for number in range(users)]
        self._begin((run_user, user) for user in user_flows)
        self._finish()
        failed = [user for user in user_flows if user.error]
        return sorted(transfers + failed, key=lambda transfer: transfer.start_ns)

    def datagrams(
        self, packets: Iterable[tuple[int, int]], max_size: int, number: int, patience_ns: int
    ) -> dict[str, float]:
        """Send datagrams of these times and sizes; return the server's report on them.

        The server waits for late datagrams for `patience_ns`.
        """
        udp = Socket(self._family, _socket.SOCK_DGRAM)
        self._mark(udp)
        udp.connect(self._address)
        buffer = memoryview(bytearray(max_size))
        with self._connection(DATAGRAMS, number, patience_ns) as control:
            if not receive(control, SENT.size):
                raise ConnectionResetError(0, CLOSED_BY_SERVER)
            self._began_ns = now_ns()
            sent = 0
            for at_ns, size in packets:
                sleep_until(self._began_ns + at_ns)
                sent += 1
                DATAGRAM.pack_into(buffer, 0, MAGIC, number, sent, now_ns())
                udp.send(buffer[:size])
            control.sendall(SENT.pack(sent))
            data = receive(control, DATAGRAM_REPORT.size)
        if not data:
            raise ConnectionResetError(0, CLOSED_BY_SERVER)
        names = ("datagrams", "bytes", "duplicates", "late", "first_ns", "last_ns")
        delays = ("least_delay_ns", "mean_delay_ns", "greatest_delay_ns", "greatest", "jitter_ns")
        report = {
            "sent": sent,
            **dict(zip(names + delays, DATAGRAM_REPORT.unpack(data), strict=True)),
        }
        for name in ("first_ns", "last_ns"):
            report[name] -= self._began_ns if report["datagrams"] else 0
        return report

    # -- one connection ---------------------------------------------------------------------------

    def _connection(self, kind: int, first: int, second: int = 0) -> Socket:
        """Connect, and send the header (see `messages`)."""
        connection = Socket(self._family, _socket.SOCK_STREAM)
        try:
            set_congestion(connection, self._congestion)
            self._mark(connection)
            if self._pacing_bytes_ps:
                rate = self._pacing_bytes_ps.to_bytes(8, "little")
                connection.setsockopt(SOL_SOCKET, SO_MAX_PACING_RATE, rate)
            connection.connect(self._address)
            connection.sendall(HEADER.pack(MAGIC, kind, self._congestion, first, second))
        except BaseException:
            connection.close()
            raise
        return connection

    def _mark(self, sending: Socket) -> None:
        """Set the DSCP of a socket's packets; an IPv6 socket may send IPv4, too."""
        if self._traffic_class:
            sending.setsockopt(_socket.IPPROTO_IP, _socket.IP_TOS, self._traffic_class)
            if self._family == _socket.AF_INET6:
                sending.setsockopt(_socket.IPPROTO_IPV6, _socket.IPV6_TCLASS, self._traffic_class)

    def _send_stream(self, connection: Socket, transfer: Transfer, size: int) -> None:
        """Send `size` bytes, and record the server's report in the transfer."""
        send_bytes(connection, size)
        _shut_down(connection)
        report = receive(connection, REPORT.size)
        if not report:
            raise ConnectionResetError(0, CLOSED_BY_SERVER)
        transfer.received_bytes, last_ns, early, early_ns = REPORT.unpack(report)
        transfer.end_ns = last_ns - self._began_ns
        transfer.counted_bytes, transfer.counted_until_ns = early, early_ns - self._began_ns
        if transfer.size_bytes:
            transfer.count_all()

    def _elapsed_ns(self) -> int:
        return now_ns() - self._began_ns

    # -- all connections --------------------------------------------------------------------------

    def _begin(self, jobs: Iterable[tuple[Callable[[Transfer], None], Transfer]]) -> None:
        """Start a thread for each connection."""
        for connect, transfer in jobs:
            with self._count_lock:
                if not self._running:
                    self._all_ended.acquire(blocking=False)
                self._running += 1
            _thread.start_new_thread(self._run, (connect, transfer))

    def _run(self, connect: Callable[[Transfer], None], transfer: Transfer) -> None:
        try:
            connect(transfer)
        except OSError as error:
            transfer.error = error.strerror or str(error)
            transfer.end_ns = self._elapsed_ns()
        with self._count_lock:
            self._running -= 1
            if not self._running:
                self._all_ended.release()

    def _finish(self) -> None:
        """Wait until all connections have ended."""
        self._wait_until(NEVER_NS)

    def _wait_until(self, deadline_ns: int) -> bool:
        """Wait until `deadline_ns` or the end of all connections; return whether all have ended."""
        with self._count_lock:
            if not self._running:
                return True
        left_s = -1.0 if deadline_ns == NEVER_NS else max(0, deadline_ns - now_ns()) / 1e9
        if not self._all_ended.acquire(True, left_s):
            return False
        self._all_ended.release()
        return True


def _shut_down(connection: Socket) -> None:
    try:
        connection.shutdown(_socket.SHUT_WR)
    except OSError:  # the server has closed the connection
        return
