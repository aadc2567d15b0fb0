#!/bin/bash
# try.sh SUITE [WHEEL]: install wanlab's wheel on a fresh system and start networks there.
#
# SUITE is a release of Debian that this computer's apt mirror has (bookworm, trixie, ...). With
# UBUNTU_MIRROR=ADDRESS it is one of Ubuntu (noble, ...; not jammy, whose Python 3.11 is only among its
# updates, which debootstrap does not read). It needs root and debootstrap, and leaves nothing behind.
# The new system has no compiler, no Node and, for the installation of wanlab, no network: the wheels
# that wanlab depends on are fetched before.
#
# Networks are started as a user and as root, then under the limits of containers and of hardened
# computers (limits.py). Prints one line for each step with its seconds; status 0 if all succeeded.
set -euo pipefail

suite=${1:?usage: try.sh SUITE [WHEEL]}
here=$(cd "$(dirname "$0")/../.." && pwd)
wheel=${2:-$(ls "$here"/dist/wanlab-*.whl)}
. "$here/tools/distributions/system.sh"

names_the_doctor() { # COMMAND: it must fail, and its error must name wanlab doctor
    ! "$@" 2>"$root.log.errors" || { echo "it succeeded" && return 1; }
    cat "$root.log.errors"
    grep -q "wanlab doctor" "$root.log.errors"
}

make_system "$python,$python-venv,iproute2,iperf3,iputils-ping,procps,ethtool,ca-certificates"
mkdir "$root/wheels" && cp "$wheel" "$root/wheels/"
cp "$here/tools/distributions/limits.py" "$root/limits.py"
fetch() { inside /usr/bin/env $(env | grep -E '^(PIP_(CERT|INDEX|DEFAULT)|https?_proxy|SSL_CERT)' || true) \
    sh -c "$python -m venv /opt/fetch && /opt/fetch/bin/pip download -q -d /wheels /wheels/wanlab-*.whl"; }
must "fetch what the wheel depends on" fetch
must "install the wheel without network or compiler" as_user \
    "$python -m venv 'my venv' && 'my venv/bin/pip' install -q --no-index --find-links /wheels wanlab"

# Root needs its own installation: without capabilities, root in a container cannot read a user's home.
must "install the wheel for root" inside sh -c \
    "$python -m venv /opt/wanlab && /opt/wanlab/bin/pip install -q --no-index --find-links /wheels wanlab"

folder="/home/student/my, größe 実験"
wanlab="/home/student/my venv/bin/wanlab"
as_user "mkdir '$folder'"
ping="exec --topo single,2 --node h1 -- ping -c 2 h2"
user="cd '$folder' && ulimit -n 1024 && "
step "user: first ping" as_user "$user '$wanlab' $ping"
step "user: a transfer" as_user "$user '$wanlab' mn --test iperf"
step "user: wanlab doctor" as_user "$user '$wanlab' doctor"
step "user: refused personality" as_user "$user timeout 100 $python /limits.py --personality -- '$wanlab' $ping"
step "user: seccomp profile of Docker" as_user "$user timeout 100 $python /limits.py --docker -- '$wanlab' $ping"
step "user: ptrace_scope 1" as_user "$user timeout 100 $python /limits.py --yama 1 -- '$wanlab' $ping"
step "user: ptrace_scope 2 names the doctor" names_the_doctor \
    as_user "$user timeout 100 $python /limits.py --yama 2 -- '$wanlab' $ping"
step "user: 256 MB of private memory" as_user "$user ulimit -d 262144 && '$wanlab' $ping"
step "root: first ping" inside sh -c "cd /root && /opt/wanlab/bin/wanlab $ping"
step "root: container of Docker" inside sh -c "cd /root && timeout 100 $python /limits.py --docker -- /opt/wanlab/bin/wanlab $ping"
step "root: ptrace_scope 3 names the doctor" names_the_doctor \
    inside sh -c "cd /root && timeout 100 $python /limits.py --yama 3 -- /opt/wanlab/bin/wanlab $ping"
inside $python -c 'import platform, sys; print("python", sys.version.split()[0], *platform.libc_ver())'
exit $failed
