//! Interfaces: their names, their types, and their states.

use super::Explanation;

pub(super) const EXPLANATIONS: &[Explanation] = &[
    Explanation {
        code: "bond-mode-invalid",
        title: "a bond of mode unknown",
        consequence: "NetworkManager ignores the mode, and the bond is made with the kernel's usual one, balance-rr: switches \
                      that expect another one lose frames.",
        mend: "Write the mode that is meant, such as active-backup or 802.3ad.",
        example: None,
    },
    Explanation {
        code: "bridge-port-vlan-lost",
        title: "VLANs of a bridge's port that are in no profile",
        consequence: "The bridge filters VLANs and its port has none of these: their frames are dropped.",
        mend: "Add mode, access or trunk; in trunk-tags write id or id-range in an entry, not both.",
        example: Some(
            "interfaces:\n- name: br0\n  type: linux-bridge\n  bridge:\n    port:\n    - name: eth0\n      vlan:\n        mode: \
             trunk\n        trunk-tags:\n        - id: 10\n        - id-range: {min: 20, max: 30}\n  ipv4:\n    enabled: true\n    dhcp: true\n- name: eth0\n  type: ethernet\n",
        ),
    },
    Explanation {
        code: "interface-section-missing",
        title: "an interface whose type wants a section that is not there",
        consequence: "Its profile says nothing of what it stands on, and NetworkManager refuses it, or makes another thing of it.",
        mend: "Add the section that is called as the type, with what the interface stands on.",
        example: Some(
            "interfaces:\n- name: eth0.20\n  type: vlan\n  vlan:\n    base-iface: eth0\n    id: 20\n  ipv4:\n    enabled: true\n    \
             dhcp: true\n- name: eth0\n  type: ethernet\n",
        ),
    },
    Explanation {
        code: "interface-down",
        title: "an interface that is down",
        consequence: "The profile is on the host, and nothing activates it: the interface has no link and no address until \
                      somebody does.",
        mend: "Write state: up, unless this is what is wanted.",
        example: None,
    },
    Explanation {
        code: "interface-duplicate",
        title: "two interfaces of one name",
        consequence: "nmstate keeps one of the two: the settings of the other are missing on the host.",
        mend: "Merge the two entries, or correct the name of one.",
        example: None,
    },
    Explanation {
        code: "interface-left-out",
        title: "an interface that is absent or ignored",
        consequence: "It gets no profile. Before the first boot there is nothing to remove or to leave alone; NetworkManager \
                      may start DHCP on the NIC by itself.",
        mend: "Remove the entry, or describe the interface with state: up.",
        example: None,
    },
    Explanation {
        code: "interface-name-invalid",
        title: "a name that Linux refuses",
        consequence: "No interface can have this name: no profile ever applies, and the host comes up without it.",
        mend: "Give a name of 1 to 15 bytes without blanks, '/' and ':'; names of digits alone need quotes in YAML. A NIC that is \
               found by its MAC address (identifier: mac-address) may be called anything.",
        example: Some(
            "interfaces:\n- name: storage-network-left\n  type: ethernet\n  identifier: mac-address\n  mac-address: \
             52:54:00:00:00:01\n  ipv4: {enabled: true, dhcp: true}\n",
        ),
    },
    Explanation {
        code: "interface-name-missing",
        title: "an interface without a name",
        consequence: "Nothing says which interface of the host is meant.",
        mend: "Add name.",
        example: None,
    },
    Explanation {
        code: "interface-not-a-mapping",
        title: "an entry of interfaces that is no interface",
        consequence: "It describes nothing; usually the indentation has slipped.",
        mend: "Write each interface as a mapping with name and type.",
        example: Some("interfaces:\n- name: eth0\n  type: ethernet\n  ipv4: {enabled: true, dhcp: true}\n"),
    },
    Explanation {
        code: "interface-state-unknown",
        title: "an interface whose state is unknown",
        consequence: "nmstate makes no profile of it: the host comes up without the interface.",
        mend: "Write state: up, or leave state out. `nmstatectl show` prints unknown for devices that it does not manage.",
        example: None,
    },
    Explanation {
        code: "interface-type-missing",
        title: "an interface without a type",
        consequence: "It is taken as ethernet. A bond or a VLAN would not be made.",
        mend: "Add type.",
        example: None,
    },
    Explanation {
        code: "interface-type-unknown",
        title: "a type of interface that NMState does not know",
        consequence: "nmstate would take it as ethernet: what is described does not come to be on the host.",
        mend: "Use one of the types that the finding names; a bridge is linux-bridge, a team is better a bond.",
        example: None,
    },
    Explanation {
        code: "interface-type-unsupported",
        title: "a type of interface that no keyfile can make before the first boot",
        consequence: "The profile would be invalid or would never be activated: the host comes up without the interface.",
        mend: "Set it up after the installation, and give only the interfaces here that the host needs to boot and to install.",
        example: None,
    },
    Explanation {
        code: "interfaces-not-a-list",
        title: "interfaces that are no list",
        consequence: "Nothing can be read of the network.",
        mend: "Write interfaces as a list: each entry begins with '- '.",
        example: Some("interfaces:\n- name: eth0\n  type: ethernet\n  ipv4: {enabled: true, dhcp: true}\n"),
    },
    Explanation {
        code: "no-interfaces",
        title: "a network without interfaces",
        consequence: "No profile would be made: NetworkManager starts DHCP on every NIC, or nothing at all.",
        mend: "Describe at least one interface; if DHCP on every NIC is wanted, leave the network out altogether.",
        example: None,
    },
    Explanation {
        code: "no-keyfiles",
        title: "a network of which no profile comes out",
        consequence: "No profile is on the host: NetworkManager starts DHCP on every NIC, or nothing at all.",
        mend: "Describe at least one interface that is up.",
        example: None,
    },
    Explanation {
        code: "profile-name-empty",
        title: "a blank profile name",
        consequence: "The profile and its file have no name: no keyfile can be written.",
        mend: "Give profile-name some letters, or remove it: the interface's name is taken then.",
        example: None,
    },
    Explanation {
        code: "profile-name-path",
        title: "a profile name that reads as a path",
        consequence: "The name becomes the name of a file in NetworkManager's directory, and must not lead out of it.",
        mend: "Use a name without '/', other than '.' and '..'.",
        example: None,
    },
    Explanation {
        code: "reference-unknown",
        title: "a name that may be misspelt",
        consequence: "nmstate takes it for a NIC. If the host has none of this name, what is said of it never comes up: the port \
                      is missing, or the VLAN with its addresses.",
        mend: "Write the name of the interface as its entry has it; if it is a NIC, give it an entry of its own.",
        example: None,
    },
];
