//! What `OpenShift`'s own documents hold besides a network: lists of NICs, and whom a policy is for.

use super::Explanation;

pub(super) const EXPLANATIONS: &[Explanation] = &[
    Explanation {
        code: "nics-missing",
        title: "a host without the list of its NICs",
        consequence: "Nobody would know which machine the network is for, nor which of its NICs is meant by a name. OpenShift refuses the \
                      document, too.",
        mend: "List the NICs under interfaces, each with the name that the network calls it and its MAC address.",
        example: None,
    },
    Explanation {
        code: "policy-capture",
        title: "a policy that captures the state of a node",
        consequence: "nmpolicy looks at a node that runs. Before the first boot there is none, so what it would find is not known.",
        mend: "Write down what the expression stands for: the name of the NIC, the address, the route.",
        example: None,
    },
    Explanation {
        code: "policy-left-aside",
        title: "a policy that is for a running host",
        consequence: "It has no effect on the first boot: the host has its network for that from another document. The operator in the \
                      cluster applies the policy later.",
        mend: "Nothing, if that is meant. To make an image of policies, hand them over without the other network.",
        example: None,
    },
    Explanation {
        code: "policy-selector",
        title: "a policy for nodes that are selected by labels",
        consequence: "Labels are given to nodes when they have joined the cluster. Before the first boot nobody knows whom it is for.",
        mend: "Select the host by its name, or leave the selector out if the policy is for every host here.",
        example: Some("nodeSelector:\n  kubernetes.io/hostname: worker-0\n"),
    },
    Explanation {
        code: "policy-without-host",
        title: "policies that name no host",
        consequence: "What they want together is taken for one host, which has no name; in the cluster they are for every node.",
        mend: "Name the host under nodeSelector, or hand over the host's own document as well.",
        example: Some("nodeSelector:\n  kubernetes.io/hostname: worker-0\n"),
    },
    Explanation {
        code: "machine-network-address",
        title: "a machine network that is an address in one",
        consequence: "The installer of OpenShift refuses it.",
        mend: "Write the address of the network itself, with zeros behind the prefix: 192.0.2.0/24.",
        example: None,
    },
];
