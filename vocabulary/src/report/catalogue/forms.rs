//! Networks in other forms than keyfiles: systemd-networkd units, netplan, `OpenStack`'s network data.

use super::Explanation;

pub(super) const EXPLANATIONS: &[Explanation] = &[
    Explanation {
        code: "description-left-out",
        title: "a description that units cannot hold",
        consequence: "The unit has no description. Nothing else is different.",
        mend: "Remove blanks at its beginning and end, and a backslash at its end.",
        example: None,
    },
    Explanation {
        code: "drive-document",
        title: "a document for a data drive that is not of its form",
        consequence: "The drive is not made: what reads it on the host would fail.",
        mend: "Correct the document; the finding says what belongs there.",
        example: None,
    },
    Explanation {
        code: "keyfile-name-invalid",
        title: "a keyfile whose name cannot be a file's",
        consequence: "NetworkManager reads only files whose names end with .nmconnection, and no name may lead out of its directory.",
        mend: "Rename it to letters, digits, '-', '_' and '.', ending with .nmconnection.",
        example: None,
    },
    Explanation {
        code: "keyfiles-need-networkmanager",
        title: "keyfiles for a system without NetworkManager",
        consequence: "Nothing on the host reads keyfiles: it would come up without a network.",
        mend: "Describe the network in NMState, of which every form is made, or take a base with NetworkManager.",
        example: None,
    },
    Explanation {
        code: "needs-systemd-resolved",
        title: "name servers for a system with systemd-networkd",
        consequence: "networkd writes no resolv.conf: the name servers take effect where systemd-resolved runs, and nowhere else.",
        mend: "Nothing, if the base has systemd-resolved; else put a resolv.conf into the image.",
        example: None,
    },
    Explanation {
        code: "network-empty",
        title: "network data that describe no interface",
        consequence: "The host's network is not configured: it uses whatever its system does by itself, usually DHCP.",
        mend: "Describe the interfaces, or leave the network data out if this is what is wanted.",
        example: None,
    },
    Explanation {
        code: "not-in-netplan",
        title: "a setting that cloud-init's network-config cannot say",
        consequence: "The drive is not made: the host would come up with another network than described.",
        mend: "Remove the setting, or set it after the installation; or deliver keyfiles, which can say it.",
        example: None,
    },
    Explanation {
        code: "not-in-network-data",
        title: "a setting that OpenStack's network_data.json cannot say",
        consequence: "The drive is not made: the host would come up with another network than described.",
        mend: "Remove the setting, or set it after the installation; or deliver keyfiles, which can say it.",
        example: None,
    },
    Explanation {
        code: "not-in-networkd-units",
        title: "a setting that units of systemd-networkd cannot say",
        consequence: "The image is not made: the host would come up with another network than described.",
        mend: "Remove the setting, or set it after the installation; or take a base with NetworkManager.",
        example: None,
    },
];
