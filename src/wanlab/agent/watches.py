"""Watches: the agent reads counters at regular instants, and collects events and packets in between.

Readings are sent in large pieces, under the number of the watch, because a message for each sample
would cost several times as much as the sample.

    source u32 | time u64, ns since the watch began | length u32 | the reading

On virtual time the instants are exact, and the agent runs before any other process, so a reading is of
that very instant.
"""

from __future__ import annotations

import os
import select
import struct
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .counters import Counters, Reader, Source
from .messages import Kind, encode, encode_json
from .namespaces import Namespaces
from .packets import PacketRing
from .ticker import SECOND_NS, Ticker
from .tracing import EventTrace

if TYPE_CHECKING:
    from typing import TypedDict

    class WatchDescription(TypedDict):
        """The answer to `watch`. `began_ns` is on the kernel's monotonic clock; `streams` has the
        description of each stream (its `describe`)."""

        began_ns: int
        streams: list[dict[str, object]]


PIECE = struct.Struct("<IQI")
MAX_BUFFERED_BYTES = 1 << 20
Stream = EventTrace | PacketRing

Send = Callable[[bytes], None]


class WatchTask:
    """Calls `readers` every `every_ns`, and drains `streams` every `drain_ns`."""

    def __init__(
        self,
        number: int,
        readers: list[Reader],
        streams: list[Stream],
        send: Send,
        *,
        every_ns: int,
        drain_ns: int,
        is_clock_read: bool,
    ) -> None:
        self._number = number
        self._readers = readers
        self._streams = streams
        self._send = send
        self._every_ns = every_ns
        self._buffer: list[bytes] = []
        self._buffered_bytes = 0
        self._passed = 0
        self._last_ns = -1
        self._is_clock_read = is_clock_read
        self._began_ns = time.monotonic_ns()  # takes no virtual time in the first process
        self._failure: OSError | None = None
        self.tickers = [Ticker(every_ns)]
        if streams and drain_ns < every_ns:
            self.tickers.append(Ticker(drain_ns))
        self.read(0)

    def describe(self) -> WatchDescription:
        streams = [stream.describe() for stream in self._streams]
        return {"began_ns": self._began_ns, "streams": streams}

    def ready(self, descriptor: int) -> None:
        """Handle a timer that has expired. An error is reported at the next call for this watch."""
        try:
            self._ready(descriptor)
        except OSError as error:
            self._failure = self._failure or error

    def _ready(self, descriptor: int) -> None:
        sampling, *draining = self.tickers
        if descriptor == sampling.descriptor:
            passed = sampling.passed()
            self._passed += passed
            if passed:
                self.read(self._passed * self._every_ns)
        for timer in draining:
            if descriptor == timer.descriptor and timer.passed():
                self._drain(max(self._last_ns, 0))

    def read(self, time_ns: int) -> None:
        """Take a sample. With `is_clock_read` its time is read from the clock instead of `time_ns`."""
        if self._is_clock_read:
            time_ns = time.monotonic_ns() - self._began_ns
        if time_ns == self._last_ns:
            return
        self._last_ns = time_ns
        for source, reader in enumerate(self._readers):
            self._add(source, time_ns, reader())
        self._drain(time_ns)

    def flush(self) -> None:
        """Send all readings so far, without taking another sample."""
        if self._failure is not None:
            raise self._failure
        self._send_readings()

    def snapshot(self, time_ns: int) -> None:
        """Take a sample between the regular ones, and send all readings so far."""
        if self._failure is not None:
            raise self._failure
        self.read(time_ns)
        self._send_readings()

    def end(self, time_ns: int) -> list[int]:
        """Take the last sample and end the streams. Return how much each stream has lost."""
        try:
            self.read(time_ns)
            for stream in self._streams:
                stream.stop()
            self._drain(time_ns)
            self._send_readings()
            if self._failure is not None:
                raise self._failure
            return [stream.lost() for stream in self._streams]
        finally:
            for stream in self._streams:
                stream.close()
            for timer in self.tickers:
                timer.close()

    def _drain(self, time_ns: int) -> None:
        for source, stream in enumerate(self._streams, len(self._readers)):
            data = stream.drain()
            if data:
                self._add(source, time_ns, data)

    def _add(self, source: int, time_ns: int, data: bytes) -> None:
        self._buffer += [PIECE.pack(source, time_ns, len(data)), data]
        self._buffered_bytes += len(data)
        if self._buffered_bytes > MAX_BUFFERED_BYTES:
            self._send_readings()

    def _send_readings(self) -> None:
        if self._buffer:
            self._send(encode(Kind.OUTPUT, self._number, b"".join(self._buffer)))
            self._buffer.clear()
            self._buffered_bytes = 0


class Watches:
    """All watches, by their numbers and by the descriptors of their timers."""

    def __init__(
        self, counters: Counters, namespaces: Namespaces, poll: select.epoll, send: Send
    ) -> None:
        self._counters = counters
        self._namespaces = namespaces
        self._poll = poll
        self._send = send
        self._watches: dict[int, WatchTask] = {}
        self._by_descriptor: dict[int, WatchTask] = {}
        # Run this code once before there is anything to measure: its first run takes more time.
        description = self.watch(0, [], [], SECOND_NS, SECOND_NS, is_clock_read=False)
        encode_json(Kind.REPLY, 0, [description, self.unwatch(0, 0)])

    def owns(self, descriptor: int) -> bool:
        return descriptor in self._by_descriptor

    def ready(self, descriptor: int) -> None:
        self._by_descriptor[descriptor].ready(descriptor)

    def watch(
        self,
        number: int,
        sources: list[Source],
        streams: list[dict[str, Any]],
        every_ns: int,
        drain_ns: int,
        is_clock_read: bool,
    ) -> WatchDescription:
        """Begin a watch. `streams` has the arguments of `EventTrace` or `PacketRing`."""
        opened: list[Stream] = []
        try:
            for index, options in enumerate(streams):
                opened.append(self._open(f"wanlab-{os.getpid()}-{number}-{index}", options))
            watch = WatchTask(
                number,
                [self._counters.reader(source) for source in sources],
                opened,
                self._send,
                every_ns=every_ns,
                drain_ns=drain_ns,
                is_clock_read=is_clock_read,
            )
        except BaseException:
            for stream in opened:
                stream.close()
            raise
        self._watches[number] = watch
        for timer in watch.tickers:
            self._by_descriptor[timer.descriptor] = watch
            self._poll.register(timer.descriptor, select.EPOLLIN)
        return watch.describe()

    def flush(self, number: int) -> None:
        self._watches[number].flush()

    def snapshot(self, number: int, time_ns: int) -> None:
        self._watches[number].snapshot(time_ns)

    def unwatch(self, number: int, time_ns: int) -> list[int]:
        """End a watch. Return how much each stream has lost."""
        watch = self._watches.pop(number)
        for timer in watch.tickers:
            del self._by_descriptor[timer.descriptor]
            self._poll.unregister(timer.descriptor)
        return watch.end(time_ns)

    def _open(self, name: str, options: dict[str, Any]) -> Stream:
        kind, node = options.pop("what"), options.pop("node")
        if kind == "events":
            return EventTrace(name, **options)
        with self._namespaces.inside_net(node):
            return PacketRing(**options)
