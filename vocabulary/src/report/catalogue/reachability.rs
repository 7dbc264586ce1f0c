//! That a host can be reached, and reaches what it needs: gateways, routes against each other, name servers.

use super::Explanation;

pub(super) const EXPLANATIONS: &[Explanation] = &[
    Explanation {
        code: "boot-nic-unused",
        title: "the NIC that the host boots from has no use in its network",
        consequence: "The system comes up without an address on the network that it was booted over: whoever waits for it \
                      there waits in vain.",
        mend: "Give the NIC an address, or make it a port of the bond or bridge that has one. If it is there for booting \
               only, there is nothing to mend.",
        example: None,
    },
    Explanation {
        code: "default-route-unused",
        title: "a default route that one from the network outdoes",
        consequence: "NetworkManager gives the default route that DHCP or router advertisements bring the metric that \
                      auto-route-metric says, or one by the type of the device (100 for a NIC), and the lowest metric wins: the \
                      route in the document is never used.",
        mend: "Set auto-gateway: false (in a keyfile: never-default=true) on the interface that learns the other one, or write \
               a lower metric.",
        example: None,
    },
    Explanation {
        code: "default-route-without-gateway",
        title: "a default route without a gateway on a link that others are on",
        consequence: "The host asks on the link for every address in the world. Unless a router answers in place of all of them \
                      (proxy ARP), nothing outside of the host's own network is reached.",
        mend: "Write the router's address as next-hop-address.",
        example: Some(
            "interfaces:\n- name: eth0\n  type: ethernet\n  ipv4:\n    enabled: true\n    address:\n    - ip: 192.0.2.10\n      \
             prefix-length: 24\nroutes:\n  config:\n  - destination: 0.0.0.0/0\n    next-hop-address: 192.0.2.1\n    \
             next-hop-interface: eth0\n",
        ),
    },
    Explanation {
        code: "default-routes-learned",
        title: "two interfaces that take a default route from the network",
        consequence: "Both get the same metric and the host uses that of the interface which is up first: from boot to boot \
                      it may be reached by another way.",
        mend: "Set auto-gateway: false (in a keyfile: never-default=true) on all but one, or give each an auto-route-metric \
               (route-metric) of its own.",
        example: Some(
            "interfaces:\n- name: eth0\n  type: ethernet\n  ipv4: {enabled: true, dhcp: true}\n- name: eth1\n  type: ethernet\n  \
             ipv4: {enabled: true, dhcp: true, auto-gateway: false}\n",
        ),
    },
    Explanation {
        code: "dns-server-unreachable",
        title: "a name server that the host has no way to",
        consequence: "Each question to it fails. With another one names are found late; without, they are not found at all: \
                      nothing can be fetched by name.",
        mend: "Add a route to it (a default route is one) that is in no VRF and in a table that a rule leads to, an address of its family, or another name server.",
        example: Some(
            "interfaces:\n- name: eth0\n  type: ethernet\n  ipv4:\n    enabled: true\n    address:\n    - ip: 192.0.2.10\n      \
             prefix-length: 24\nroutes:\n  config:\n  - destination: 0.0.0.0/0\n    next-hop-address: 192.0.2.1\n    \
             next-hop-interface: eth0\ndns-resolver:\n  config:\n    server: [198.51.100.53]\n",
        ),
    },
    Explanation {
        code: "dns-server-unusable",
        title: "a name server at an address that nobody has",
        consequence: "No question to it is ever answered.",
        mend: "Write the address of a name server.",
        example: None,
    },
    Explanation {
        code: "gateway-family",
        title: "a gateway of another family than the route's destination",
        consequence: "The route is lost: NetworkManager takes IPv4 routes by IPv4 gateways only, and IPv6 routes by those of \
                      IPv6.",
        mend: "Write a gateway of the destination's family.",
        example: None,
    },
    Explanation {
        code: "gateway-is-host",
        title: "a gateway that is the host itself",
        consequence: "No router is asked. IPv4 routes are there, and the kernel ignores their gateway: the host looks for every \
                      destination on its own link. IPv6 routes are refused by the kernel, and NetworkManager activates the \
                      profile without them. Either way, what the route leads to is not reached.",
        mend: "Write the router's address as next-hop-address. If the host has the router's address by mistake, give it \
               another.",
        example: None,
    },
    Explanation {
        code: "gateway-off-link",
        title: "a gateway that is in none of the interface's networks",
        consequence: "NetworkManager adds a route to the gateway itself on the interface, and then the route: both are there, and \
                      work only if a router with that address answers on this link, as with providers that route a prefix to \
                      each host. Otherwise what the route leads to is not reached; of a default route, that is everything outside \
                      of the host's own networks.",
        mend: "Correct the gateway, the address or its prefix-length, or name the interface that is in the gateway's network. \
               Where a router is meant to be outside of the network, add a route to it without next-hop-address.",
        example: Some(
            "interfaces:\n- name: eth0\n  type: ethernet\n  ipv4:\n    enabled: true\n    address:\n    - ip: 192.0.2.10\n      \
             prefix-length: 24\nroutes:\n  config:\n  - destination: 0.0.0.0/0\n    next-hop-address: 192.0.2.1\n    \
             next-hop-interface: eth0\n",
        ),
    },
    Explanation {
        code: "gateway-unusable",
        title: "a gateway at an address that no host can have",
        consequence: "Nobody answers there: what the route leads to is not reached.",
        mend: "Write the router's address.",
        example: None,
    },
    Explanation {
        code: "no-address",
        title: "a network without an address",
        consequence: "The host comes up and cannot be reached, nor does it reach anything.",
        mend: "Give an interface an address, or dhcp: true.",
        example: None,
    },
    Explanation {
        code: "route-lost",
        title: "a route that differs from another in its metric only",
        consequence: "nmstate takes the two for one and keeps either: the other is in no profile.",
        mend: "Take one of the two out; by the same gateway on the same interface it has no use.",
        example: None,
    },
    Explanation {
        code: "route-outside-vrf",
        title: "a route of a VRF's port in another table than the VRF's",
        consequence: "What is in the VRF looks for routes in the VRF's table, and does not find this one.",
        mend: "Add vrf-name to the route, or the VRF's table as table-id.",
        example: Some(
            "interfaces:\n- name: vrf0\n  type: vrf\n  vrf: {port: [eth1], route-table-id: 100}\n- name: eth1\n  type: ethernet\n  \
             ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}\nroutes:\n  config:\n  - destination: \
             0.0.0.0/0\n    next-hop-address: 192.0.2.1\n    next-hop-interface: eth1\n    vrf-name: vrf0\n",
        ),
    },
    Explanation {
        code: "routes-compete",
        title: "two routes to one destination with the same metric",
        consequence: "Of IPv4, the host takes the one whose interface is up first, and from boot to boot it may be the other one. \
                      Of IPv6, the kernel makes one route of both, and of two gateways each gets a part of the connections: \
                      what the one does not forward is lost. nmstate writes metric 0 for IPv4 and 1024 for IPv6 where a route \
                      has none; in a keyfile, it gets the metric of its device.",
        mend: "Give the one that is second best a greater metric; to use both, give each a weight.",
        example: Some(
            "interfaces:\n- name: eth0\n  type: ethernet\n  ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}\n\
             - name: eth1\n  type: ethernet\n  ipv4: {enabled: true, address: [{ip: 198.51.100.10, prefix-length: 24}]}\n\
             routes:\n  config:\n  - {destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: eth0}\n  - \
             {destination: 0.0.0.0/0, next-hop-address: 198.51.100.1, next-hop-interface: eth1, metric: 200}\n",
        ),
    },
    Explanation {
        code: "search-domain-invalid",
        title: "a search domain that is no name of a domain",
        consequence: "systemd-resolved leaves it out. Other resolvers look for names in a domain that does not exist, and short names are not found.",
        mend: "Write each domain as an entry of its own, such as example.com.",
        example: None,
    },
];
