"""`wanlab clean`: removes files and processes that killed runs have left."""

from __future__ import annotations

from wanlab.machine.stale import find_stale


def run(*, dry_run: bool = False) -> int:
    """Remove stale items and print each; with `dry_run` only print them."""
    items = find_stale()
    for item in items:
        if not dry_run:
            item.remove()
        print(f"{'would remove' if dry_run else 'removed'}: {item.what}")
    if not items:
        print("nothing to clean")
    return 0
