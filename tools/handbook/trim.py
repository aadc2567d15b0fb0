"""Remove from the built site what its pages do not use, to keep the wheel small."""

from __future__ import annotations

import shutil
from pathlib import Path


def trim(site: Path) -> None:
    """Remove source maps, search in other languages than English, and files for web servers."""
    for path in site.rglob("*.map"):
        path.unlink()
    shutil.rmtree(site / "assets" / "javascripts" / "lunr", ignore_errors=True)
    for name in ("sitemap.xml", "sitemap.xml.gz", "search/search_index.json"):
        (site / name).unlink(missing_ok=True)
