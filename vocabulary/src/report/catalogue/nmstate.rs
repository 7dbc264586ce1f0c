//! What NMState can say and a first boot cannot do, whatever the interface.

use super::Explanation;

pub(super) const EXPLANATIONS: &[Explanation] = &[
    Explanation {
        code: "profile-refused",
        title: "a setting for which NetworkManager refuses the interface's whole profile",
        consequence: "nmstate writes the profile and NetworkManager does not load it: the interface stays without configuration.",
        mend: "Correct the setting: the finding says what NetworkManager takes.",
        example: None,
    },
    Explanation {
        code: "value-ignored",
        title: "a value that NetworkManager cannot read",
        consequence: "NetworkManager ignores the value with a line in its log, and uses the default instead.",
        mend: "Write a value that NetworkManager takes: the finding says which.",
        example: None,
    },
    Explanation {
        code: "value-unused",
        title: "a value that has no effect together with the others",
        consequence: "NetworkManager configures the interface without the value.",
        mend: "Remove the value, or change the setting that it depends on: the finding says which.",
        example: None,
    },
    Explanation {
        code: "dispatch-script",
        title: "dispatcher scripts in the network document",
        consequence: "Keyfiles cannot carry scripts: they are missing on the host.",
        mend: "Put the scripts into the image's Ignition config, or install them after the first boot.",
        example: None,
    },
    Explanation {
        code: "dns-interface-down",
        title: "name servers in the profile of an interface that is down",
        consequence: "nmstate gives name servers to the first interface that suits them, whether it is up or not: nobody brings \
                      this profile up, and the host has no name servers.",
        mend: "Move an interface that comes up, with static addresses of the servers' family, before the one that is down.",
        example: None,
    },
    Explanation {
        code: "dns-server-invalid",
        title: "a name server that is no address",
        consequence: "nmstate leaves it out without a word: the host does not ask it.",
        mend: "Write an address; a link-local one of IPv6 with the interface behind it, as fe80::1%eth0.",
        example: None,
    },
    Explanation {
        code: "dns-without-address",
        title: "name servers of a family that has only link-local addresses",
        consequence: "nmstate leaves them to an interface that NetworkManager allows none: it refuses the whole profile, and \
                      the interface stays without configuration.",
        mend: "Give an interface an address of the server's family, or leave the server out.",
        example: None,
    },
    Explanation {
        code: "mptcp",
        title: "multipath TCP flags",
        consequence: "nmstate writes them or not by a sysctl of the machine that it runs on, which is not the host: what the \
                      host gets would be chance.",
        mend: "Remove mptcp, and set it after the installation.",
        example: None,
    },
    Explanation {
        code: "needs-newer-networkmanager",
        title: "a setting that older releases of NetworkManager do not know",
        consequence: "The keyfile has it. A host whose NetworkManager is older than the finding says ignores it and comes up \
                      without it, or refuses the whole profile, so that the interface stays without configuration: which \
                      of the two, the finding says.",
        mend: "Say which release the host has (--base or --network-manager of `dayone check`) where 1.42 is assumed; take a \
               base with a later one, or do without the setting until after the installation.",
        example: None,
    },
    Explanation {
        code: "networkmanager-too-old",
        title: "a NetworkManager that is older than those that dayone knows",
        consequence: "What came with 1.30 or before is taken for known to it. A profile may ask for something that it ignores \
                      or refuses, and no finding says so.",
        mend: "Take a base with NetworkManager 1.30 (2021) or later, or try the profiles on one such host first.",
        example: None,
    },
    Explanation {
        code: "nmpolicy",
        title: "nmpolicy, which needs a running host",
        consequence: "Captures are filled in from the live state of a node. Before the first boot there is none, so nothing can \
                      be made of the document.",
        mend: "Write the interfaces out, at the top of the document.",
        example: None,
    },
    Explanation {
        code: "nmstate-defect",
        title: "a document that makes the nmstate library fail",
        consequence: "No keyfiles can be made of it. The defect is the library's.",
        mend: "Leave parts of the document out to find the one, and report it with the document.",
        example: None,
    },
    Explanation {
        code: "nmstate-refused",
        title: "a network that nmstate refuses",
        consequence: "nmstate's own checks say that it contradicts itself or cannot be made; its words are in the finding.",
        mend: "Correct the part that the finding's path names; it is the smallest without which nmstate does not complain.",
        example: None,
    },
    Explanation {
        code: "nmstate-schema",
        title: "a member that is not of NMState's schema",
        consequence: "The document cannot be read: an unknown key, or a value of the wrong type. Its words are nmstate's.",
        mend: "Correct the key or the value that the finding's path names. Keys are written with '-', not with '_'.",
        example: None,
    },
    Explanation {
        code: "not-in-keyfiles",
        title: "a setting that does not get into the keyfiles",
        consequence: "The host comes up without it. All else is as described.",
        mend: "Remove it, or set it after the installation; the finding says under which condition it would count.",
        example: None,
    },
    Explanation {
        code: "openvswitch",
        title: "Open vSwitch before the first boot",
        consequence: "openvswitch does not run in the ramdisk: the bridge never comes up, nor does what stands on it, and the \
                      host has no network.",
        mend: "Give plain interfaces here (the NIC, the bond, the VLAN with the host's address), and make the bridge in the second \
               step, after the installation: dayone second-step checks it and makes the MachineConfig that brings it.",
        example: None,
    },
    Explanation {
        code: "out-of-range",
        title: "a number that NetworkManager refuses",
        consequence: "nmstate passes it on, and NetworkManager refuses the whole profile: the interface stays without \
                      configuration.",
        mend: "Use a number within the bounds that the finding names.",
        example: None,
    },
    Explanation {
        code: "reported-only",
        title: "a member that NMState only reports",
        consequence: "It has no effect on the host. It is usually left over from `nmstatectl show`.",
        mend: "Remove it.",
        example: None,
    },
    Explanation {
        code: "semicolon-in-list",
        title: "a semicolon in an item of a list",
        consequence: "A keyfile separates the items of this list by ';': the host would read two items.",
        mend: "Write two items.",
        example: None,
    },
    Explanation {
        code: "unknown-key",
        title: "a key that nmstate ignores without a word",
        consequence: "The setting is missing on the host; usually the key is misspelt.",
        mend: "Use one of the keys that the finding names.",
        example: None,
    },
];
