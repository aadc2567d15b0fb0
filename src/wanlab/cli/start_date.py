"""The date at which a network on virtual time begins.

It is the same in every machine, so that a run repeats. A certificate made today needs another date.
"""

from __future__ import annotations

from datetime import UTC, datetime

from wanlab.errors import WanlabError

NOW = "now"
FORMAT = "%Y-%m-%d %H:%M:%S.%f"


def parse(text: str | None, option: str = "--date") -> str:
    """Return the date in UTC as date(1) takes it; "" for None. WanlabError if it is none."""
    if text is None:
        return ""
    if text == NOW:
        return datetime.now(UTC).strftime(FORMAT)
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise WanlabError(
            f'{option} "{text}" is not a date',
            'as in 2026-11-28, "2026-11-28 12:30", or now',
        ) from None
    return when.astimezone(UTC).strftime(FORMAT) if when.tzinfo else when.strftime(FORMAT)
