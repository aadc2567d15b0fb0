"""The embedded machine: our own kernel, booted in user space.

image       where the kernel is, and that it is whole
resources   memory, disk and CPU, looked at before
boot        the kernel's process
timetravel  the protocol of its clock: bytes in, messages out
calendar    who moves virtual time, and when
loop        the only place that waits
machine     all of it together
"""

from .image import Image, find_image
from .machine import DEFAULT_LINE_RATE_BPS, READY_NS, EmbeddedMachine

__all__ = ["DEFAULT_LINE_RATE_BPS", "READY_NS", "EmbeddedMachine", "Image", "find_image"]
