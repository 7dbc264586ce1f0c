//! Lists that say which NICs the names of a network mean, and the NIC that a host boots from.

use super::Explanation;

pub(super) const EXPLANATIONS: &[Explanation] = &[
    Explanation {
        code: "boot-nic-down",
        title: "the NIC that the host boots from is down in its network",
        consequence: "Once the system on the image has started, the NIC with the bootMACAddress is not used.",
        mend: "Set state: up if the host is to be reached by it; leave it if the NIC is there for booting only.",
        example: None,
    },
    Explanation {
        code: "boot-nic-not-in-network",
        title: "the NIC that the host boots from is not in its network",
        consequence: "All NICs of the network are known by their MAC addresses, and none has the bootMACAddress: the NIC that \
                      the host boots from gets no profile of its own.",
        mend: "Compare bootMACAddress with the MAC addresses of the network: often one of them is that of another host. It is \
               right if the NIC is there for booting only.",
        example: None,
    },
    Explanation {
        code: "nic-identified-otherwise",
        title: "a NIC that the list and the network identify in different ways",
        consequence: "It is not clear which NIC is meant, so no profile is made.",
        mend: "Correct one of the two, or remove identifier from the network: the list says enough.",
        example: None,
    },
    Explanation {
        code: "nic-mac-ambiguous",
        title: "two names with one MAC address",
        consequence: "Both profiles match the same NIC, and one of them is never activated. Which, is chance.",
        mend: "Correct one of the two addresses.",
        example: None,
    },
    Explanation {
        code: "nic-mac-to-set",
        title: "a NIC in the list of MAC addresses for which the network sets another",
        consequence: "NMState has one mac-address for an interface: either it finds the NIC, or it is set on the NIC.",
        mend: "Remove mac-address from the network if it is the NIC's old address. If it is to be set, remove the NIC from the \
               list and call it by the kernel's name.",
        example: None,
    },
    Explanation {
        code: "nic-name-ambiguous",
        title: "one name with two MAC addresses",
        consequence: "It is not clear which NIC is meant, so no profile is made.",
        mend: "Remove one of the two, or give the second NIC a name of its own.",
        example: None,
    },
    Explanation {
        code: "nic-not-ethernet",
        title: "a MAC address for something that is no NIC",
        consequence: "Bonds, bridges and VLANs are made, not found: a MAC address says nothing about which is meant.",
        mend: "Remove it from the list; list the NICs that it is made of instead.",
        example: None,
    },
    Explanation {
        code: "nic-not-listed",
        title: "a NIC that is not in the list of MAC addresses",
        consequence: "The NIC is found by its name. Names such as eth0 depend on the order in which the kernel finds its NICs, \
                      and most systems do not use them: if no NIC is called so, the interface never comes up.",
        mend: "Add the NIC with its MAC address to the list.",
        example: None,
    },
    Explanation {
        code: "nic-unused",
        title: "a NIC in the list that the network says nothing about",
        consequence: "The entry has no effect. If the name is misspelt, the interface that was meant is looked for by its name.",
        mend: "Compare the name with those in the network, or remove the entry.",
        example: None,
    },
];
