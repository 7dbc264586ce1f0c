//! The network of one host. The acceptance tests use this file, too.

/// NMState of one host.
pub const NMSTATE: &str = "\
interfaces:
- name: eth0
  type: ethernet
  state: up
  ipv4:
    enabled: true
    address:
    - ip: 192.0.2.20
      prefix-length: 24
";

/// [`NMSTATE`] with an address of the host's own: `worker-1` has 192.0.2.21.
pub fn nmstate_of(name: &str) -> String {
    let number = name.rsplit('-').next().and_then(|number| number.parse::<u8>().ok()).unwrap_or_default();
    NMSTATE.replace("192.0.2.20", &format!("192.0.2.{}", 20 + number))
}
