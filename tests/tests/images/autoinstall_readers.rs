//! Networks and files that the readers of an autoinstall file refuse: netplan, which gets its network, and PyYAML, by which Subiquity reads
//! it. dayone must refuse them as well.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use hosts::answers::{InstalledSystem, complete, network_files};
use hosts::network::{ConvertedNetwork, Target, convert_network};
use tempfile::TempDir;
use vocabulary::answers::{Answers, Installer};

/// Has netplan generate the units of a network, in a directory.
fn generated(network: &str, directory: &Path) -> Output {
    fs::create_dir_all(directory.join("etc/netplan")).unwrap();
    let file = directory.join("etc/netplan/50.yaml");
    fs::write(&file, network).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    Command::new("netplan").args(["generate", "--root-dir"]).arg(directory).output().expect("netplan starts")
}

/// Whether netplan accepts a network.
fn does_netplan_accept(network: &str) -> bool {
    generated(network, TempDir::new().unwrap().path()).status.success()
}

/// The network of a document for an installer that gives it to netplan.
fn converted(document: &str) -> ConvertedNetwork {
    let input = hosts::input::read(document.as_bytes());
    let [host] = input.hosts.as_slice() else { panic!("one host") };
    let target = Target { files: network_files(Installer::Autoinstall), ..Target::default() };
    convert_network(host, target).0.expect("the document is good")
}

/// Whether dayone accepts a network in an autoinstall file for a host whose NIC has DHCP.
fn does_dayone_accept(network: &str) -> bool {
    let document = "interfaces: [{name: eno1, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}]";
    does_dayone_accept_for(document, network)
}

/// Whether dayone accepts a network in an autoinstall file for the host of a document.
fn does_dayone_accept_for(document: &str, network: &str) -> bool {
    let converted = converted(document);
    let answers = Answers { kind: Installer::Autoinstall, text: format!("version: 1\n{network}") };
    let system = InstalledSystem { network: &converted, hostname: None, no_auto_default: true };
    complete(&answers, system, &mut hosts::network::release_findings(None)).is_ok()
}

/// The installer gives netplan the user's own network as it is.
#[test]
fn dayone_accepts_no_network_that_netplan_refuses() {
    for (member, is_good) in [
        ("optional: true", true),
        ("optional: 'off'", true),
        ("optional: maybe", false),
        ("optional: null", false),
        ("optional-addresses: [dhcp4]", true),
        ("optional-addresses: [x]", false),
        ("critical: true", true),
        ("wakeonlan: 'Yes'", true),
        ("wakeonlan: maybe", false),
        ("renderer: networkd", true),
        ("renderer: sd-networkd", false),
        ("mtu: null", false),
        ("gateway4: ''", false),
        ("nameservers: null", false),
        ("nameservers: {}", true),
        ("hidden: false", false),
        ("bridge_waitport: 3", false),
        ("use-ntp: true", false),
        ("dhcp4-overrides: {use-ntp: false}", true),
        ("dhcp4-overrides: {use-ntp: maybe}", false),
        ("dhcp4-overrides: {foo: {}}", false),
        ("set-name: lan0", false),
        ("ipv6-address-generation: eui64", true),
        ("ipv6-address-generation: EUI64", false),
        ("ipv6-address-generation: stable-privacy", false),
        ("foo: {}", false),
    ] {
        let network = format!("network: {{version: 2, ethernets: {{eno1: {{dhcp4: true, {member}}}}}}}\n");
        assert_eq!(does_netplan_accept(&network), is_good, "{member}");
        assert_eq!(does_dayone_accept(&network), is_good, "{member}");
    }
    let top = |rest: &str| format!("network: {{version: 2, {rest}}}\n");
    for network in
        [top("foo: {}, ethernets: {eno1: {dhcp4: true}}"), top("renderer: x, ethernets: {eno1: {dhcp4: true}}")]
    {
        assert!(!does_netplan_accept(&network) && !does_dayone_accept(&network), "{network}");
    }
}

