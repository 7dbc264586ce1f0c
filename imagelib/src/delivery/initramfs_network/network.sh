
# In place of live-boot's own, which waits 5 seconds for links that are up, and then tries no NIC.
Select_eth_device ()
{
	:
}

# Calls a function once a second until it succeeds, $1 times at most.
dayone_wait ()
{
	local left="$1"
	shift
	until "$@"
	do
		left=$((left - 1))
		[ "$left" -gt 0 ] || return 1
		sleep 1
	done
}

# Prints the name of the NIC with the MAC address $1, or else of that with the name $2.
dayone_name_of ()
{
	local device
	for device in /sys/class/net/*
	do
		if [ -n "$1" ] && [ "$(cat "$device/address" 2>/dev/null)" = "$1" ]
		then
			echo "${device##*/}"
			return
		fi
	done
	[ -z "$2" ] || [ ! -e "/sys/class/net/$2" ] || echo "$2"
}

# Lists the NICs that are there in dayone_found, and fails if one is missing.
dayone_find ()
{
	local nic name missing=0
	dayone_found=""
	for nic in $dayone_nics
	do
		name="$(dayone_name_of "${nic%%/*}" "${nic#*/}")"
		if [ -n "$name" ]
		then
			dayone_found="$dayone_found $name"
		else
			missing=1
		fi
	done
	return "$missing"
}

dayone_has_carrier ()
{
	[ "$(cat "/sys/class/net/$1/carrier" 2>/dev/null)" = 1 ]
}

dayone_any_has_carrier ()
{
	local nic
	for nic in $dayone_found
	do
		dayone_has_carrier "$nic" && return 0
	done
	return 1
}

# Whether the router, or the server if it is on the link, answers ARP. It may not answer a ping.
dayone_answers ()
{
	ping -c 1 -W 1 "$dayone_hop" >/dev/null 2>&1 || grep -q "^$dayone_hop .* 0x2 " /proc/net/arp
}

# Gives the NIC $1 the addresses, and the routes to the server.
dayone_configure ()
{
	local address
	dayone_nic="$1"
	dayone_own_mac="$(cat "/sys/class/net/$1/address")"
	if [ -n "$dayone_mac" ] && [ "$dayone_mac" != "$dayone_own_mac" ]
	then
		ip link set dev "$1" down
		ip link set dev "$1" address "$dayone_mac"
		ip link set dev "$1" up
	fi
	[ -z "$dayone_mtu" ] || ip link set dev "$1" mtu "$dayone_mtu"
	for address in $dayone_addresses
	do
		ip addr add "$address" dev "$1"
	done
	[ -z "$dayone_far_gateway" ] || ip route add "$dayone_far_gateway" dev "$1"
	[ -z "$dayone_far_server" ] || ip route add "$dayone_far_server" dev "$1"
	[ -z "$dayone_gateway" ] || ip route add "$dayone_server" via "$dayone_gateway" dev "$1"
}

# Leaves the NIC as it was, but for its MTU. The live system configures it itself, and NetworkManager would take a NIC with addresses for
# one that somebody else configures.
dayone_unconfigure ()
{
	ip addr flush dev "$dayone_nic"
	ip link set dev "$dayone_nic" down
	[ "$(cat "/sys/class/net/$dayone_nic/address")" = "$dayone_own_mac" ] ||
		ip link set dev "$dayone_nic" address "$dayone_own_mac"
}

# Looks for the NIC by which the router or the server answers. A switch may forward nothing for half a minute after a link has come up.
dayone_connect ()
{
	local nic
	for nic in $dayone_found
	do
		dayone_has_carrier "$nic" || continue
		echo "dayone: $nic gets $dayone_addresses"
		dayone_configure "$nic"
		dayone_wait 30 dayone_answers && return 0
		echo "dayone: no answer from $dayone_hop"
		dayone_unconfigure
		ip link set dev "$nic" up
	done
	return 1
}

# In place of live-boot's own, which knows DHCP alone. live-boot calls it before it fetches the root file system.
do_netsetup ()
{
	local nic
	dayone_hop="${dayone_gateway:-$dayone_server}"
	modprobe -q af_packet
	udevadm trigger
	udevadm settle
	dayone_wait 60 dayone_find || [ -n "$dayone_found" ] || panic "dayone: there is no NIC $dayone_nics"
	for nic in $dayone_found
	do
		ip link set dev "$nic" up
	done
	dayone_wait 60 dayone_any_has_carrier || panic "dayone: no link on$dayone_found"
	dayone_wait 3 dayone_connect || panic "dayone: no answer from $dayone_hop on$dayone_found"
	mkdir -p /scripts/init-bottom
	echo dayone_leave >> /scripts/init-bottom/ORDER
}

# What init does before the live system starts.
dayone_leave ()
{
	local nic
	dayone_unconfigure
	for nic in $dayone_found
	do
		ip link set dev "$nic" down
	done
}
