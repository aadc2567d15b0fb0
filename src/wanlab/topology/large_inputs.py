"""What makes reading a large topology fast.

The data of a file has no cycles, and nothing of it is garbage until it has been read. But Python's
collector of cycles looks at all of it again and again while it grows, which takes half of the time for a
topology of 20,000 nodes. And thousands of links may name the same file of a trace or a schedule.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar, cast

Content = TypeVar("Content")

_contents: ContextVar[dict[str, object] | None] = ContextVar("_contents", default=None)
"""What the files that the topology names contain, by their names."""


@contextmanager
def reading_topology() -> Iterator[None]:
    """Do not collect cycles meanwhile, and read each named file once. Also a decorator."""
    was_enabled = gc.isenabled()
    gc.disable()
    token = _contents.set({})
    try:
        yield
    finally:
        _contents.reset(token)
        if was_enabled:
            gc.enable()


def content_of(name: str, read: Callable[[], Content]) -> Content:
    """Return the content of a file; within `reading_topology`, it is read once."""
    contents = _contents.get()
    if contents is None:
        return read()
    if name not in contents:
        contents[name] = read()
    return cast("Content", contents[name])