/// What netplan makes of the network that dayone writes.
#[test]
fn the_units_have_what_only_netplan_gets() {
    let document = "
interfaces:
- {name: eno1, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true, auto-dns: false, auto-routes: false, auto-gateway: false}}
- {name: eno2, type: ethernet, state: up}
- {name: eno3, type: ethernet, state: up}
- {name: eno4, type: ethernet, state: up}
- name: bond0
  type: bond
  state: up
  link-aggregation:
    mode: active-backup
    options: {arp_interval: 200, arp_ip_target: '192.0.2.1,192.0.2.2', arp_validate: all, arp_all_targets: any, num_grat_arp: 3}
    port: [eno2]
- name: bond1
  type: bond
  state: up
  link-aggregation: {mode: 802.3ad, options: {ad_select: bandwidth, min_links: 1, all_slaves_active: delivered}, port: [eno3]}
- name: bond2
  type: bond
  state: up
  link-aggregation: {mode: balance-rr, options: {packets_per_slave: 4, resend_igmp: 2, lp_interval: 3}, port: [eno4]}
";
    let network = converted(document).network_data.expect("the target is netplan");
    let directory = TempDir::new().unwrap();
    let network = format!("network:\n  {}\n", network.trim_end().replace('\n', "\n  "));
    let output = generated(&network, directory.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for (unit, lines) in [
        ("eno1.network", &["UseDNS=false", "UseRoutes=false"][..]),
        (
            "bond0.netdev",
            &[
                "ARPIntervalSec=200ms",
                "ARPIPTargets=192.0.2.1 192.0.2.2",
                "ARPValidate=all",
                "ARPAllTargets=any",
                "GratuitousARP=3",
            ],
        ),
        ("bond1.netdev", &["AdSelect=bandwidth", "MinLinks=1", "AllSlavesActive=1", "MIIMonitorSec=100ms"]),
        ("bond2.netdev", &["PacketsPerSlave=4", "ResendIGMP=2", "LearnPacketIntervalSec=3"]),
    ] {
        let path = directory.path().join(format!("run/systemd/network/10-netplan-{unit}"));
        let text = fs::read_to_string(path).unwrap();
        assert!(lines.iter().all(|line| text.lines().any(|other| other == *line)), "{unit}: {text}");
        assert!(unit != "bond0.netdev" || !text.contains("MIIMonitorSec"), "{text}");
    }
}

/// netplan takes numbers, lists, booleans and MAC addresses in fewer forms than cloud-init.
#[test]
fn dayone_accepts_no_form_that_netplan_refuses() {
    let document = "
interfaces:
- {name: eno1, type: ethernet, state: up, identifier: mac-address, mac-address: '52:54:00:00:00:0a'}
- {name: eno2, type: ethernet, state: up}
- {name: eno3, type: ethernet, state: up, mtu: 9000, ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}}
- {name: bond0, type: bond, state: up, link-aggregation: {mode: 802.3ad, options: {miimon: 100}, port: [eno1]}}
- {name: br0, type: linux-bridge, state: up, bridge: {options: {stp: {enabled: true, priority: 4096}}, port: [{name: eno2, stp-path-cost: 100}]}}
- {name: bond0.7, type: vlan, state: up, vlan: {base-iface: bond0, id: 7}}
routes: {config: [{destination: 198.51.100.0/24, next-hop-address: 192.0.2.1, next-hop-interface: eno3, metric: 50}]}
dns-resolver: {config: {server: [192.0.2.53], search: [example.com]}}
";
    let network = "
network:
  version: 2
  ethernets:
    eno1: {match: {macaddress: '52:54:00:00:00:0a'}, dhcp4: false, accept-ra: false, link-local: []}
    eno2: {dhcp4: false, accept-ra: false, link-local: []}
    eno3:
      mtu: 9000
      dhcp4: false
      accept-ra: false
      link-local: []
      addresses: [192.0.2.10/24]
      routes: [{to: 198.51.100.0/24, via: 192.0.2.1, metric: 50}]
      nameservers: {addresses: [192.0.2.53], search: [example.com]}
  bonds:
    bond0:
      interfaces: [eno1]
      macaddress: '52:54:00:00:00:0a'
      parameters: {mode: 802.3ad, mii-monitor-interval: 100}
      dhcp4: false
      accept-ra: false
      link-local: []
  bridges:
    br0:
      interfaces: [eno2]
      parameters: {stp: true, priority: 4096, path-cost: {eno2: 100}}
      dhcp4: false
      accept-ra: false
      link-local: []
  vlans:
    bond0.7: {id: 7, link: bond0, dhcp4: false, accept-ra: false, link-local: []}
