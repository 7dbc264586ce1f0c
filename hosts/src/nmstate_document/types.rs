//! The types of interfaces: those whose profiles come out whole, and those that dayone refuses.

/// Interface types that dayone refuses, and why.
pub(crate) const REFUSED_TYPES: &[(&str, &str, &str)] = &[
    ("ovs-bridge", OPENVSWITCH, OPENVSWITCH_REASON),
    ("ovs-interface", OPENVSWITCH, OPENVSWITCH_REASON),
    ("hsr", "interface-type-unsupported", NO_SECTION),
    ("ip-tunnel", "interface-type-unsupported", NO_SECTION),
    ("ipvlan", "interface-type-unsupported", NO_SECTION),
    ("xfrm", "interface-type-unsupported", NO_SECTION),
    (
        "ipsec",
        "interface-type-unsupported",
        "NetworkManager never activates a VPN profile by itself; set the tunnel up after the installation",
    ),
    ("tun", "interface-type-unsupported", "NMState only reports interfaces of this type and does not make them"),
];

/// The code of findings about Open vSwitch.
pub(crate) const OPENVSWITCH: &str = "openvswitch";
/// Why Open vSwitch is refused.
pub(crate) const OPENVSWITCH_REASON: &str = "openvswitch does not run in the ramdisk, so the host would not come up; configure it in the second step, after \
     the installation (on OpenShift a MachineConfig with /etc/nmstate/openshift/<host>.yml), and give plain \
     interfaces here";
const NO_SECTION: &str =
    "nmstate writes no section for this type, so the profile would be invalid; set it up after the installation";

/// Interface types whose profiles come out whole.
pub(crate) const SUPPORTED_TYPES: &[&str] = &[
    "bond",
    "dummy",
    "ethernet",
    "infiniband",
    "linux-bridge",
    "loopback",
    "mac-vlan",
    "mac-vtap",
    "macsec",
    "veth",
    "vlan",
    "vrf",
    "vxlan",
];
