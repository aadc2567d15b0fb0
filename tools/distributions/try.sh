#!/bin/bash
# try.sh SUITE [WHEEL]: install wanlab's wheel on a fresh Debian and start a network there.
#
# SUITE is a release that this computer's apt mirror has (bookworm, trixie, ...). It needs root and
# debootstrap, and leaves nothing behind. The new system has no compiler, no Node and, for the
# installation of wanlab, no network: the wheels that wanlab depends on are fetched before.
#
# Prints one line for each step with its seconds, and ends with status 0 if all succeeded.
set -euo pipefail

suite=${1:?usage: try.sh SUITE [WHEEL]}
here=$(cd "$(dirname "$0")/../.." && pwd)
wheel=${2:-$(ls "$here"/dist/wanlab-*.whl)}
[ "$(id -u)" = 0 ] || { echo "try.sh: debootstrap and chroot need root" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "try.sh: install debootstrap first" >&2; exit 2; }

mirror=$(apt-get indextargets --format '$(SITE)' | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }')
root=$(mktemp -d /var/tmp/wanlab-try-XXXXXX)
chmod 755 "$root"
trap 'umount -q "$root/proc" "$root/dev/shm" "$root/dev" 2>/dev/null || true; rm -rf --one-file-system "$root"' EXIT

step() {
    local name=$1 started=$SECONDS
    shift
    if "$@" >"$root.log" 2>&1; then
        echo "$suite: $name: ok ($((SECONDS - started)) s)"
    else
        echo "$suite: $name: FAILED after $((SECONDS - started)) s"
        tail -n 30 "$root.log"
        rm -f "$root.log"
        exit 1
    fi
    rm -f "$root.log"
}

inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@"; }
as_user() { inside su - student -c "$*"; }

packages=python3,python3-venv,iproute2,iperf3,iputils-ping,procps,ethtool,ca-certificates
step "install the system" debootstrap --variant=minbase --include="$packages" "$suite" "$root" "$mirror"
mount --bind /dev "$root/dev"
mount -t tmpfs -o size=64m shm "$root/dev/shm" # as in a container
mount -t proc proc "$root/proc"
cp /etc/resolv.conf "$root/etc/" 2>/dev/null || true
# As this computer reaches its package index: its settings, and its certificates.
for file in /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
    [ ! -f $file ] || cp $file "$root$file"
done
inside useradd -m -s /bin/bash student
mkdir "$root/wheels" && cp "$wheel" "$root/wheels/"
fetch() { inside /usr/bin/env $(env | grep -E '^(PIP_|https?_proxy|SSL_CERT)' || true) \
    sh -c 'python3 -m venv /opt/fetch && /opt/fetch/bin/pip download -q -d /wheels /wheels/wanlab-*.whl'; }
step "fetch what the wheel depends on" fetch
step "install the wheel without network or compiler" as_user \
    "python3 -m venv 'my venv' && 'my venv/bin/pip' install -q --no-index --find-links /wheels wanlab"
step "first ping" as_user \
    "mkdir 'my, work' && cd 'my, work' && ulimit -n 1024 && ~/'my venv/bin/wanlab' exec --topo single,2 --node h1 -- ping -c 2 h2"
step "first ping as root in /" inside sh -c "cd /root && /home/student/my\ venv/bin/wanlab exec --topo single,2 --node h1 -- ping -c 2 h2"
step "a transfer" as_user \
    "cd 'my, work' && ~/'my venv/bin/wanlab' mn --test iperf"
step "wanlab doctor" as_user "~/'my venv/bin/wanlab' doctor"
inside python3 -c 'import platform, sys; print("python", sys.version.split()[0], *platform.libc_ver())'