";
    for (from, to, is_good) in [
        ("mtu: 9000", "mtu: 9000", true),
        ("mtu: 9000", "mtu: '9000'", true),
        ("mtu: 9000", "mtu: 9000.0", false),
        ("metric: 50", "metric: '50'", true),
        ("metric: 50", "metric: 50.0", false),
        ("metric: 50", "metric: 50, table: 254", true),
        ("metric: 50", "metric: 50, table: 254.0", false),
        ("id: 7", "id: '7'", true),
        ("id: 7", "id: 7.0", false),
        ("priority: 4096", "priority: 4096.0", false),
        ("eno2: 100", "eno2: '100'", true),
        ("eno2: 100", "eno2: 100.0", false),
        ("search: [example.com]", "search: example.com", false),
        ("addresses: [192.0.2.53]", "addresses: 192.0.2.53", false),
        ("{macaddress: '52:54:00:00:00:0a'}", "{macaddress: '52:54:00:00:00:0A'}", true),
        ("{macaddress: '52:54:00:00:00:0a'}", "{macaddress: 52-54-00-00-00-0a}", false),
        ("      macaddress: '52:54:00:00:00:0a'", "      macaddress: 52-54-00-00-00-0a", false),
        ("stp: true", "stp: 'on'", true),
        ("stp: true", "stp: 1", false),
        ("stp: true", "stp: '1'", false),
        ("stp: true", "stp: true, hidden: false", false),
        ("mode: 802.3ad", "mode: 4", false),
        ("mode: 802.3ad", "mode: '4'", false),
        ("mode: 802.3ad", "mode: 802.3ad, all-slaves-active: 0", false),
        ("mode: 802.3ad", "mode: 802.3ad, optional: true", false),
        ("[192.0.2.10/24]", "[192.0.2.10/24, 192.0.2.10/24]", true),
    ] {
        assert!(network.contains(from), "{from}");
        let network = network.replacen(from, to, 1);
        assert_eq!(does_netplan_accept(&network), is_good, "{to}");
        assert_eq!(does_dayone_accept_for(document, &network), is_good, "{to}");
    }
}

/// systemd-networkd has one set of overrides for both families, and netplan refuses two of them.
#[test]
fn dayone_accepts_no_overrides_that_netplan_refuses() {
    let document = "interfaces: [{name: eno1, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}, \
                    ipv6: {enabled: true, dhcp: true, autoconf: true}}]";
    let both = |more: &str| format!("dhcp4-overrides: {{{more}}}, dhcp6-overrides: {{{more}}}");
    for (overrides, is_good) in [
        ("dhcp-identifier: mac".to_owned(), true),
        (both("use-domains: true"), true),
        (both("use-domains: true, use-ntp: false"), true),
        ("dhcp4-overrides: {use-ntp: true}".to_owned(), true),
        ("dhcp4-overrides: {use-domains: true}".to_owned(), false),
        ("dhcp6-overrides: {use-domains: true}".to_owned(), false),
        ("dhcp4-overrides: {use-ntp: false}".to_owned(), false),
        ("dhcp6-overrides: {use-hostname: 'no'}".to_owned(), false),
        ("dhcp6-overrides: {use-mtu: false}".to_owned(), false),
        ("dhcp4-overrides: {route-metric: 100}, dhcp6-overrides: {route-metric: 200}".to_owned(), false),
        ("dhcp4-overrides: {use-domains: true}, dhcp6-overrides: {use-domains: route}".to_owned(), false),
    ] {
        let nic = format!("{{dhcp4: true, dhcp6: true, accept-ra: true, {overrides}}}");
        let network = format!("network: {{version: 2, ethernets: {{eno1: {nic}}}}}\n");
        assert_eq!(does_netplan_accept(&network), is_good, "{network}");
        assert_eq!(does_dayone_accept_for(document, &network), is_good, "{network}");
        let other = network.replace("{version: 2,", "{version: 2, renderer: NetworkManager,");
        assert!(does_netplan_accept(&other), "{other}");
    }
    // NetworkManager has its own for each family.
    let other = "network: {version: 2, renderer: NetworkManager, ethernets: {eno1: {dhcp4: true, dhcp6: true, accept-ra: true, \
                 dhcp4-overrides: {use-domains: true}}}}\n";
    assert!(does_netplan_accept(other) && does_dayone_accept_for(document, other));
}

