//! Hosts against each other, and against their cluster.

use super::Explanation;

pub(super) const EXPLANATIONS: &[Explanation] = &[
    Explanation {
        code: "address-of-bmc",
        title: "a host's address that a BMC has",
        consequence: "Host and BMC answer for one address: whoever reaches for the one gets the other, and virtual media stop \
                      in the middle of a boot.",
        mend: "Give the host another address, or correct the BMC's.",
        example: None,
    },
    Explanation {
        code: "address-of-two-hosts",
        title: "one address that two hosts have",
        consequence: "Both answer for it: connections go to the one, then to the other, and break. On links that have nothing \
                      to do with each other (two hosts each, other VLANs or VRFs, or networks that go nowhere, of hosts that \
                      leave by different routers) it may be meant.",
        mend: "Give one of the two another address.",
        example: None,
    },
    Explanation {
        code: "bmc-of-two-hosts",
        title: "one BMC that two hosts have",
        consequence: "One machine is started and stopped as if it were two, and the other one never.",
        mend: "Write each host's own BMC address, with its own path behind the host where several are behind one.",
        example: None,
    },
    Explanation {
        code: "gateway-is-another-host",
        title: "a gateway that is another host",
        consequence: "What leaves the network goes to that host. Unless it is a router, it is dropped there.",
        mend: "Write the router's address as next-hop-address, or give the other host another address.",
        example: None,
    },
    Explanation {
        code: "gateway-is-bmc",
        title: "a gateway that is a BMC",
        consequence: "What leaves the network goes to the BMC, which drops it.",
        mend: "Write the router's address as next-hop-address, or correct the BMC's. If one machine is both, there is nothing to \
               mend.",
        example: None,
    },
    Explanation {
        code: "host-outside-machine-network",
        title: "a host without an address in a machine network of its cluster",
        consequence: "The installer looks for each node in these networks. A master elsewhere never joins; of a worker elsewhere \
                      its own network must be listed, too.",
        mend: "Add the host's network to machineNetwork, or give the host an address in one that is there.",
        example: None,
    },
    Explanation {
        code: "hostname-duplicate",
        title: "one host name that two hosts have",
        consequence: "To a cluster they are one node: the second to join takes the place of the first, or is refused.",
        mend: "Give one of the two another name.",
        example: None,
    },
    Explanation {
        code: "mac-address-of-two-hosts",
        title: "one MAC address that two hosts have",
        consequence: "Of a NIC it is wrong for one of the two, whose profile then matches nothing. Of an address to set, a switch \
                      sends what is for both now here, now there.",
        mend: "Look up the NIC's own address; give each host its own.",
        example: None,
    },
    Explanation {
        code: "prefixes-differ",
        title: "two hosts in one network that say differently how large it is",
        consequence: "The one sends to addresses on the link that the other expects behind a router, and the other way round: some \
                      hosts are reached and others are not.",
        mend: "Write the same prefix-length on all hosts of a network.",
        example: None,
    },
    Explanation {
        code: "rendezvous-ip-of-no-host",
        title: "a rendezvous IP that no host has",
        consequence: "All hosts wait for the one that installs them, and none is it.",
        mend: "Write the address of one of the masters.",
        example: None,
    },
    Explanation {
        code: "rendezvous-ip-of-worker",
        title: "a rendezvous IP that is no master's",
        consequence: "The installer refuses it: the host that installs the others becomes a master in the end.",
        mend: "Write the address of one of the masters, or correct the host's role.",
        example: None,
    },
    Explanation {
        code: "virtual-ip-of-bmc",
        title: "a virtual IP that a BMC has",
        consequence: "BMC and cluster answer for one address: the BMC is not reached as soon as the cluster takes it, nor is the \
                      cluster reached for sure.",
        mend: "Choose an address that nobody has, or correct the BMC's.",
        example: None,
    },
    Explanation {
        code: "virtual-ip-of-gateway",
        title: "a virtual IP that is a gateway",
        consequence: "Router and cluster answer for one address: hosts lose the way out as soon as the cluster takes it.",
        mend: "Choose an address that nobody has.",
        example: None,
    },
    Explanation {
        code: "virtual-ip-of-host",
        title: "a virtual IP that a host has",
        consequence: "The address goes from host to host, and this one never gives it up: the API or the workloads are reached \
                      on the wrong host, or not at all.",
        mend: "Choose an address that nobody has, or give the host another.",
        example: None,
    },
    Explanation {
        code: "virtual-ip-of-name-server",
        title: "a virtual IP that is a name server",
        consequence: "Name server and cluster answer for one address: names are not found as soon as the cluster takes it.",
        mend: "Choose an address that nobody has.",
        example: None,
    },
    Explanation {
        code: "virtual-ip-outside-machine-network",
        title: "a virtual IP outside of the machine networks",
        consequence: "No host has a link to its network, so none can take it: the API or the workloads are not reached.",
        mend: "Choose an address in a machine network, or correct machineNetwork.",
        example: None,
    },
    Explanation {
        code: "virtual-ip-twice",
        title: "one virtual IP for API and ingress",
        consequence: "The installer refuses it: each is taken by a host of its own.",
        mend: "Choose two addresses.",
        example: None,
    },
    Explanation {
        code: "virtual-ip-unusable",
        title: "a virtual IP that no host can have",
        consequence: "No host can take the address: the API or the workloads are not reached.",
        mend: "Choose an address of the machine network other than its first and its last one.",
        example: None,
    },
    Explanation {
        code: "virtual-ips-of-one-family",
        title: "two virtual IPs of one family for the same",
        consequence: "The installer refuses it: there is one of IPv4 and one of IPv6 at most.",
        mend: "Take one of the two out.",
        example: None,
    },
    Explanation {
        code: "virtual-ips-uneven",
        title: "not as many virtual IPs for the API as for ingress",
        consequence: "The installer refuses it.",
        mend: "Give one of each family for both, or for neither.",
        example: None,
    },
    Explanation {
        code: "gateway-unlike-others",
        title: "one host with another gateway than all others of its network",
        consequence: "If it is a mistake, the host is not reached from outside of its network.",
        mend: "Write the gateway of the others. If the host is meant to differ, there is nothing to fix.",
        example: None,
    },
    Explanation {
        code: "mtu-unlike-others",
        title: "one host with another MTU than all others of its network or role",
        consequence: "Hosts of one network need one MTU: packets that are larger than the smallest one get lost, and connections hang as soon as they carry data.",
        mend: "Write the MTU of the others. If the host is meant to differ, there is nothing to fix.",
        example: None,
    },
    Explanation {
        code: "name-servers-unlike-others",
        title: "one host with other name servers than all others of its network or role",
        consequence: "If it is a mistake, the host finds no names, or others than its neighbours.",
        mend: "Write the name servers of the others. If the host is meant to differ, there is nothing to fix.",
        example: None,
    },
    Explanation {
        code: "vlan-unlike-others",
        title: "one host in another VLAN than all others of its network or role",
        consequence: "Hosts of one network in different VLANs do not reach each other.",
        mend: "Write the VLAN of the others. If the host is meant to differ, there is nothing to fix.",
        example: None,
    },
];
