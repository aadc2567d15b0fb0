#!/bin/sh
# Runs ovs-vsctl or ovs-ofctl, whichever name this file has. Open vSwitch lets packets pass by the old
# rules for some milliseconds after a change, in which a whole `pingall` happens on virtual time. So a
# command that changes something also empties the cache of flows, and ends when the change is in force.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
name=${0##*/}
for word; do
  case "$word" in
    add | remove | set | clear | create | destroy | bundle | emer-reset) ;;
    add-* | mod-* | del-* | set-* | replace-* | insert-* | remove-*) ;;
    *) continue ;;
  esac
  "$name" "$@"
  status=$?
  ovs-appctl revalidator/purge >/dev/null 2>&1
  exit "$status"
done
exec "$name" "$@"
