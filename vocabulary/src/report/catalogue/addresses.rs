//! Addresses of interfaces, static and automatic.

use super::Explanation;

pub(super) const EXPLANATIONS: &[Explanation] = &[
    Explanation {
        code: "address-duplicate",
        title: "one address on two interfaces of a host",
        consequence: "Answers leave by one of the two, whichever is up first, and what comes in by the other is mostly lost.",
        mend: "Give one of the two another address, or take it out. For two links to one network make a bond. As /32 or /128 \
               it may be meant, where a routing protocol announces it on each link.",
        example: None,
    },
    Explanation {
        code: "address-lost",
        title: "an address that nmstate takes for somebody else's",
        consequence: "nmstate takes an address with a lifetime for one that DHCP gave, and one with a protocol for another \
                      program's, and leaves it out of the keyfile: the host comes up without it.",
        mend: "Remove valid-life-time and protocol; a static address has neither.",
        example: None,
    },
    Explanation {
        code: "address-repeated",
        title: "an address that stands twice on one interface",
        consequence: "The interface has it once.",
        mend: "Take one of the two out, or correct it: often another address was meant.",
        example: None,
    },
    Explanation {
        code: "address-unusable",
        title: "an address that no host can have",
        consequence: "The kernel refuses it, or nobody can send anything to it: the host is not reached there.",
        mend: "Write an address between the first and the last of the network. If that is what it is, look at prefix-length.",
        example: Some(
            "interfaces:\n- name: eth0\n  type: ethernet\n  ipv4:\n    enabled: true\n    address:\n    - ip: 192.0.2.10\n      \
             prefix-length: 24\n",
        ),
    },
    Explanation {
        code: "address-unusual",
        title: "an address that is not meant for hosts",
        consequence: "The kernel takes it. Others may not: the first address of an IPv6 network belongs to its routers, and \
                      240.0.0.0/4 is dropped by many of them.",
        mend: "Write another address, unless this one is meant.",
        example: None,
    },
    Explanation {
        code: "autoconf-without-dhcp",
        title: "IPv6 router advertisements without DHCPv6",
        consequence: "A keyfile made by nmstate knows both or neither: the host would not take an address from the routers \
                      as the document says.",
        mend: "Set dhcp: true beside autoconf: true (DHCPv6 is used only where the routers announce it), or give a static \
               address.",
        example: Some(
            "interfaces:\n- name: eth0\n  type: ethernet\n  ipv6:\n    enabled: true\n    autoconf: true\n    dhcp: true\n",
        ),
    },
    Explanation {
        code: "dhcp-duid",
        title: "a kind of DHCP unique identifier that NetworkManager does not take",
        consequence: "NetworkManager refuses the whole profile: the interface stays without configuration.",
        mend: "Write ll or llt, or a DUID as hexadecimal text.",
        example: None,
    },
    Explanation {
        code: "ip-not-enabled",
        title: "an address family with settings that is not enabled",
        consequence: "Without enabled: true nmstate disables the family: the host comes up without these addresses, and \
                      asks no DHCP server either.",
        mend: "Add enabled: true; if the family is not wanted, enabled: false.",
        example: Some(
            "interfaces:\n- name: eth0\n  type: ethernet\n  ipv4:\n    enabled: true\n    address:\n    - ip: 192.0.2.10\n      \
             prefix-length: 24\n",
        ),
    },
    Explanation {
        code: "ip-without-address",
        title: "IPv4 is enabled and has neither an address nor DHCP",
        consequence: "The interface comes up without an IPv4 address.",
        mend: "Give an address or dhcp: true; write enabled: false where none is wanted, as for the ports of a bond.",
        example: None,
    },
    Explanation {
        code: "networks-overlap",
        title: "two interfaces in one network",
        consequence: "What the host sends there leaves by one of the two, whichever came up first; the other receives, and answers \
                      by the wrong way. Switches and routers with source checks drop that.",
        mend: "Correct the address or the prefix-length of one. For two links to one network make a bond; where both are \
               wanted, routing rules must say which address leaves by which.",
        example: None,
    },
    Explanation {
        code: "static-and-automatic",
        title: "static addresses beside automatic ones",
        consequence: "The interface has the address that is written down and another one from the network, with its routes and \
                      name servers; which of the two the host sends from depends on both.",
        mend: "If only the static address is wanted, set dhcp: false (and autoconf: false for IPv6).",
        example: None,
    },
    Explanation {
        code: "static-without-address",
        title: "static routes on an interface without an address",
        consequence: "NetworkManager refuses the whole profile: the interface stays without configuration.",
        mend: "Give the interface an address of the routes' family, or dhcp: true.",
        example: None,
    },
    Explanation {
        code: "token-without-eui64",
        title: "an IPv6 token with another way of making addresses",
        consequence: "NetworkManager refuses the whole profile: the interface stays without configuration.",
        mend: "Set addr-gen-mode: eui64, or remove the token.",
        example: None,
    },
];
