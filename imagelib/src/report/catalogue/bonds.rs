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
];
