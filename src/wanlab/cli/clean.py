"""`wanlab clean`: takes away what killed runs have left."""

from __future__ import annotations

from wanlab import leftovers


def run(*, dry_run: bool = False) -> int:
    """Says what it finds and removes exactly that."""
    found = leftovers()
    for leftover in found:
        if not dry_run:
            leftover.remove()
        print(f"{'would remove' if dry_run else 'removed'}: {leftover.what}")
    if not found:
        print("nothing to clean")
    return 0
