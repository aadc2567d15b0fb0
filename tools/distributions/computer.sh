#!/bin/bash
# computer.sh SUITE [CPU...]: run the wheel on other computers, simulated by QEMU.
#
# Makes a fresh Debian with its own kernel as try.sh does, installs the wheel of dist/, and boots it
# once for each CPU (`qemu-system-x86_64 -cpu help`; without arguments Nehalem, which has no AVX, and
# max). QEMU translates every instruction, so programs see the simulated processor, and everything is
# about 30 times slower. inside_computer.py runs there as the first process: it sets what a container cannot
# (Yama, overcommit, huge pages) and starts networks. A transfer's output must be the same, byte for
# byte, on each of these computers and on this one.
#
# With SESSIONS=FOLDER, each *.wanlab of that folder is replayed there instead, with the same output.
#
# It needs root, debootstrap, e2fsprogs and qemu-system-x86, takes an hour, and leaves nothing behind.
set -euo pipefail

suite=${1:?usage: computer.sh SUITE [CPU...]}
shift
cpus=("${@:-Nehalem}")
[ $# -gt 0 ] || cpus+=(max)
here=$(cd "$(dirname "$0")/../.." && pwd)
wheel=$(ls "$here"/dist/wanlab-*.whl)
. "$here/tools/distributions/system.sh"
command -v qemu-system-x86_64 >/dev/null || { echo "$0: install qemu-system-x86 first" >&2; exit 2; }

make_system "python3,python3-venv,iproute2,iperf3,iputils-ping,procps,ethtool,net-tools,ca-certificates,kmod,initramfs-tools,linux-image-cloud-amd64"
mkdir "$root/wheels" && cp "$wheel" "$root/wheels/"
cp "$here/tools/distributions/inside_computer.py" "$root/"
fetch() { inside sh -c 'python3 -m venv /opt/wanlab && /opt/wanlab/bin/pip install -q /wheels/wanlab-*.whl'; }
must "install the wheel" fetch
[ -z "${SESSIONS:-}" ] || install -m 644 -D -t "$root/sessions" "$SESSIONS"/*.wanlab
inside sh -c "su student -c 'cd && /opt/wanlab/bin/python /inside_computer.py --transfer'" >"$root/expected"
echo "this computer: $(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2 | xargs): transfer $(cut -c1-16 "$root/expected")"

# A disk of the system's files, without the mounts of make_system.
kernel=$(ls "$root"/boot/vmlinuz-* | tail -n 1)
disk=$root.disk
trap 'rm -f "$disk"; end' EXIT
umount --recursive "$root/dev" "$root/proc" "$root/sys"
must "make the disk" mke2fs -q -F -t ext4 -d "$root" "$disk" 3G

for cpu in "${cpus[@]}"; do
    echo "$suite: a computer with -cpu $cpu, kernel ${kernel##*/vmlinuz-}:"
    timeout 7200 qemu-system-x86_64 -accel tcg -cpu "$cpu" -smp 1 -m 2048 -nographic -no-reboot -snapshot \
        -kernel "$kernel" -initrd "${kernel/vmlinuz/initrd.img}" \
        -append "root=/dev/vda rw console=ttyS0 quiet panic=-1 init=/inside_computer.py" \
        -drive "file=$disk,format=raw,if=virtio" </dev/null | tee "$root.log" | grep --line-buffered '^  ' || true
    grep -q "all steps succeeded" "$root.log" || { failed=1; tail -n 30 "$root.log"; }
done
exit $failed
