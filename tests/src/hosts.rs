//! Hosts for benchmarks.

/// The NMState of a host with a bond and two VLANs on it, and addresses of its own.
pub fn bond_and_vlans(host: usize) -> String {
    let (high, low) = (host / 200, host % 200 + 10);
    format!(
        "hostname: {{config: host-{host}}}
interfaces:
- {{name: bond0, type: bond, state: up, link-aggregation: {{mode: active-backup, port: [eno1, eno2]}}}}
- name: bond0.10
  type: vlan
  state: up
  vlan: {{base-iface: bond0, id: 10}}
  ipv4: {{enabled: true, address: [{{ip: 10.10.{high}.{low}, prefix-length: 16}}]}}
- name: bond0.20
  type: vlan
  state: up
  vlan: {{base-iface: bond0, id: 20}}
  ipv4: {{enabled: true, address: [{{ip: 10.20.{high}.{low}, prefix-length: 16}}]}}
routes: {{config: [{{destination: 0.0.0.0/0, next-hop-address: 10.10.255.254, next-hop-interface: bond0.10}}]}}
dns-resolver: {{config: {{server: [10.10.0.1]}}}}
"
    )
}
