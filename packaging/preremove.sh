#!/bin/sh
# Before dpkg (remove, upgrade, …) or rpm (the number of versions that stay) removes the files.
set -e
[ -d /run/systemd/system ] || exit 0
case "$1" in
  remove | 0) systemctl disable --now dayone.service || true ;;
esac
