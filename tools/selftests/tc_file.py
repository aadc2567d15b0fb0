"""Performs one file of tc-testing, inside a machine: `python3 tc_file.py tc-tests/qdiscs/mq.json`.

tdc.py leaves out the rest of a file when the commands before a test fail. Here, the rest is performed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

TDC = (sys.executable, "./tdc.py", "--format", "tap")
_STOPPED = re.compile(r"previous (?:setup|teardown) failed \d+ (?P<test>[0-9a-f]{4})")
_RESULT = re.compile(r"^(?:not )?ok \d+ (?P<test>[0-9a-f]{4}) - .*$", re.MULTILINE)


def main(file: str) -> None:
    identities = [test["id"] for test in json.loads(Path(file).read_text(encoding="utf-8"))]
    number = 0
    while identities:
        command = [*TDC, "-f", file, "-e", *identities]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        stopped = _STOPPED.search(done.stdout)
        performed = identities
        if stopped and stopped["test"] in identities:
            performed = identities[: identities.index(stopped["test"])]
        number = _print_results(done.stdout, performed, number)
        identities = identities[len(performed) :]
        if identities:
            number += 1
            print(f"not ok {number} {identities.pop(0)} - its set-up failed", flush=True)
            print(*(f"# {line}" for line in done.stdout.splitlines()[:20]), sep="\n")


def _print_results(text: str, performed: list[str], number: int) -> int:
    """Print the part of the text about these tests, numbered from `number` on; return the last one."""
    results = list(_RESULT.finditer(text))
    for result, after in zip(results, [*results[1:], None], strict=True):
        if result["test"] in performed:
            number += 1
            rest = text[result.start() : after.start() if after else None]
            print(re.sub(r"ok \d+", f"ok {number}", rest, count=1).rstrip(), flush=True)
    return number


if __name__ == "__main__":
    main(sys.argv[1])
