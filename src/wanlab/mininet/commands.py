"""Commands of the machine's root namespace, and the output of many processes at once."""

from __future__ import annotations

import codecs
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from select import POLLIN, poll
from subprocess import PIPE, STDOUT, Popen, call, check_call
from typing import Any, NamedTuple, TypeVar, cast

from wanlab.errors import CommandError

from .log import error, output
from .pause import pause

Encoding = "utf-8"

Key = TypeVar("Key")


def decode(buf: bytes | str) -> str:
    return buf if isinstance(buf, str) else buf.decode(Encoding, "replace")


def encode(buf: bytes | str) -> bytes:
    return buf if isinstance(buf, bytes) else buf.encode(Encoding)


def getincrementaldecoder(errors: str = "replace") -> codecs.IncrementalDecoder:
    """Return a decoder that accepts bytes in pieces."""
    return codecs.getincrementaldecoder(Encoding)(errors)


def why_not_started(error: FileNotFoundError | PermissionError) -> str:
    """Return why a program cannot be started.

    EACCES also stands for a missing program if a folder of PATH must not be read (execvp(3)).
    """
    if isinstance(error, FileNotFoundError):
        return "there is no such program"
    return "there is no such program, or it must not be executed (chmod +x makes a file executable)"


def words_of(command: Iterable[object]) -> list[str]:
    """Return the words of a command, which is one string, several words, or one list of words."""
    arguments = list(command)
    if len(arguments) == 1:
        only = arguments[0]
        if isinstance(only, str):
            return shlex.split(only)
        return [str(word) for word in cast("Iterable[object]", only)]
    return [str(word) for word in arguments]


def run(cmd: str) -> int:
    """Run a command and return its exit status."""
    return call(shlex.split(cmd))


def checkRun(cmd: str) -> int:
    """Run a command. Raises CalledProcessError if it fails."""
    return check_call(shlex.split(cmd))


def quietRun(cmd: object, **kwargs: object) -> str:
    """Run a command and return its output, standard error included."""
    return errRun(cmd, stderr=STDOUT, **kwargs)[0]


oldQuietRun = quietRun


class CmdResult(NamedTuple):
    """The output of a command, and its exit status."""

    out: str
    err: str
    ret: int


def errRun(*cmd: object, **kwargs: Any) -> CmdResult:
    """Run a command and return (stdout, stderr, exit status). With `echo` show them as well.

    Other keyword arguments are those of subprocess.Popen. Raises CommandError if the program does
    not exist.
    """
    echo = kwargs.pop("echo", False)
    options = {"stdout": PIPE, "stderr": PIPE, **kwargs}
    if options.get("shell"):
        only = cmd[0] if len(cmd) == 1 else cmd
        words = only if isinstance(only, list | tuple) else [only]
        command: str | list[str] = " ".join(map(str, words))
    else:
        command = words_of(cmd)
    if echo:
        output(command if isinstance(command, str) else " ".join(command), "\n")
    try:
        done = subprocess.run(command, check=False, **options)
    except (FileNotFoundError, PermissionError) as refused:
        raise CommandError(f"{refused.filename}: {why_not_started(refused)}") from None
    out, err = (decode(text or b"") for text in (done.stdout, done.stderr))
    if echo:
        output(out)
        error(err)
    return CmdResult(out, err, done.returncode)


def errFail(*cmd: object, **kwargs: object) -> CmdResult:
    """Run a command as errRun does. Raises CommandError if its exit status is not 0."""
    result = errRun(*cmd, **kwargs)
    if result.ret:
        command = " ".join(words_of(cmd))
        raise CommandError(
            f"`{command}` failed", status=result.ret, output=result.err or result.out
        )
    return result


def which(cmd: str, **_kwargs: object) -> str:
    """Return the path of a program, or "" if there is none."""
    return shutil.which(cmd) or ""


def isShellBuiltin(cmd: str) -> bool:
    """Whether the command is a builtin of bash."""
    first = cmd.split(" ", 1)[0]
    return (
        subprocess.run(
            ["bash", "-c", 'test "$(type -t -- "$0")" = builtin', first], check=False
        ).returncode
        == 0
    )


def retry(
    retries: int, delaySecs: float, fn: Callable[..., object], *args: object, **keywords: object
) -> None:
    """Call `fn` until it returns a true value. Raises CommandError after `retries` retries."""
    for attempt in range(retries + 1):
        if fn(*args, **keywords):
            return
        if attempt < retries:
            pause(delaySecs)
    error(f"*** gave up after {retries} retries\n")
    raise CommandError(f"{getattr(fn, '__name__', fn)} did not succeed in {retries} retries")


def pmonitor(
    popens: dict[Key, Popen[bytes]],
    timeoutms: int | None = 500,
    readline: bool = True,
    readmax: int = 1024,
) -> Iterator[tuple[Key | None, str]]:
    """Yield (key, line) as processes write, and (None, "") on timeout, until all have ended.

    A process that has ended is removed from `popens`.
    """
    poller = poll()
    keys = {}
    for key, process in popens.items():
        assert process.stdout is not None, "start it with stdout=PIPE"
        keys[process.stdout.fileno()] = key
        poller.register(process.stdout.fileno(), POLLIN)
    pieces: dict[int, bytes] = dict.fromkeys(keys, b"")
    while keys:
        ready = poller.poll(timeoutms)
        if not ready:
            yield None, ""
        for descriptor, events in ready:
            key = keys[descriptor]
            data = os.read(descriptor, 65536 if readline else readmax) if events else b""
            if not data:
                if pieces[descriptor]:
                    yield key, decode(pieces[descriptor])
                poller.unregister(descriptor)
                del keys[descriptor]
                popens.pop(key, None)
            elif not readline:
                yield key, decode(data)
            else:
                *lines, rest = (pieces[descriptor] + data).split(b"\n")
                pieces[descriptor] = rest
                for line in lines:
                    yield key, decode(line + b"\n")
