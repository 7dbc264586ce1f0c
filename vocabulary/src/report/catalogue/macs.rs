//! How a profile finds its NIC: MAC addresses, PCI addresses and names.

use super::Explanation;

pub(super) const EXPLANATIONS: &[Explanation] = &[
    Explanation {
        code: "alias-as-kernel-name",
        title: "a name of the document's own where the kernel needs the NIC's",
        consequence: "The setting works only where the kernel calls the NIC by this name. Otherwise a bond comes up without a \
                      primary port, a routing rule matches nothing, and a veth does not come up.",
        mend: "If this is the kernel's name, nothing has to be done. To be certain, identify the NIC by its name (remove \
               identifier, or take the NIC out of the list of MAC addresses), or do without the setting.",
        example: None,
    },
    Explanation {
        code: "identifier-type",
        title: "an identifier that interfaces of this type do not have",
        consequence: "The profile would lose its identifier and match any device.",
        mend: "Remove identifier: only NICs are found by an address; bonds, bridges and VLANs are made by their names.",
        example: None,
    },
    Explanation {
        code: "mac-address-duplicate",
        title: "two interfaces with the same MAC address as identifier",
        consequence: "Both profiles match the same NIC, and one of them is never activated. Which, is chance.",
        mend: "Correct one of the two addresses.",
        example: None,
    },
    Explanation {
        code: "mac-address-invalid",
        title: "a MAC address that is none",
        consequence: "NetworkManager refuses the profile, or no NIC has the address: the interface stays without configuration.",
        mend: "Write six pairs of hexadecimal digits with colons, in quotes: some, such as 52:54:00:12:34:56, are numbers to \
               YAML 1.1.",
        example: Some(
            "interfaces:\n- name: eth0\n  type: ethernet\n  identifier: mac-address\n  mac-address: \"52:54:00:00:00:01\"\n  \
             ipv4: {enabled: true, dhcp: true}\n",
        ),
    },
    Explanation {
        code: "mac-address-missing",
        title: "a NIC identified by a MAC address that is not given",
        consequence: "The profile would match any NIC of the host.",
        mend: "Add mac-address beside identifier, or remove identifier.",
        example: Some(
            "interfaces:\n- name: eth0\n  type: ethernet\n  identifier: mac-address\n  mac-address: \"52:54:00:00:00:01\"\n  \
             ipv4: {enabled: true, dhcp: true}\n",
        ),
    },
    Explanation {
        code: "pci-address-missing",
        title: "a NIC identified by a PCI address that is not given",
        consequence: "The profile would match any NIC of the host.",
        mend: "Add pci-address beside identifier, as `lspci -D` prints it, or remove identifier.",
        example: Some(
            "interfaces:\n- name: eth0\n  type: ethernet\n  identifier: pci-address\n  pci-address: \"0000:3b:00.0\"\n  ipv4: \
             {enabled: true, dhcp: true}\n",
        ),
    },
];
