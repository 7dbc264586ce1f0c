//! Routes and routing rules.

use super::Explanation;

pub(super) const EXPLANATIONS: &[Explanation] = &[
    Explanation {
        code: "route-left-out",
        title: "a route that is absent or ignored",
        consequence: "It gets no place in any profile. Before the first boot there is no route to remove.",
        mend: "Remove the entry, or its state if the route is wanted.",
        example: None,
    },
    Explanation {
        code: "route-rule-lost",
        title: "routing rules that are in no profile",
        consequence: "nmstate has left rules out: packets take another table on the host than described.",
        mend: "Check that ip-from and ip-to of each rule are of one family, and that no two are the same.",
        example: None,
    },
    Explanation {
        code: "route-rule-without-interface",
        title: "a routing rule that no interface can hold",
        consequence: "A rule stands in the profile of an interface with its family enabled, and there is none: the rule is \
                      missing on the host.",
        mend: "Enable the family (ipv4 or ipv6) of the rule on an interface, best on the one with the routes of its table.",
        example: None,
    },
    Explanation {
        code: "route-rule-without-priority",
        title: "a routing rule that could be mistaken for another",
        consequence: "Which rule is whose cannot be told without a priority: images would not be the same every time.",
        mend: "Add priority.",
        example: None,
    },
    Explanation {
        code: "route-without-destination",
        title: "a route without a destination",
        consequence: "nmstate leaves it out of the profile, so the host lacks it, the default route too.",
        mend: "Add destination: 0.0.0.0/0 or ::/0 for the default route.",
        example: None,
    },
    Explanation {
        code: "route-without-interface",
        title: "a route without an interface",
        consequence: "A route stands in the profile of its interface. This one is in none, and missing on the host.",
        mend: "Add next-hop-interface, even where next-hop-address would say it.",
        example: Some(
            "interfaces:\n- name: eth0\n  type: ethernet\n  ipv4:\n    enabled: true\n    address:\n    - ip: 192.0.2.10\n      \
             prefix-length: 24\nroutes:\n  config:\n  - destination: 0.0.0.0/0\n    next-hop-address: 192.0.2.1\n    \
             next-hop-interface: eth0\n",
        ),
    },
    Explanation {
        code: "route-source-not-own",
        title: "a route whose source is no address of the host",
        consequence: "The kernel refuses the route: it is missing on the host.",
        mend: "Write one of the host's own addresses as source, or remove source.",
        example: None,
    },
    Explanation {
        code: "route-table-without-rule",
        title: "a default route in a table that no rule leads to",
        consequence: "The host looks only into tables that a routing rule names, and into the main one: it never uses this route.",
        mend: "Add a routing rule with this route-table, or remove table-id, which puts the route into the main table.",
        example: Some(
            "interfaces:\n- name: eth0\n  type: ethernet\n  ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}\nroute-rules:\n  config:\n  - {ip-from: 192.0.2.0/24, route-table: 100, priority: 100}\nroutes:\n  config:\n  - destination: 0.0.0.0/0\n    next-hop-address: 192.0.2.1\n    next-hop-interface: eth0\n    table-id: 100\n",
        ),
    },
];
