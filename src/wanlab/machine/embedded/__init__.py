"""The embedded machine: our own kernel, booted in user space.

image       where the kernel is, and that it is whole
resources   memory, disk and CPU, looked at before
boot        the kernel's process
timetravel  the protocol of its clock: bytes in, messages out
calendar    who moves virtual time, and when
loop        the only place that waits on virtual time
machine     all of it together
"""

from .image import Image, find_image
from .machine import EmbeddedMachine

__all__ = ["EmbeddedMachine", "Image", "find_image"]
