//! Racks of hosts as Metal3 has them: for what has to be seen at the size of a data centre.

use std::fmt::Write as _;

/// Hosts in a rack. Each rack has its networks, as where switches at its top route.
pub const HOSTS_OF_A_RACK: usize = 40;

/// A host by its number: two NICs in a bond, a VLAN with the address of each family that it is reached by, and a VLAN for
/// storage.
#[derive(Debug, Clone)]
pub struct RackHost {
    number: usize,
    /// The address in the rack's machine network.
    pub address: String,
    /// The MAC address of its first NIC, by which it boots.
    pub boot_mac: String,
}

/// The first `count` hosts.
pub fn hosts(count: usize) -> Vec<RackHost> {
    (0..count).map(RackHost::new).collect()
}

/// Their documents in one stream: a `BareMetalHost` and the Secret with its network for each, and one Secret for all BMCs.
pub fn stream(hosts: &[RackHost]) -> String {
    let mut text = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: bmc\n  namespace: racks\n\
                    stringData:\n  username: admin\n  password: secret\n"
        .to_owned();
    for host in hosts {
        let name = host.name();
        write!(
            text,
            "---
apiVersion: v1
kind: Secret
metadata:
  name: {name}-network
  namespace: racks
type: Opaque
stringData:
  nmstate: |
{}---
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata:
  name: {name}
  namespace: racks
  labels:
    topology.example.com/rack: rack-{}
spec:
  online: true
  architecture: x86_64
  bootMode: UEFI
  bootMACAddress: \"{}\"
  bmc:
    address: redfish-virtualmedia+https://10.255.{}.{}/redfish/v1/Systems/1
    credentialsName: bmc
    disableCertificateVerification: true
  rootDeviceHints:
    deviceName: /dev/disk/by-path/pci-0000:00:17.0-ata-1
  preprovisioningNetworkDataName: {name}-network
",
            indented(&host.nmstate(), 4),
            host.rack(),
            host.boot_mac,
            host.rack(),
            host.place(),
        )
        .expect("a text");
    }
    text
}

/// The same hosts in one install-config.yaml, where their networks stand as they are, with the virtual IPs of the cluster.
pub fn install_config(hosts: &[RackHost], virtual_ips: [&str; 2]) -> String {
    let [api, ingress] = virtual_ips;
    let mut text = format!(
        "apiVersion: v1\nbaseDomain: example.com\nmetadata: {{name: racks}}\n\
         networking: {{machineNetwork: [{{cidr: 10.0.0.0/8}}, {{cidr: \"2001:db8::/32\"}}]}}\n\
         platform:\n  baremetal:\n    apiVIPs: [{api}]\n    ingressVIPs: [{ingress}]\n    hosts:\n"
    );
    for host in hosts {
        write!(
            text,
            "    - name: {}
      role: worker
      bootMACAddress: \"{}\"
      bmc: {{address: \"redfish-virtualmedia+https://10.255.{}.{}/redfish/v1/Systems/1\", username: admin, password: secret}}
      networkConfig:
{}",
            host.name(),
            host.boot_mac,
            host.rack(),
            host.place(),
            indented(&host.nmstate(), 8),
        )
        .expect("a text");
    }
    text
}

fn indented(text: &str, by: usize) -> String {
    text.lines().fold(String::new(), |text, line| text + &" ".repeat(by) + line + "\n")
}

impl RackHost {
    fn new(number: usize) -> Self {
        let mut host = Self { number, address: String::new(), boot_mac: String::new() };
        host.address = format!("10.{}.0.{}", host.rack(), host.place());
        host.boot_mac = host.mac(0);
        host
    }

    /// `rack-3-12`.
    pub fn name(&self) -> String {
        format!("rack-{}-{}", self.rack(), self.place())
    }

    fn rack(&self) -> usize {
        self.number / HOSTS_OF_A_RACK
    }

    /// Also the last number of its addresses.
    fn place(&self) -> usize {
        self.number % HOSTS_OF_A_RACK + 10
    }

    fn mac(&self, nic: usize) -> String {
        format!("02:00:00:{:02x}:{:02x}:{nic:02x}", self.rack(), self.place())
    }

    /// Its network.
    pub fn nmstate(&self) -> String {
        let (rack, place, address) = (self.rack(), self.place(), &self.address);
        let (first, second) = (&self.boot_mac, self.mac(1));
        format!(
            "interfaces:
- name: eno1
  type: ethernet
  state: up
  mac-address: \"{first}\"
  mtu: 9000
- name: eno2
  type: ethernet
  state: up
  mac-address: \"{second}\"
  mtu: 9000
- name: bond0
  type: bond
  state: up
  mtu: 9000
  link-aggregation:
    mode: 802.3ad
    options:
      miimon: 100
      xmit_hash_policy: layer3+4
    port:
    - eno1
    - eno2
  ipv4:
    enabled: false
  ipv6:
    enabled: false
- name: bond0.100
  type: vlan
  state: up
  vlan:
    base-iface: bond0
    id: 100
  ipv4:
    enabled: true
    dhcp: false
    address:
    - ip: {address}
      prefix-length: 24
  ipv6:
    enabled: true
    dhcp: false
    autoconf: false
    address:
    - ip: 2001:db8:{rack:x}::{place:x}
      prefix-length: 64
- name: bond0.200
  type: vlan
  state: up
  mtu: 9000
  vlan:
    base-iface: bond0
    id: 200
  ipv4:
    enabled: true
    dhcp: false
    address:
    - ip: 172.20.{rack}.{place}
      prefix-length: 24
  ipv6:
    enabled: false
dns-resolver:
  config:
    search:
    - example.com
    server:
    - 10.254.0.53
    - 10.254.1.53
routes:
  config:
  - destination: 0.0.0.0/0
    next-hop-address: 10.{rack}.0.1
    next-hop-interface: bond0.100
  - destination: ::/0
    next-hop-address: 2001:db8:{rack:x}::1
    next-hop-interface: bond0.100
  - destination: 172.20.0.0/16
    next-hop-address: 172.20.{rack}.1
    next-hop-interface: bond0.200
"
        )
    }
}
