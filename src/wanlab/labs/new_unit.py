"""The template files that `wanlab lab new` writes. They form a working unit."""

from __future__ import annotations

import re
from pathlib import Path

from wanlab import shapes
from wanlab.errors import WanlabError
from wanlab.shared_folder import file_error, output_folder
from wanlab.topology.files import file_content

LAB = """\
# A unit of your own. wanlab docs units explains every word; `wanlab lab start NAME --units FOLDER` names
# what is wrong, with its line.
kind: problem                  # lab (steps to follow), exercise or problem (tasks to solve)
title: A slow link
goal: Find out why h1 reaches h2 so slowly, and repair it.
file: {name}.mn                # the name under which students find topology.mn
hours: 0.5
wire: mtu
line_rate: 1Gbps
draw:                          # the seed draws one of each; <rate> stands for it below
  rate: [20, 40, 50]           # Mbit/s, promised
  delay: [10, 20, 30]          # ms, promised
calculate:
  bdp: rate * delay * 125      # bytes
  slow: rate / 10
steps:
- {{where: gui, do: {{open: {name}.mn}}}}
- {{where: gui, do: run}}
- {{where: client, type: "cd ~/{name} && sudo ./set_env.sh"}}
check:
- what: the link is used
  measure: {{server: h2, client: h1, flow: "iperf3 -c 10.0.0.2 -t 5 -J"}}
  metric: iperf3.receiver.mbps
  through: s1-eth2             # the kernel's counters must agree that the flow took this port
  at_least: <0.85 * rate>
  at_most: <rate>
  points: 3
  hint: "which port limits the rate? sudo tc -s qdisc show dev s1-eth2"
- what: the delay is still <delay> ms
  state: ping -c 3 10.0.0.2
  in: h1
  metric: ping.min_ms
  at_least: <delay - 0.1>
  at_most: <delay + 1>
  guard: true                  # the untouched network passes it: counts only if the others pass
  points: 1
  hint: the delay of <delay> ms was promised and must stay
"""
SET_ENV = """\
#!/bin/sh
# Sets up the network. The values that the seed draws are variables here.
set -eu
tc qdisc replace dev s1-eth2 root handle 1: netem delay "${{delay}}ms" limit 10000
tc qdisc replace dev s1-eth2 parent 1: handle 2: tbf rate "${{slow}}mbit" burst 20000 limit 200000
echo "{name}: the link was sold with $rate Mbit/s and $delay ms"
"""
SOLUTION = """\
what: The shaper gets the rate that was sold
steps:
- where: client
  type: >-
    sudo tc qdisc change dev s1-eth2 parent 1: handle 2:
    tbf rate <rate>mbit burst 20000 limit <2 * bdp>
"""
WRONG = """\
what: The delay is removed instead
hint: must stay
steps:
- where: client
  type: >-
    sudo tc qdisc replace dev s1-eth2 root
    tbf rate <rate>mbit burst 20000 limit <2 * bdp>
"""
LESSON = """\
# A slow link

A provider has sold a link of <rate> Mbit/s and <delay> ms. It is much slower. Find out why.

<!-- terminal -->
```console
$ wanlab lab start {name} --units FOLDER
```

<!-- end -->

```console
client$ cd ~/{name} && sudo ./set_env.sh
```

<details><summary>First hint</summary>

Which of the ports has a shaper? `sudo tc -s qdisc show`

</details>

<details><summary>Answer</summary>

s1-eth2 has a tbf of <slow> Mbit/s. Change its rate to <rate>mbit.

</details>
"""


def write(name: str, folder: Path) -> Path:
    """Write a unit into a folder of units and return its folder."""
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        raise WanlabError(
            f"{name!r} is not a name for a unit", "use small letters, digits and -, as in slow-link"
        )
    path, units = folder / name, output_folder(folder)
    if units.exists(name):
        raise WanlabError(f"there is already a folder {path}")
    files = {
        "lab.yaml": LAB,
        "set_env.sh": SET_ENV,
        "solution.yaml": SOLUTION,
        "wrong/delay-removed.yaml": WRONG,
        "lesson.md": LESSON,
    }
    try:
        for file, text in files.items():
            mode = 0o755 if file.endswith(".sh") else None
            units.write(f"{name}/{file}", _filled(text, name).encode(), mode)
        topology = file_content(shapes.linear(2), path / "topology.mn")
        units.write(f"{name}/topology.mn", topology)
    except OSError as error:
        raise file_error("write to", path, error) from None
    return path


def _filled(text: str, name: str) -> str:
    return text.replace("{name}", name).replace("{{", "{").replace("}}", "}")
