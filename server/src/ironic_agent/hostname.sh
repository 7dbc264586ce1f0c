#!/bin/bash
# Written by dayone. NetworkManager-dispatcher(8) runs it on every event of the network.

# What DHCPv6 says, where that is more than a host name.
if [[ $DHCP6_FQDN_FQDN == *.* ]]; then
    hostnamectl set-hostname --static --transient -- "$DHCP6_FQDN_FQDN"
fi

# The name of the host's resource, as long as nothing else gave one.
if [[ $(< /proc/sys/kernel/hostname) =~ ^(localhost|localhost\.localdomain)$ ]]; then
    hostnamectl set-hostname --transient -- '@HOSTNAME@'
fi
