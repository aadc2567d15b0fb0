"""Keeps the beginning of what a program writes: it may write without end."""

from __future__ import annotations


def keep_beginning(buffer: bytearray, data: bytes, max_bytes: int) -> bool:
    """Append the data as far as the buffer may grow; return whether that was all of it."""
    left_bytes = max(0, max_bytes - len(buffer))
    buffer += data[:left_bytes]
    return len(data) <= left_bytes
