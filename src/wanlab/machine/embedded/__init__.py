"""The embedded machine: our own kernel, booted in user space.

image        finds the kernel and checks that it is complete
first_use    builds the kernel if there is none
resources    checks and claims memory, disk and a CPU before the boot
confinement  restricts what the kernel's processes may do to the computer
host_calls   the system calls of the computer that they may make
broker       changes the files of the working folder for them
traps        how it takes over system calls
boot         the kernel's process
timetravel   the protocol of its clock: bytes in, messages out
calendar     moves virtual time
loop         waits on virtual time; nothing else does
machine      all of it together
"""

from .confinement import confine_files, landlock_version
from .first_use import recipe_program
from .image import Image, built_kernels, find_image, is_known, kernels_folder
from .machine import EmbeddedMachine
from .resources import max_processes
from .traps import MODES, other_mode, protecting_mode, read_mode

__all__ = [
    "MODES",
    "EmbeddedMachine",
    "Image",
    "built_kernels",
    "confine_files",
    "find_image",
    "is_known",
    "kernels_folder",
    "landlock_version",
    "max_processes",
    "other_mode",
    "protecting_mode",
    "read_mode",
    "recipe_program",
]
