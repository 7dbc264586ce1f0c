#!/bin/sh
# Written by dayone: runs "copy", which is beside this script, while the root file system at $1 is writable. That of a disk is
# read-only until its own system has started, unless the kernel arguments have rw.
read_only=
while read -r _ directory _ options _; do
    [ "$directory" = "$1" ] || continue
    # What was mounted last is what one sees there.
    case $options in
        ro | ro,*) read_only=yes ;;
        *) read_only= ;;
    esac
done < /proc/mounts

if [ -n "$read_only" ]; then
    # The mount of klibc needs a source, and takes any.
    mount -o remount,rw none "$1" || read_only=
fi
/bin/sh "${0%/*}/copy" "$1"
if [ -n "$read_only" ]; then
    mount -o remount,ro none "$1"
fi
