#!/bin/sh
# After dpkg or rpm has removed the files. What dayone has stored stays in /var/lib/private/dayone: it has the key of all
# URLs, and the images of hosts that may be running from them.
set -e
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload || true
