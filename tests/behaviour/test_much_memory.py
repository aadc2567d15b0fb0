"""Programs use more pages than the computer allows mappings (vm.max_map_count is 65,530 by default).

The kernel's mappings are a cache of its page tables. When it has no room, others are dropped, and faults
bring them back.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from wanlab import Network, shapes

FOLDER = Path(__file__).parent
NEXT_HOPS = 65_536
ROWS = 300_000
PRIME = 1_000_003
# Its table takes 300 MB. The second query reads it in the order of the index, which is random.
DATABASE = f"""
set -e
cd /tmp
initdb -D /tmp/db -A trust -N > /tmp/log
pg_ctl -D /tmp/db -w -l /tmp/log -o '-c shared_buffers=512MB -k /tmp' start > /tmp/started
psql -h /tmp -q -v ON_ERROR_STOP=1 postgres <<END
create unlogged table measured as
  select n::int, (n * 7919 % {PRIME})::int as at, repeat(md5(n::text), 28) as text
  from generate_series(1::bigint, {ROWS}) as n;
create index on measured (at);
END
psql -h /tmp -At postgres -c 'select count(*), sum(at), sum(length(text)) from measured' \\
  -c 'set enable_seqscan = off; set enable_bitmapscan = off; set enable_sort = off' \\
  -c 'select md5(string_agg(left(text, 8), null order by at)) from measured'
pg_ctl -D /tmp/db -w stop > /tmp/stopped
"""

pytestmark = [pytest.mark.machine, pytest.mark.long]

Start = Callable[..., Network]


def without(*programs: str) -> pytest.MarkDecorator:
    missing = [program for program in programs if shutil.which(program) is None]
    return pytest.mark.skipif(bool(missing), reason=f"no {', '.join(missing)} here")


def available_bytes() -> int:
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    values = dict(line.split(":", 1) for line in lines)
    return int(values["MemAvailable"].split()[0]) << 10


needs_memory = pytest.mark.skipif(
    available_bytes() < 4 << 30, reason="less than 4 GB of memory is free"
)


@without("gcc")
@needs_memory
@pytest.mark.costs(15)
def test_a_program_uses_1500_mb_in_random_order(tmp_path: Path, start: Start) -> None:
    program = tmp_path / "random_touch"
    subprocess.run(["gcc", "-O1", "-w", "-o", program, FOLDER / "random_touch.c"], check=True)
    net = start(shapes.minimal())
    assert net["h1"].run([str(program), "1500"]).output == "384000 of 384000 pages, child 7\n"


@without("javac")
@needs_memory
@pytest.mark.costs(15)
def test_a_jvm_has_a_large_heap(tmp_path: Path, start: Start) -> None:
    subprocess.run(["javac", "-d", tmp_path, FOLDER / "odd" / "Heap.java"], check=True)
    command = ["java", "-Xms1200m", "-Xmx1200m", "-XX:+AlwaysPreTouch", "Heap", "500"]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    net = start(shapes.minimal())
    assert net["h1"].run(command).output == done.stdout


@without("postgres", "psql", "initdb", "setpriv")
@needs_memory
@pytest.mark.costs(15)
def test_a_database_has_a_large_cache(start: Start) -> None:
    net = start(shapes.minimal())
    user = "setpriv --reuid=65534 --regid=65534 --clear-groups"
    done = net["h1"].run([*user.split(), "sh", "-c", DATABASE], check=False)
    assert (done.status, done.stderr) == (0, "")
    places = {number: number * 7919 % PRIME for number in range(1, ROWS + 1)}
    in_order = sorted(places, key=lambda number: places[number])
    texts = "".join(hashlib.md5(b"%d" % number).hexdigest()[:8] for number in in_order)
    assert done.output.split() == [
        f"{ROWS}|{sum(places.values())}|{ROWS * 32 * 28}",
        *["SET"] * 3,
        hashlib.md5(texts.encode()).hexdigest(),
    ]


def test_ip_reads_a_batch_of_65536_next_hops(tmp_path: Path, start: Start) -> None:
    net = start(shapes.minimal())
    lines = [
        f"nexthop add id {number} via 10.0.0.2 dev h1-eth0" for number in range(1, NEXT_HOPS + 1)
    ]
    (tmp_path / "batch").write_text("\n".join(lines) + "\n")
    net["h1"].run("ip -b batch")
    shown = net["h1"].run("ip nexthop | wc -l; ip nexthop get id 65536").output.split()
    assert shown[:5] == [str(NEXT_HOPS), "id", "65536", "via", "10.0.0.2"]
