#!/bin/sh
# After dpkg (configure, and the version before if there was one) or rpm (the number of versions) has installed the files.
# The service is not enabled: without its settings it cannot start.
set -e
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload || true
case "$1${2:+ upgrade}" in
  "configure upgrade" | [2-9]*) systemctl try-restart dayone.service || true ;;
esac
