"""What a student does, as the teacher's page shows it, and the end of a network by the teacher."""

from __future__ import annotations

from ..laboratory import Laboratory
from ..limits import FolderLimit
from ..protocol.messages import MessagePush
from .messages import Status, UnitState

BY_THE_TEACHER = "the teacher has stopped the network"


def status_of(laboratory: Laboratory, limit: FolderLimit | None = None) -> Status:
    """Return the activity of the student whose laboratory this is; `limit` is that of the folder."""
    lessons = laboratory.lessons
    plan = laboratory.session.plan
    phase = laboratory.session.snapshot().phase
    open_unit = lessons.unit.name if lessons.unit is not None else ""
    units = tuple(
        UnitState(it.unit, len(it.done), it.steps, it.points, it.of)
        for it in lessons.snapshot().lessons
        if it.done or it.points is not None or it.unit == open_unit
    )
    return Status(
        browsers=sum(not browser.looks for browser in laboratory.broadcast.browsers),
        phase=phase,
        nodes=len(plan.document.nodes) if plan is not None and phase != "stopped" else 0,
        open_unit=open_unit,
        units=units,
        disk_bytes=limit.used_bytes if limit else 0,
        hand_raised_s=lessons.hand_raised_s,
        idle_since_s=lessons.idle_since_s,
        is_full=limit is not None and limit.used_bytes > limit.limit_bytes,
    )


async def stop_network(laboratory: Laboratory, reason: str, hint: str = "") -> None:
    """Stop the network, and show the reason until the student closes it."""
    if laboratory.session.is_stopped:
        return
    laboratory.broadcast.push(MessagePush(level="error", what=reason, hint=hint))
    await laboratory.session.stop()
