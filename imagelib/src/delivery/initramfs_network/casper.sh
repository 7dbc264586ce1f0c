
# The busybox of Ubuntu's initramfs may have no ping. A connection asks for the address on the link, too, whether it is accepted or not.
dayone_answers ()
{
	if command -v ping >/dev/null
	then
		ping -c 1 -W 1 "$dayone_hop" >/dev/null 2>&1 && return 0
	else
		wget -q -O /dev/null "http://$dayone_hop:9/" >/dev/null 2>&1 &
		sleep 1
		kill "$!" 2>/dev/null
	fi
	grep -q "^$dayone_hop .* 0x2 " /proc/net/arp
}

# casper fetches its ISO to the root of the initramfs, which may take no more than half of the memory.
if grep -q '^rootfs / rootfs ' /proc/mounts
then
	mount -o remount,size=90% none /
fi

do_netsetup
