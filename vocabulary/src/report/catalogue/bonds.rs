//! Bonds and bridges, and their ports.

use super::Explanation;

pub(super) const EXPLANATIONS: &[Explanation] = &[
    Explanation {
        code: "copy-mac-from",
        title: "the MAC address to copy is not known",
        consequence: "The bond or bridge comes up with a MAC address of the kernel's choice: DHCP reservations and \
                      port security by MAC address do not fit.",
        mend: "Write mac-address instead, or give the NIC that is named here its own mac-address. copy-mac-from is for \
               bonds and Linux bridges only.",
        example: Some(
            "interfaces:\n- name: bond0\n  type: bond\n  state: up\n  mac-address: 52:54:00:00:00:01\n  link-aggregation:\n    \
             mode: active-backup\n    port: [eth0, eth1]\n  ipv4: {enabled: true, dhcp: true}\n",
        ),
    },
    Explanation {
        code: "copy-mac-from-boot-nic",
        title: "the MAC address to copy was taken to be that of the boot NIC",
        consequence: "The bond or bridge gets the host's bootMACAddress. That is right if the NIC named here is the one that the \
                      host boots from; the document itself does not say so.",
        mend: "Write mac-address instead of copy-mac-from, and nothing is assumed.",
        example: None,
    },
    Explanation {
        code: "bond-min-links",
        title: "a bond that needs more links than it has ports",
        consequence: "The kernel takes the bond's carrier away as long as fewer ports than min_links are up. That is always: the bond never has a link.",
        mend: "Write a min_links of at most the number of ports, or add the missing ports.",
        example: None,
    },
    Explanation {
        code: "bond-of-one-port",
        title: "a bond with LACP and one port",
        consequence: "The bond works, and has no second link to fall back on.",
        mend: "List the other ports in link-aggregation.port. If one is meant, there is nothing to fix.",
        example: None,
    },
    Explanation {
        code: "bond-primary-unknown",
        title: "a bond whose primary is no port of it",
        consequence: "The bond takes another port as the active one, and never prefers the one that primary names.",
        mend: "Write the name of one of the ports as primary.",
        example: None,
    },
];
