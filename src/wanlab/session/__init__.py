"""Session files: all input and output of a machine, each with its time.

lines        one line of the file: its types, and the chain of checksums
frames       the frames of the channel in a line
files        the working folder at the start: writes it into the file, and restores it
recorder     writes a session file while a machine runs
recorded     reads a session file
user_inputs  what the user gave its programs
comparison   finds the first difference between a recording and its replay

`wanlab docs session-files` describes the format. Performing a session again is `wanlab.network.replay`.
"""

from .comparison import Difference, SessionComparison
from .files import STATE_FOLDER, restore
from .frames import SignalCall, StartCall
from .lines import FolderLine
from .recorded import RecordedSession, SessionError, SessionIdentity, parse, read
from .recorder import SessionRecorder
from .user_inputs import UserInput, user_inputs

__all__ = [
    "STATE_FOLDER",
    "Difference",
    "FolderLine",
    "RecordedSession",
    "SessionComparison",
    "SessionError",
    "SessionIdentity",
    "SessionRecorder",
    "SignalCall",
    "StartCall",
    "UserInput",
    "parse",
    "read",
    "restore",
    "user_inputs",
]
