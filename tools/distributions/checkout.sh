#!/bin/bash
# checkout.sh SUITE [--long | ARGUMENTS OF PYTEST]: `./dev demo` and `./dev test` from nothing.
#
# Makes a fresh Debian (with UBUNTU_MIRROR=ADDRESS a fresh Ubuntu) as try.sh does, with nothing but
# git and sudo, and clones this checkout's HEAD there: for a user with sudo, in a folder with spaces,
# commas and letters beyond ASCII; and for root, in /root. It builds the kernel once, as the user;
# with KERNELS=FOLDER (~/.cache/wanlab/kernels, for example), it uses the kernels in that folder.
# The second `./dev demo` must find nothing to do. It takes half an hour and leaves nothing behind.
#
# With LIMIT=1024 the user may open that many files. With XSTATE=11008, networks run on a simulated
# processor with that many bytes of extended registers.
set -euo pipefail

suite=${1:?usage: checkout.sh SUITE [ARGUMENTS OF PYTEST]}
shift
here=$(cd "$(dirname "$0")/../.." && pwd)
. "$here/tools/distributions/system.sh"

make_system "ca-certificates,git,sudo"
# Include security updates, because the kernel's source is one of them.
[ -n "${UBUNTU_MIRROR:-}" ] || cp -a /etc/apt/sources.list.d/debian.sources "$root/etc/apt/sources.list.d/" 2>/dev/null || true
echo "student ALL=(ALL) NOPASSWD: ALL" >"$root/etc/sudoers.d/student"
git clone -q --bare "$here" "$root/srv/wanlab.git"
inside git config --system --add safe.directory /srv/wanlab.git

folder="/home/student/wan lab, größer, 実験"
in_clone() { as_user "ulimit -n ${LIMIT:-$(ulimit -n)} && cd '$folder/wanlab' && $*"; }
in_root_clone() { inside bash -lc "cd /root/wanlab && $*"; }
has_nothing_to_do() { # COMMAND: run ./dev demo, which must print that there is nothing to do
    "$@" 2>&1 | tee "$root.log.errors"
    grep -q "setup: nothing to do" "$root.log.errors"
}
simulate_processor() { # IN: use ~/image from now on, whose kernel sees an XSTATE of $XSTATE bytes
    "$1" "./dev setup && cd tests/machine && ../../.venv/bin/python -c '
from pathlib import Path
from test_xstate import compiled, simulate_processor
program = compiled(\"fake_xstate.c\", Path.home() / \"fake_xstate\")
simulate_processor(\"$XSTATE\", program, Path.home() / \"image\")'
echo 'export WANLAB_KERNEL=\$HOME/image PYTHONPATH=\$HOME/image/python' >>~/.profile"
}
if [ -n "${KERNELS:-}" ]; then
    for home in /home/student /root; do
        mkdir -p "$root$home/.cache/wanlab" && cp -a "$KERNELS" "$root$home/.cache/wanlab/kernels"
    done
    inside chown -R student: /home/student/.cache
fi
must "user: clone" as_user "mkdir '$folder' && git clone -q /srv/wanlab.git '$folder/wanlab'"
[ -z "${XSTATE:-}" ] || must "user: simulate an XSTATE of $XSTATE bytes" simulate_processor in_clone
must "user: ./dev demo" in_clone ./dev demo
step "user: ./dev demo again" has_nothing_to_do in_clone ./dev demo
step "user: ./dev test" in_clone ./dev test "${*@Q}"
# The kernel is the same for everybody; a second build would only take time.
[ -n "${KERNELS:-}" ] || inside sh -c 'mkdir -p ~root/.cache/wanlab && cp -a ~student/.cache/wanlab/kernels ~root/.cache/wanlab/'
must "root: clone" inside git clone -q /srv/wanlab.git /root/wanlab
[ -z "${XSTATE:-}" ] || must "root: simulate an XSTATE of $XSTATE bytes" simulate_processor in_root_clone
must "root: ./dev demo" in_root_clone ./dev demo
step "root: ./dev test" in_root_clone ./dev test "${*@Q}"
exit $failed
