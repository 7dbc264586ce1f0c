//! Several documents that describe one host, or one cluster.

use super::Explanation;

pub(super) const EXPLANATIONS: &[Explanation] = &[
    Explanation {
        code: "documents-contradict",
        title: "two documents that say different things of one host or cluster",
        consequence: "Which of them is right cannot be known, and the host would be another than one of them describes.",
        mend: "Make the two places equal, or remove one. The finding names both.",
        example: None,
    },
    Explanation {
        code: "host-ambiguous",
        title: "a MAC address that leads to more than one host, or to one host twice",
        consequence: "Whose network it is cannot be known; one host would get the network of another.",
        mend: "Give each host the MAC addresses of its own NICs, and each host one such document.",
        example: None,
    },
    Explanation {
        code: "host-joined-by-mac",
        title: "documents that call one host by different names",
        consequence: "dayone puts into one host what both say, under the name of the first of BareMetalHost, install-config, \
                      agent-config and site.",
        mend: "Use one name in all documents. If they are two hosts, correct the MAC address.",
        example: None,
    },
    Explanation {
        code: "host-twice",
        title: "two hosts of one name",
        consequence: "They cannot be told apart: hosts are called by their names, whatever their namespaces.",
        mend: "Give them different names, or hand over one of them. Documents of different kinds that mean one machine are joined by \
               its name, or by the MAC address that it boots from.",
        example: None,
    },
    Explanation {
        code: "host-without-network",
        title: "a host whose network no document says",
        consequence: "It is left out: there is nothing to put into an image for it. Without such an image it has to get its address by \
                      DHCP.",
        mend: "Add its networkConfig, here or in the other of install-config.yaml and agent-config.yaml; if it uses DHCP, nothing is \
               to be done.",
        example: None,
    },
    Explanation {
        code: "network-missing",
        title: "an object without the network that it is there for",
        consequence: "There is nothing that the host could be given.",
        mend: "Put the NMState there: spec.config of an NMStateConfig, spec.desiredState of a NodeNetworkConfigurationPolicy.",
        example: None,
    },
    Explanation {
        code: "network-twice",
        title: "a host with two networks",
        consequence: "The two are different, and which of them is meant cannot be known.",
        mend: "Remove one. Of install-config.yaml and agent-config.yaml, one has the networkConfig; a BareMetalHost has a \
               preprovisioningNetworkDataName or an NMStateConfig.",
        example: None,
    },
    Explanation {
        code: "second-cluster",
        title: "documents of two clusters",
        consequence: "Hosts would be checked against another cluster's networks and virtual IPs.",
        mend: "Hand over the documents of one cluster at a time.",
        example: None,
    },
];
