"""The command line: `wanlab COMMAND`. It translates arguments and decides nothing.

Each command has a file, which is imported when the command runs, so that no command waits for the
libraries of another one.

Exit status: 0; 1 for an error that was reported; 2 for wrong usage; 128 + N if signal N ended wanlab
(130: Ctrl-C). `wanlab exec` exits with the status of its command.
"""


def main() -> None:
    """Run the command line and exit."""
    # Until something is acquired, Ctrl-C ends the process as it ends programs in C. Python's own
    # handler would print a traceback of the module that is being imported. So this comes before all
    # imports, and uses `_signal`, because `signal` imports other modules.
    import _signal  # type: ignore[import-not-found]

    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    # `env --block-signal=INT wanlab` blocks Ctrl-C until this line; see wanlab docs limitations.
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, {_signal.SIGINT})
    from .program import run

    run()