/// Subiquity's reader is stricter than dayone's, and reads some texts in another way.
#[test]
fn dayone_accepts_no_file_that_pyyaml_refuses() {
    for (text, is_good) in [
        ("x: \"a\tb\"\ny: 'c\td' # e\tf\n", true),
        ("x: |\n  a\tb\n   \tc\n\n# d\te\n", true),
        ("x: >2\n     a\n   \tb\n", true),
        ("x: [1, '2', 2024-02-29, !!int '3', ! a]\n", true),
        ("x: &a {y: 1}\nz: {<<: *a}\n'=': \"=\"\n", true),
        ("late-commands:\n- echo a\n\t\n", false),
        ("x:\t1\n", false),
        ("x: {a: 1,\tb: 2}\n", false),
        ("x: [a,b]\t# c\n", false),
        ("x: 1 \t\n", false),
        ("late-commands:\n- |\n  a\n\t# b\n- c\n", false),
        ("late-commands:\n- |\n     a\n\n  \t\n", false),
        ("x: |\n  a\n  \t", true),
        ("x: [fe80::1, '::1', ? b]\n", true),
        ("x: {to: ::/0}\n", false),
        ("x: [http://y/?z]\n", false),
        ("x: 1\n---\n", false),
        ("# a\n\t# b\nx: 1\n", false),
        ("x: !vault |\n    abc\n", false),
        ("x: !a {b: c}\n", false),
        ("x: !!int \"a\"\n", false),
        ("x: !!bool maybe\n", false),
        ("x: {{ y }}\n", false),
        ("x: {[y]: z}\n", false),
        ("x: =\n", false),
        ("<<: 5\n", false),
        ("x: <<\n", false),
        ("x: [<<]\n", false),
        ("x: '<<'\n", true),
        ("x: !!timestamp 2001-09-01\n", true),
        ("x: !!timestamp 2001-99-01\n", false),
        ("x: 2024-99-99\n", false),
        ("2023-02-29: x\n", false),
        ("x: 2001-12-14 1:59:43.10 -05:00\ny: 2001-13-1\nz: 2001-13-1 1:1:1\n", true),
        ("x: 2001-12-14 25:59:43\n", false),
        ("x: 2001-12-14T21:59:60Z\n", false),
        ("x: 2001-13-1t1:00:00\n", false),
        ("x: 2001-12-14 21:59:43 +24\n", false),
        ("x: 0b_1\ny: 0x_f\nz: 0_\n", true),
        ("x: 0b_\n", false),
        ("x: [-0x__]\n", false),
        ("x: &a 1\ny: &b-_2 2\nz: [*a, *b-_2]\n", true),
        ("x: &a 1\ny: &a 2\nz: *a\n", false),
        ("x: &a.b 1\ny: *a.b\n", false),
        ("x: !!binary aGk=\ny: !!binary 'a!GkaGk=='\n", true),
        ("x: !!binary aGk\n", false),
        ("x: !!seq [a]\ny: !!map {a: b}\nz: !!omap [a: b]\n", true),
        ("x: !!str [a]\n", false),
        ("x: !!map [a]\n", false),
        ("x: !!seq {a: b}\n", false),
        ("x: !!omap a\n", false),
    ] {
        let script = "import sys, yaml; yaml.safe_load(sys.argv[1])";
        let read = Command::new("python3").args(["-c", script]).arg(format!("version: 1\n{text}")).output().unwrap();
        assert_eq!(read.status.success(), is_good, "{text:?}: {}", String::from_utf8_lossy(&read.stderr));
        assert_eq!(does_dayone_accept(text), is_good, "{text:?}");
    }
}
