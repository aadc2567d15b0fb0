"""Watches: counters read at regular instants, and events and packets between them, by the agent itself.

What was read is told in large pieces, under the number of the watch: an answer to each sample would
cost several times the sample.

    source u32 | time u64, ns since the watch began | length u32 | what was read

On virtual time the instants are exact, and the agent goes before any other process: what it reads is of
that instant.
"""

from __future__ import annotations

import os
import select
import struct
import time
from collections.abc import Callable
from typing import Any

from .counters import Counters, Reader, Source
from .messages import Kind, encode, encode_json
from .namespaces import Namespaces
from .packets import PacketRing
from .timers import SECOND_NS, Timer
from .tracing import EventTrace

PIECE = struct.Struct("<IQI")
MOST_KEPT_BYTES = 1 << 20

Send = Callable[[bytes], None]


class Watch:
    """Reads `sources` every `every_ns`, and drains `streams` every `drain_ns`."""

    def __init__(
        self,
        number: int,
        readers: list[Reader],
        streams: list[EventTrace | PacketRing],
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
        self._kept: list[bytes] = []
        self._kept_bytes = 0
        self._passed = 0
        self._last_ns = -1
        self._is_clock_read = is_clock_read
        self._began_ns = time.monotonic_ns()  # which costs the first process nothing
        self._failure: OSError | None = None
        self.timers = [Timer(every_ns)]
        if streams and drain_ns < every_ns:
            self.timers.append(Timer(drain_ns))
        self.read(0)

    def about(self) -> dict[str, Any]:
        return {"began_ns": self._began_ns, "streams": [s.about() for s in self._streams]}

    def ready(self, descriptor: int) -> None:
        """One of its timers says that it is time. What fails is told when the watch is asked next."""
        try:
            self._ready(descriptor)
        except OSError as error:
            self._failure = self._failure or error

    def _ready(self, descriptor: int) -> None:
        sampling, *draining = self.timers
        if descriptor == sampling.descriptor:
            passed = sampling.passed()
            self._passed += passed
            if passed:
                self.read(self._passed * self._every_ns)
        for timer in draining:
            if descriptor == timer.descriptor and timer.passed():
                self._drain(max(self._last_ns, 0))

    def read(self, time_ns: int) -> None:
        """A sample. On the computer's own clock its time is read, `time_ns` is not used."""
        if self._is_clock_read:
            time_ns = time.monotonic_ns() - self._began_ns
        if time_ns == self._last_ns:
            return
        self._last_ns = time_ns
        for place, reader in enumerate(self._readers):
            self._keep(place, time_ns, reader())
        self._drain(time_ns)

    def flush(self) -> None:
        """All that was read so far. It is not looked at for that."""
        if self._failure is not None:
            raise self._failure
        self._tell()

    def snapshot(self, time_ns: int) -> None:
        """A sample between the regular ones, and all that was read so far."""
        if self._failure is not None:
            raise self._failure
        self.read(time_ns)
        self._tell()

    def end(self, time_ns: int) -> list[int]:
        """The last sample, and the end of the streams. How much each stream has lost."""
        try:
            self.read(time_ns)
            for stream in self._streams:
                stream.stop()
            self._drain(time_ns)
            self._tell()
            if self._failure is not None:
                raise self._failure
            return [stream.lost() for stream in self._streams]
        finally:
            for stream in self._streams:
                stream.close()
            for timer in self.timers:
                timer.close()

    def _drain(self, time_ns: int) -> None:
        for place, stream in enumerate(self._streams, len(self._readers)):
            data = stream.drain()
            if data:
                self._keep(place, time_ns, data)

    def _keep(self, place: int, time_ns: int, data: bytes) -> None:
        self._kept += [PIECE.pack(place, time_ns, len(data)), data]
        self._kept_bytes += len(data)
        if self._kept_bytes > MOST_KEPT_BYTES:
            self._tell()

    def _tell(self) -> None:
        if self._kept:
            self._send(encode(Kind.OUTPUT, self._number, b"".join(self._kept)))
            self._kept.clear()
            self._kept_bytes = 0


class Watches:
    """All watches, by number and by the descriptors of their timers."""

    def __init__(
        self, counters: Counters, namespaces: Namespaces, poll: select.epoll, send: Send
    ) -> None:
        self._counters = counters
        self._namespaces = namespaces
        self._poll = poll
        self._send = send
        self._watches: dict[int, Watch] = {}
        self._by_descriptor: dict[int, Watch] = {}
        # Once now, before there is anything to measure: what runs for the first time takes time.
        told = self.watch(0, [], [], SECOND_NS, SECOND_NS, is_clock_read=False)
        encode_json(Kind.REPLY, 0, [told, self.unwatch(0, 0)])

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
    ) -> dict[str, Any]:
        """Begins one. What its streams are about: see `EventTrace` and `PacketRing`."""
        opened: list[EventTrace | PacketRing] = []
        try:
            for place, wanted in enumerate(streams):
                opened.append(self._open(f"wanlab-{os.getpid()}-{number}-{place}", **wanted))
            watch = Watch(
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
        for timer in watch.timers:
            self._by_descriptor[timer.descriptor] = watch
            self._poll.register(timer.descriptor, select.EPOLLIN)
        return watch.about()

    def flush(self, number: int) -> None:
        self._watches[number].flush()

    def snapshot(self, number: int, time_ns: int) -> None:
        self._watches[number].snapshot(time_ns)

    def unwatch(self, number: int, time_ns: int) -> list[int]:
        """Ends one."""
        watch = self._watches.pop(number)
        for timer in watch.timers:
            del self._by_descriptor[timer.descriptor]
            self._poll.unregister(timer.descriptor)
        return watch.end(time_ns)

    def _open(self, name: str, what: str, node: str, **wanted: Any) -> EventTrace | PacketRing:
        if what == "events":
            return EventTrace(name, **wanted)
        with self._namespaces.inside_net(node):
            return PacketRing(**wanted)
