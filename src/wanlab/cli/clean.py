"""`wanlab clean`: takes away what killed runs have left."""

from __future__ import annotations

from wanlab.machine.stale import find_stale


def run(*, dry_run: bool = False) -> int:
    """Says what it finds and removes exactly that."""
    found = find_stale()
    for item in found:
        if not dry_run:
            item.remove()
        print(f"{'would remove' if dry_run else 'removed'}: {item.what}")
    if not found:
        print("nothing to clean")
    return 0
