//! Hosts that are written as Kubernetes objects.

use super::Explanation;

pub(super) const EXPLANATIONS: &[Explanation] = &[
    Explanation {
        code: "manifest-keyfiles",
        title: "keyfiles where a Secret takes NMState",
        consequence: "The Secret with a host's network holds NMState, which keyfiles are not turned into: no objects are made of \
                      this host.",
        mend: "Describe the host's network in NMState.",
        example: None,
    },
    Explanation {
        code: "manifest-name",
        title: "a host that no object can be called after",
        consequence: "Kubernetes refuses the object, or it takes the place of another host's.",
        mend: "Give each host a name of its own, of a-z, 0-9, '-' and '.'.",
        example: None,
    },
    Explanation {
        code: "manifest-without-bmc",
        title: "a BareMetalHost without a BMC",
        consequence: "Metal3 cannot switch the host on or boot it: it keeps the object as unmanaged.",
        mend: "Add the BMC's address and credentials to the host's document, or to the object.",
        example: None,
    },
    Explanation {
        code: "manifest-without-bmc-secret",
        title: "a BMC without credentials",
        consequence: "The BareMetalHost names a Secret that is not made: until it is there, Metal3 reports a registration error.",
        mend: "Add the BMC's user name and password to the host's document, or make the Secret yourself.",
        example: None,
    },
    Explanation {
        code: "manifest-without-boot-mac",
        title: "a BareMetalHost without the address of a NIC",
        consequence: "With a Redfish driver, Metal3 refuses to register a host whose bootMACAddress it does not know.",
        mend: "Add the MAC address of the NIC that the host boots from.",
        example: None,
    },
];
