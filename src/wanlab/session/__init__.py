"""Session files: everything that went into a machine, with its instant, and what came out.

lines     one line of the file: frames as JSON, and the chain of checksums
files     the working folder as it was at the start: kept in the file, and restored from it
recorder  writes a session file while a machine runs
recorded  reads one
comparison  finds the first difference between what was recorded and what a replay says

`docs/sessions.md` describes the format. Performing a session again is `wanlab.network.replay`.
"""

from .comparison import Difference, SessionComparison
from .files import STATE_FOLDER, restore
from .recorded import RecordedSession, SessionError, SessionIdentity, parse, read
from .recorder import SessionRecorder

__all__ = [
    "STATE_FOLDER",
    "Difference",
    "RecordedSession",
    "SessionComparison",
    "SessionError",
    "SessionIdentity",
    "SessionRecorder",
    "parse",
    "read",
    "restore",
]
