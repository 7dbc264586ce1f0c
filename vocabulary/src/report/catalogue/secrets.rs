//! Secrets: those with the network of a host, and those with the credentials of its BMC.

use super::Explanation;

pub(super) const EXPLANATIONS: &[Explanation] = &[
    Explanation {
        code: "bmc-secret-empty",
        title: "an empty user name or password of a BMC",
        consequence: "The BMC cannot be driven: no medium is inserted, and the host is not started.",
        mend: "Put the name and the password into the Secret, under username and password.",
        example: None,
    },
    Explanation {
        code: "bmc-secret-missing",
        title: "the Secret with a BMC's credentials is not here",
        consequence: "The BMC cannot be driven: no medium is inserted, and the host is not started.",
        mend: "Hand over the Secret, too, or correct spec.bmc.credentialsName.",
        example: None,
    },
    Explanation {
        code: "bmc-secret-not-named",
        title: "a BMC without credentials",
        consequence: "The BMC cannot be driven: no medium is inserted, and the host is not started.",
        mend: "Name the Secret with username and password in spec.bmc.credentialsName.",
        example: None,
    },
    Explanation {
        code: "bmc-secret-not-text",
        title: "a user name or password of a BMC that is not text",
        consequence: "The BMC cannot be driven: no medium is inserted, and the host is not started.",
        mend: "Save it as UTF-8; under data it is base64 of the text, once.",
        example: None,
    },
    Explanation {
        code: "network-secret-forms",
        title: "a Secret with a host's network in two forms",
        consequence: "Which of the two is meant cannot be known, and the host is not built.",
        mend: "Leave in the Secret either the profiles (.nmconnection), or nmstate or networkData.",
        example: None,
    },
    Explanation {
        code: "network-secret-key",
        title: "a key that does not say what it holds",
        consequence: "Whoever else reads the Secret goes by its keys: under nmstate NMState, under networkData network_data.json.",
        mend: "Call the key by what it holds: nmstate, or networkData.",
        example: None,
    },
    Explanation {
        code: "network-secret-missing",
        title: "the Secret with a host's network is not here",
        consequence: "The host's network is not known, and the host is not built.",
        mend: "Hand over the Secret, too, or correct its name or its namespace: it has to be in the host's.",
        example: None,
    },
    Explanation {
        code: "network-secret-not-named",
        title: "a host that names no Secret with its network",
        consequence: "The host is left out: there is nothing to put into an image for it. Without such an image it has to get its \
                      address by DHCP.",
        mend: "Name the Secret in spec.preprovisioningNetworkDataName. spec.networkData is for the installed system, and comes too \
               late. If the host uses DHCP, do nothing.",
        example: Some(
            "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: worker-0\nspec:\n  \
             preprovisioningNetworkDataName: worker-0-network\n---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: \
             worker-0-network\nstringData:\n  nmstate: |\n    interfaces:\n    - name: eth0\n      type: ethernet\n      ipv4: \
             {enabled: true, dhcp: true}\n",
        ),
    },
    Explanation {
        code: "nmstate-empty",
        title: "a key for the network with nothing in it",
        consequence: "The host's network is not known, and the host is not built.",
        mend: "Put the NMState document there.",
        example: None,
    },
    Explanation {
        code: "nmstate-not-mapping",
        title: "a key for the network that holds no NMState",
        consequence: "The host's network is not known, and the host is not built.",
        mend: "Put the NMState document there: a mapping that begins with interfaces:. Under data it is base64 of the text, once.",
        example: None,
    },
    Explanation {
        code: "nmstate-several-documents",
        title: "several documents where one belongs",
        consequence: "Which one is the host's network cannot be known, and the host is not built.",
        mend: "Merge them into one, without --- lines.",
        example: None,
    },
    Explanation {
        code: "secret-key-missing",
        title: "a Secret without the key that is read",
        consequence: "What it was to hold is not known, and the host is not built.",
        mend: "Rename the key, or add it: the finding says which is read, and which are there.",
        example: None,
    },
    Explanation {
        code: "secret-not-base64",
        title: "a Secret whose data is not base64",
        consequence: "It cannot be read; the API server would refuse it as well.",
        mend: "Put plain text under stringData, or its base64 under data.",
        example: None,
    },
    Explanation {
        code: "secret-unused",
        title: "a Secret that no host names",
        consequence: "Nothing of it reaches any host; perhaps a host was to name it and does not.",
        mend: "Check the names of Secrets in the hosts, and the namespaces; or leave the Secret out.",
        example: None,
    },
];
