# system.sh: functions of try.sh and checkout.sh, which source it. `suite` and `here` are set.
#
# make_system PACKAGES    install a fresh Debian or Ubuntu into $root, removed at the end
# step NAME COMMAND...    run a command that must succeed, and print its seconds
# must NAME COMMAND...    the same, and exit if it fails, because later steps depend on it
# inside COMMAND...       run a command as root in the new system
# as_user LINE            run a line of shell as the user `student` in the new system
# The last line of a script is: exit $failed

[ "$(id -u)" = 0 ] || { echo "$0: debootstrap and mounts need root" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "$0: install debootstrap first" >&2; exit 2; }

failed=0
python=python3
debootstrap_options=(--variant=minbase)
debootstrap_recipe=() # the recipe of an older release, for releases that debootstrap does not know
if [ -n "${UBUNTU_MIRROR:-}" ]; then
    mirror=$UBUNTU_MIRROR
    keyring=${UBUNTU_KEYRING:-/usr/share/keyrings/ubuntu-archive-keyring.gpg}
    [ -r "$keyring" ] || {
        echo "$0: cannot check Ubuntu's packages: there is no $keyring" >&2
        echo "install the package ubuntu-keyring (Debian) or name such a file in UBUNTU_KEYRING" >&2
        exit 2
    }
    debootstrap_options+=(--keyring="$keyring")
    debootstrap_options+=(--components=main,universe)
    [ -e "/usr/share/debootstrap/scripts/$suite" ] ||
        debootstrap_recipe=(/usr/share/debootstrap/scripts/jammy)
else
    mirror=$(apt-get indextargets --format '$(SITE)' | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }')
fi

root=$(mktemp -d /var/tmp/wanlab-try-XXXXXX)
chmod 755 "$root"
end() {
    pkill -KILL -P $$ unshare || true # all processes of the new system end with it
    ! mountpoint -q "$root" || umount --recursive "$root" || umount --recursive --lazy "$root"
    rm -rf --one-file-system "$root"
    rm -f "$root.log" "$root.log.errors"
}
trap end EXIT

step() {
    local name=$1 started=$SECONDS
    shift
    if "$@" >"$root.log" 2>&1; then
        echo "$suite: $name: ok ($((SECONDS - started)) s)$(closing_line)"
    else
        echo "$suite: $name: FAILED after $((SECONDS - started)) s"
        grep -E '^(FAILED|ERROR) ' "$root.log" || true
        tail -n 60 "$root.log"
        failed=1
    fi
}

closing_line() { # pytest's last line, if pytest ran
    grep -E '^=+ [0-9]+ passed.* =+$' "$root.log" | sed 's/^=*/:/; s/ =*$//' | tail -n 1
}

must() {
    local failed_before=$failed
    failed=0
    step "$@"
    [ "$failed" = 0 ] || exit 1
    failed=$failed_before
}

# As in a container, the root is that of a new mount namespace. The processes are in a new PID namespace
# and end with it. The shell is its init process, which reaps orphans.
inside() {
    unshare --mount --pid --fork --kill-child \
        sh -c 'cd "$0" && pivot_root . . && umount -l . && mount -t proc proc /proc && "$@"; exit $?' "$root" \
        /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "$@"
}
as_user() { inside su - student -c "export LANG=C.UTF-8; $*"; }

make_system() {
    must "install the system" debootstrap "${debootstrap_options[@]}" --include="$1" \
        "$suite" "$root" "$mirror" "${debootstrap_recipe[@]}"
    mount --bind "$root" "$root"
    mount --make-private "$root"
    mount --bind /dev "$root/dev"
    mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
    mount -t tmpfs -o size=64m shm "$root/dev/shm" # as in a container
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --make-rslave "$root/sys"
    cp /etc/resolv.conf "$root/etc/" 2>/dev/null || true
    # This computer's settings and certificates, so that the new system can reach the package index.
    for file in /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
        [ ! -f $file ] || cp $file "$root$file"
    done
    inside useradd -m -s /bin/bash student
}
