//! The second step: `br-ex` after the installation, and what it has in common with the first one.

use super::Explanation;

pub(super) const EXPLANATIONS: &[Explanation] = &[
    Explanation {
        code: "br-ex-mac",
        title: "br-ex without a certain MAC address",
        consequence: "Open vSwitch chooses the address of br-ex itself, and may choose another one later: a DHCP server gives \
                      another address then, and switches that know the old one drop packets.",
        mend: "Write copy-mac-from with the name of the NIC, bond or VLAN that the bridge stands on.",
        example: None,
    },
    Explanation {
        code: "br-ex-missing",
        title: "no br-ex in the second step",
        consequence: "OVN-Kubernetes finds no bridge to the network outside, and OpenShift's own script does not make one where \
                      there is a document: the node is never ready.",
        mend: "Describe br-ex twice: as ovs-bridge with its ports, and as ovs-interface with the host's addresses.",
        example: None,
    },
    Explanation {
        code: "br-ex-not-a-port",
        title: "an interface br-ex that is no port of its bridge",
        consequence: "NetworkManager does not activate the interface: the host has no address.",
        mend: "Add br-ex to the ports of the ovs-bridge br-ex.",
        example: None,
    },
    Explanation {
        code: "br-ex-several-uplinks",
        title: "a bridge with several ways out",
        consequence: "OVN-Kubernetes uses one of them, and the bridge forwards between them: a loop, if both lead to the same \
                      network.",
        mend: "Make a bond of the NICs, and the bond the port of the bridge.",
        example: None,
    },
    Explanation {
        code: "br-ex-without-address",
        title: "br-ex without an address",
        consequence: "The NIC has given its address away, and nothing has it: the host is cut off.",
        mend: "Give the ovs-interface br-ex the addresses that the NIC has in the first step, or DHCP.",
        example: None,
    },
    Explanation {
        code: "br-ex-without-uplink",
        title: "a bridge that leads nowhere",
        consequence: "Nothing connects br-ex with the network outside: the host is cut off.",
        mend: "Add the NIC, the bond or the VLAN that has the host's network to the ports of the ovs-bridge br-ex.",
        example: None,
    },
    Explanation {
        code: "derive-nic-by-mac",
        title: "a second step that cannot be derived: a NIC is known by its address only",
        consequence: "The first step finds the NIC whatever the kernel calls it; Open vSwitch needs the kernel's name. Nothing \
                      is derived for this host.",
        mend: "Where the documents call the NIC what the kernel calls it, say --real-names; else write the document yourself.",
        example: None,
    },
    Explanation {
        code: "derive-uplink",
        title: "a second step that cannot be derived: it is not clear what br-ex stands on",
        consequence: "Nothing is derived for this host.",
        mend: "Write the document of the second step yourself, with br-ex over the NIC, bond or VLAN that is meant.",
        example: None,
    },
    Explanation {
        code: "interface-name-reserved",
        title: "a name that OVN-Kubernetes gives to an interface of its own",
        consequence: "OVN-Kubernetes takes the interface for its own, or cannot make its own: pods or the whole node have no \
                      network.",
        mend: "Call it otherwise.",
        example: None,
    },
    Explanation {
        code: "machine-config-too-large",
        title: "a MachineConfig that Kubernetes does not store",
        consequence: "The API server refuses the object, and none of its hosts gets its document.",
        mend: "Divide the hosts into several roles (pools of machines), each with a MachineConfig of its own; or write one \
               cluster.yml for hosts that differ in nothing, such as those with DHCP.",
        example: None,
    },
    Explanation {
        code: "second-step-address",
        title: "br-ex has not the address of the first step",
        consequence: "The node's address changes when the second step is applied: certificates, DNS and what other nodes know of it \
                      are of the old one.",
        mend: "Give br-ex the address and the prefix length that the NIC has in the first step.",
        example: None,
    },
    Explanation {
        code: "second-step-default-route",
        title: "the default route of the first step is not br-ex's",
        consequence: "Routes by the NIC go with its addresses. Without a default route by br-ex the host reaches its own network \
                      only; by another gateway, perhaps not what it reached before.",
        mend: "Write the default route of the first step with next-hop-interface br-ex.",
        example: None,
    },
    Explanation {
        code: "second-step-host-not-in-first-step",
        title: "a second step for a host that the first step does not know",
        consequence: "The file is named after a host that does not exist, so no host takes it.",
        mend: "Compare the file's name with the host's, or add the host's documents to the first step.",
        example: None,
    },
    Explanation {
        code: "second-step-host-unknown",
        title: "a document of the second step that names no host",
        consequence: "The host finds its file by its own name. Without one, there is no file.",
        mend: "Call the file after the host, <host>.yml, or cluster.yml if it is for all hosts.",
        example: None,
    },
    Explanation {
        code: "second-step-keyfiles",
        title: "keyfiles where the second step needs NMState",
        consequence: "The installed system applies the second step by nmstate, which does not read keyfiles.",
        mend: "Write the document of the second step in NMState.",
        example: None,
    },
    Explanation {
        code: "second-step-missing",
        title: "a host without a document for the second step",
        consequence: "OpenShift's own script makes br-ex of this host, over the interface with the default route. Its other hosts \
                      have theirs from the MachineConfig.",
        mend: "Nothing, if this is meant; else write a document for the host, or cluster.yml for all that have none.",
        example: None,
    },
    Explanation {
        code: "second-step-mtu",
        title: "br-ex has another MTU than the NIC had",
        consequence: "Packets have another greatest size than in the first step: 1500 bytes, where nothing is said.",
        mend: "Write the MTU of the first step to the ovs-interface br-ex, and to the NIC.",
        example: None,
    },
    Explanation {
        code: "second-step-name-servers",
        title: "other name servers than in the first step",
        consequence: "Name servers belong to the profile of the NIC, which gives its addresses away: from then on those of the \
                      second step are asked, or none.",
        mend: "Write the name servers of the first step into dns-resolver of the second one.",
        example: None,
    },
    Explanation {
        code: "second-step-name-taken",
        title: "a name that the second step needs",
        consequence: "Profiles and interfaces of the first step are still there when the second one is applied: one of two with the \
                      same name is not made, or takes the other's place.",
        mend: "Call the interface or the profile of the first step otherwise.",
        example: None,
    },
    Explanation {
        code: "second-step-nic-by-mac",
        title: "a bridge over a NIC that the first step knows by its address",
        consequence: "The first step finds the NIC whatever the kernel calls it, Open vSwitch by that name only: if the bridge \
                      stands on another name, the host is cut off.",
        mend: "Write the name that the kernel gives the NIC, and look that it is the same NIC.",
        example: None,
    },
    Explanation {
        code: "second-step-other-nic",
        title: "br-ex stands on another NIC than the host's network is on",
        consequence: "The addresses move to a bridge with another cable: the host is cut off, unless both lead to the same \
                      network.",
        mend: "Make the NIC, bond or VLAN of the first step the port of the bridge.",
        example: None,
    },
    Explanation {
        code: "second-step-role",
        title: "a host whose role is not known",
        consequence: "A MachineConfig is for one pool of machines, told by the role in its label. No host would take it without.",
        mend: "Say --role, or hand over the install-config or agent-config that has the roles with --first-step.",
        example: None,
    },
    Explanation {
        code: "second-step-route-lost",
        title: "a route of the first step that the second one loses",
        consequence: "Routes by the NIC go with its addresses, unless the second step has them by br-ex.",
        mend: "Write the route with next-hop-interface br-ex.",
        example: None,
    },
    Explanation {
        code: "second-step-same-file",
        title: "two hosts whose file would be the same",
        consequence: "A host takes the file that is called after the part of its name before the first dot. Where two hosts share \
                      that, both take the same document, and with it the same address.",
        mend: "Rename one of the hosts, or put them into different roles in two runs.",
        example: None,
    },
    Explanation {
        code: "second-step-shared-address",
        title: "an address in a document for all hosts",
        consequence: "All hosts of the role would have the same address, and fight for it.",
        mend: "Write one document for each host, <host>.yml.",
        example: None,
    },
    Explanation {
        code: "uplink-has-address",
        title: "an address on a port of the bridge",
        consequence: "nmstate refuses the whole document, and the node has no br-ex.",
        mend: "Set enabled: false for the family on the port, and give the address to the ovs-interface br-ex.",
        example: None,
    },
];
