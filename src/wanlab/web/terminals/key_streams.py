"""Keys that a page sends again after its connection was lost reach the program once.

A page keeps the keys that it has typed into a terminal until the server has acknowledged them. All
keys of one page for one terminal are a stream of bytes. When the page connects again, the server says
how many bytes of the stream it has received, and the page sends the rest. An older connection of the
same stream may still deliver bytes after that, because TCP retransmits them; they are ignored.
"""

from __future__ import annotations

MAX_STREAMS = 64
"""A terminal remembers this many streams without a connection."""


class KeyStreams:
    """The streams of keys of one terminal, by the names that their pages have chosen."""

    def __init__(self) -> None:
        self._received_bytes: dict[str, int] = {}
        self._newest: dict[str, KeyConnection] = {}

    def connect(self, stream: str) -> KeyConnection:
        """Return a connection of a stream. It replaces the stream's earlier one."""
        received_bytes = self._received_bytes.pop(stream, 0)
        self._received_bytes[stream] = received_bytes  # now the last in the order
        connection = self._newest[stream] = KeyConnection(self, stream)
        ended = [name for name in self._received_bytes if name not in self._newest]
        for oldest in ended[:-MAX_STREAMS]:
            del self._received_bytes[oldest]
        return connection

    def end(self, connection: KeyConnection) -> None:
        """Note that a connection has ended. Its stream may continue over another."""
        if self._newest.get(connection.stream) is connection:
            del self._newest[connection.stream]

    def receive(self, connection: KeyConnection, keys: bytes) -> bool:
        """Count keys that have arrived; return whether they are to be used."""
        if self._newest.get(connection.stream) is not connection:
            return False
        self._received_bytes[connection.stream] += len(keys)
        return True

    def received_bytes(self, stream: str) -> int:
        """Return how many bytes of a stream have been received, over all of its connections."""
        return self._received_bytes.get(stream, 0)


class KeyConnection:
    """A connection over which a page sends its keys."""

    def __init__(self, streams: KeyStreams, stream: str) -> None:
        self.stream = stream
        self._streams = streams

    @property
    def received_bytes(self) -> int:
        """How many bytes of the stream have been received."""
        return self._streams.received_bytes(self.stream)

    def receive(self, keys: bytes) -> bool:
        """Count keys that have arrived; return whether they are to be used."""
        return self._streams.receive(self, keys)

    def end(self) -> None:
        """Note that the connection has ended."""
        self._streams.end(self)
