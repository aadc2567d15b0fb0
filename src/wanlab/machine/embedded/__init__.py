"""The embedded machine: our own kernel, booted in user space.

image        finds the kernel and checks that it is complete
first_use    builds the kernel if there is none
resources    checks and claims memory, disk and a CPU before the boot
confinement  restricts what the kernel's process may do to the computer
boot         the kernel's process
timetravel   the protocol of its clock: bytes in, messages out
calendar     moves virtual time
loop         waits on virtual time; nothing else does
machine      all of it together
"""

from .confinement import confine_files, landlock_version
from .first_use import recipe_program
from .image import IMAGE_VARIABLE, Image, built_kernels, find_image, is_known, kernels_folder
from .machine import EmbeddedMachine

__all__ = [
    "IMAGE_VARIABLE",
    "EmbeddedMachine",
    "Image",
    "built_kernels",
    "confine_files",
    "find_image",
    "is_known",
    "kernels_folder",
    "landlock_version",
    "recipe_program",
]
