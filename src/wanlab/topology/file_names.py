"""The endings of the names of other programs' topology files.

This module imports nothing, because the command line uses it whenever it starts.
"""

CONTAINERLAB, GNS3 = "containerlab", "GNS3"
GNS3_ARCHIVE = ".gns3project"
"""A portable project: an archive with the project and its files."""
FOREIGN = {CONTAINERLAB: (".clab.yml", ".clab.yaml"), GNS3: (".gns3", GNS3_ARCHIVE)}
YAML = (".yml", ".yaml")
"""A topology of containerlab may have any name in YAML; `wanlab.topology.foreign` reads its fields."""


def program_by_name(name: str) -> str:
    """Return the other program that writes files with such a name; "" if there is none."""
    for program, endings in FOREIGN.items():
        if name.lower().endswith(endings):
            return program
    return ""


def is_archive(name: str) -> bool:
    return name.lower().endswith(GNS3_ARCHIVE)


def stem(name: str) -> str:
    """Return the name of another program's file without its ending: `lab` of `lab.clab.yml`."""
    for ending in (*FOREIGN[CONTAINERLAB], *FOREIGN[GNS3], *YAML):
        if name.lower().endswith(ending):
            return name[: -len(ending)]
    return name
