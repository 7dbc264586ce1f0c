#!/bin/sh
# Written by dayone: copies files to the root file system that is about to be started, which is mounted at $1.
# Beside this script, "files" has one path on each line, and "root" the files, with the modes and owners that they get.
here=${0%/*}
root=$1
umask 022

tell() {
    echo "<$1>dayone: $2" > /dev/kmsg
}

copy() {
    mkdir -p "$root${1%/*}" && rm -f "$root$1" && cp -p "$here/root$1" "$root$1"
}

while IFS= read -r path; do
    if copy "$path"; then
        tell 6 "copied to the root file system: $path"
    else
        tell 3 "could NOT be copied to the root file system: $path"
    fi
done < "$here/files"

# SELinux may forbid to read files without a label; systemd-tmpfiles gives them theirs before the network comes up.
if [ -e "$here/labels.conf" ]; then
    mkdir -p /run/tmpfiles.d && cp "$here/labels.conf" /run/tmpfiles.d/dayone.conf
fi
