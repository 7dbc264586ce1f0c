#!/bin/sh
# Written by dayone: gives the installed system the network of the host. systemd-networkd runs it; NetworkManager, if it is
# installed, leaves all interfaces alone, and ifupdown has only the loopback interface.
set -e
installed=/usr/lib/dayone/installed

cd "$installed"
find . -type f | while read -r file; do
	mkdir -p "/target/$(dirname "$file")"
	# resolv.conf may be a link to a file that does not exist yet.
	rm -f "/target/$file"
	cp "$file" "/target/$file"
	chmod 0644 "/target/$file"
done

mkdir -p /target/etc/network
cat > /target/etc/network/interfaces <<EOF
# Written by dayone: the other interfaces are in /etc/systemd/network.
source /etc/network/interfaces.d/*

auto lo
iface lo inet loopback
EOF

if [ -e /target/usr/sbin/NetworkManager ]; then
	mkdir -p /target/etc/NetworkManager/conf.d
	cat > /target/etc/NetworkManager/conf.d/90-dayone.conf <<EOF
# Written by dayone: systemd-networkd runs the network.
[device-dayone]
match-device=*
managed=0
EOF
fi

# The installer's own /etc/hosts has the name without its domain.
if [ -s etc/hostname ]; then
	name="$(cat etc/hostname)"
	grep -qw -- "$name" /target/etc/hosts 2>/dev/null || echo "127.0.1.1	$name" >> /target/etc/hosts
fi

chroot /target systemctl enable systemd-networkd.service
