//! Host names.

use super::Explanation;

pub(super) const EXPLANATIONS: &[Explanation] = &[
    Explanation {
        code: "hostname-invalid",
        title: "a host name that Linux does not take",
        consequence: "The name cannot be set: the host would be called localhost, or whatever DHCP says.",
        mend: "Use letters, digits, '-' and '.', at most 64 bytes; put quotes around what YAML would read as a number.",
        example: Some(
            "hostname:\n  config: worker-0.example.com\ninterfaces:\n- name: eth0\n  type: ethernet\n  ipv4: {enabled: true, dhcp: \
             true}\n",
        ),
    },
    Explanation {
        code: "hostname-not-derivable",
        title: "an object's name that cannot be the host name",
        consequence: "No host name is put into the image: the host takes what DHCP or reverse DNS say, or is called localhost.",
        mend: "Set hostname.config in the NMState document, or give the object a name of at most 64 bytes.",
        example: None,
    },
    Explanation {
        code: "hostname-localhost",
        title: "a host that is called localhost",
        consequence: "NetworkManager takes localhost for no name, and asks DHCP and the DNS for another one. A cluster refuses a node of this name.",
        mend: "Give the host a name of its own in hostname.config, or leave hostname out.",
        example: None,
    },
];
