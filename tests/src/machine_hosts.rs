//! Documents of hosts that virtual machines boot as, and whether their networks are as the documents say.

use serde_json::Value;

use crate::report::Report;
use crate::state::differences;

/// The NIC of every machine.
pub const MAC: &str = "52:54:00:12:34:01";
/// The second NIC, if there is one.
pub const OTHER_MAC: &str = "52:54:00:12:34:02";

/// A static address for both families, on one NIC.
pub const STATIC: &str = "
interfaces:
- name: provisioning
  type: ethernet
  state: up
  identifier: mac-address
  mac-address: 52:54:00:12:34:01
  ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}
  ipv6: {enabled: true, address: [{ip: '2001:db8::10', prefix-length: 64}]}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: provisioning}]}
";

/// A bond of both NICs, with a VLAN.
pub const BOND_AND_VLAN: &str = "
interfaces:
- {name: uplink-a, type: ethernet, state: up, identifier: mac-address, mac-address: 52:54:00:12:34:01}
- {name: uplink-b, type: ethernet, state: up, identifier: mac-address, mac-address: 52:54:00:12:34:02}
- name: bond0
  type: bond
  state: up
  link-aggregation: {mode: active-backup, options: {miimon: '100'}, port: [uplink-a, uplink-b]}
- name: bond0.100
  type: vlan
  state: up
  vlan: {base-iface: bond0, id: 100}
  ipv4: {enabled: true, address: [{ip: 198.51.100.7, prefix-length: 24}]}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 198.51.100.1, next-hop-interface: bond0.100}]}
";

/// A static address of QEMU's own network, whose DHCP would offer 10.0.2.15.
pub const ON_QEMUS_NETWORK: &str = "
interfaces:
- name: provisioning
  type: ethernet
  state: up
  identifier: mac-address
  mac-address: 52:54:00:12:34:01
  ipv4: {enabled: true, address: [{ip: 10.0.2.77, prefix-length: 24}]}
  ipv6: {enabled: false}
dns-resolver: {config: {server: [10.0.2.3]}}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 10.0.2.2, next-hop-interface: provisioning}]}
";

/// The network is as the document says.
#[track_caller]
pub fn assert_network(document: &str, report: &Report) {
    let document: Value = serde_yaml::from_str(document).expect("YAML");
    assert_eq!(differences(&document, report), [""; 0], "{report:#?}");
}
