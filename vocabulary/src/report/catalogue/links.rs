//! What interfaces are made of: VLANs, bonds, bridges, VRFs, and their MTUs.

use super::Explanation;

pub(super) const EXPLANATIONS: &[Explanation] = &[
    Explanation {
        code: "bond-without-ports",
        title: "a bond that has no port which comes up",
        consequence: "The bond never has a link, and its addresses and VLANs never carry anything.",
        mend: "List its ports in link-aggregation.port, and let one of them be up.",
        example: Some(
            "interfaces:\n- name: bond0\n  type: bond\n  link-aggregation:\n    mode: active-backup\n    port: [eth0, eth1]\n  \
             ipv4: {enabled: true, dhcp: true}\n",
        ),
    },
    Explanation {
        code: "interface-loop",
        title: "an interface that stands on itself",
        consequence: "Each waits for the other to be there: none of them ever comes up, nor what stands on them.",
        mend: "Look at base-iface and at the lists of ports along the way that the finding names, and take one step out.",
        example: None,
    },
    Explanation {
        code: "mac-address-unusable",
        title: "a MAC address that no single interface can have",
        consequence: "No NIC has it, so a profile that looks for its NIC by it matches nothing. Of an address to set, the kernel \
                      refuses it, and the interface does not come up.",
        mend: "Write an address of one interface: the lowest bit of its first byte is 0, and it is not all zeros. For one of \
               your own making let it begin with 02.",
        example: None,
    },
    Explanation {
        code: "mtu-above-parent",
        title: "an MTU that is greater than that of the interface below",
        consequence: "The kernel refuses an MTU above that of the interface on which a VLAN or MACVLAN stands, and for a VXLAN \
                      above that less 50: it keeps the lower one, and larger packets are cut up or lost. A VLAN that is given \
                      none has that of its parent, and a bridge the least of its ports.",
        mend: "Give the interface below at least the same mtu; below a VXLAN 50 more, over IPv6 70.",
        example: Some(
            "interfaces:\n- name: eth0\n  type: ethernet\n  mtu: 9000\n- name: eth0.20\n  type: vlan\n  mtu: 9000\n  vlan: \
             {base-iface: eth0, id: 20}\n  ipv4: {enabled: true, dhcp: true}\n",
        ),
    },
    Explanation {
        code: "mtu-of-port",
        title: "a port with another MTU than its bond or bridge",
        consequence: "A bond gives its ports its own MTU, whatever they are given. A bridge with a greater MTU than a port's loses \
                      larger packets there.",
        mend: "Give the bond or bridge and all its ports the same mtu.",
        example: None,
    },
    Explanation {
        code: "parent-down",
        title: "an interface on one that is down",
        consequence: "What it stands on does not come up by itself; most likely neither does it.",
        mend: "Set the state of the interface below to up.",
        example: None,
    },
    Explanation {
        code: "vlan-twice",
        title: "one VLAN of one interface, twice",
        consequence: "The kernel makes one interface for a VLAN identifier on a parent. The second profile fails, and its \
                      addresses are missing.",
        mend: "Correct the id or base-iface of one, or make the two one interface with both addresses.",
        example: None,
    },
    Explanation {
        code: "vlan-id-zero",
        title: "a VLAN with the identifier 0",
        consequence: "Frames are sent with a priority and without a VLAN: the interface is in the network that its parent is in.",
        mend: "Write the identifier of the VLAN, 1 to 4094; for the untagged network put the addresses on the parent.",
        example: None,
    },
    Explanation {
        code: "vlan-on-port",
        title: "a VLAN on a port of a bond",
        consequence: "The VLAN uses that one port, past the bond: it fails with it, and what the switch sends by other ports does \
                      not arrive.",
        mend: "Name the bond as base-iface.",
        example: None,
    },
    Explanation {
        code: "vrf-table-shared",
        title: "a VRF whose table others use, too",
        consequence: "Routes of the one are found by the other: what the VRF was to keep apart is not apart.",
        mend: "Give each VRF a route-table-id of its own, other than 253 to 255.",
        example: None,
    },
    Explanation {
        code: "mtu-unusable",
        title: "an MTU that no interface of the type can have",
        consequence: "The kernel refuses it, and the interface keeps the MTU of its driver.",
        mend: "Write an mtu of 68 to 65535, for a NIC as its data sheet and the switch allow: 1500, or 9000 for jumbo frames.",
        example: None,
    },
    Explanation {
        code: "type-unlike-name",
        title: "a NIC with the name of a bond, bridge or VLAN",
        consequence: "NetworkManager waits for a NIC of this name, and there is none: the interface and its addresses never come up.",
        mend: "Write the type of the interface, with its own section (vlan, link-aggregation, bridge); or give the NIC its own name.",
        example: Some(
            "interfaces:\n- name: eth0.20\n  type: vlan\n  vlan: {base-iface: eth0, id: 20}\n  ipv4: {enabled: true, dhcp: true}\n",
        ),
    },
    Explanation {
        code: "veth-peer",
        title: "a pair of interfaces whose ends do not name each other",
        consequence: "The kernel makes both ends of a pair at once, and refuses a name that it has already: one of the interfaces is missing.",
        mend: "Write in veth.peer of each end the name of the other end.",
        example: Some(
            "interfaces:\n- {name: veth0, type: veth, veth: {peer: veth1}, ipv4: {enabled: true, dhcp: true}}\n- {name: veth1, type: veth, veth: {peer: veth0}}\n",
        ),
    },
    Explanation {
        code: "vlan-unlike-name",
        title: "a VLAN whose name says another id or another interface",
        consequence: "The kernel uses the id and base-iface of the settings, whatever the name is: if the name is right, the host is in the wrong VLAN.",
        mend: "Correct vlan.id, vlan.base-iface or the name.",
        example: None,
    },
];
