use proptest::prelude::*;

use crate::check::{self, CheckedHost};
use crate::model::{Bond, Bridge, Interface, Kind, MacVlanMode, Topology, Vlan};
use crate::network;
use vocabulary::host::{HostSpec, KeyfileDocument, NetworkDocument, NmstateDocument};
use vocabulary::network_files::NetworkFiles;
use vocabulary::report::{DocumentPath, Report};

fn host(document: &str) -> HostSpec {
    HostSpec::with_network(NmstateDocument::new(serde_yaml::from_str(document).unwrap(), DocumentPath::root()))
}

fn codes(report: &Report) -> Vec<&'static str> {
    report.findings().iter().map(|finding| finding.code).collect()
}

#[test]
fn the_nic_that_a_host_boots_from_has_a_use() {
    const MAC: &str = "identifier: mac-address, mac-address: '52:54:00:00:00:01'";
    let of = |rest: &str| {
        let document = format!(
            "interfaces: [{{name: a, type: ethernet, {MAC}}}, {{name: b, type: ethernet, ipv4: {{enabled: true, dhcp: true}}}}{rest}]"
        );
        let host = HostSpec { boot_mac: "52:54:00:00:00:01".parse().ok(), ..host(&document) };
        codes(&network::convert(&host).1)
    };
    assert_eq!(of(""), ["boot-nic-unused"]);
    assert!(of(", {name: v, type: vlan, vlan: {base-iface: a, id: 7}}").is_empty());
    assert!(of(", {name: br0, type: linux-bridge, bridge: {port: [{name: a}]}}").is_empty());
}

/// The findings about a user's own profiles for NICs and bonds: each with its name and what its `[ipv4]` says.
fn of_profiles(profiles: &[(&str, &str)]) -> Vec<String> {
    let document = |(name, ipv4): &(&str, &str)| {
        let kind = if name.starts_with("bond") { "bond" } else { "ethernet" };
        KeyfileDocument {
            name: format!("{name}.nmconnection"),
            content: format!(
                "[connection]\nid={name}\ntype={kind}\ninterface-name={name}\n[ipv4]\n{ipv4}\n[ipv6]\nmethod=disabled\n"
            ),
            path: DocumentPath::document(name),
        }
    };
    let port = "[connection]\nid=p\ntype=ethernet\ninterface-name=p\nmaster=bond0\nslave-type=bond\n";
    let port = KeyfileDocument {
        name: "p.nmconnection".to_owned(),
        content: port.to_owned(),
        path: DocumentPath::document("p"),
    };
    let network = NetworkDocument::Keyfiles(profiles.iter().map(document).chain([port]).collect());
    let report = network::convert(&HostSpec { network, ..host("{}") }).1;
    report.findings().iter().map(|finding| format!("{}: {finding}", finding.code)).collect()
}

#[test]
fn routes_of_keyfiles_have_the_metrics_that_networkmanager_gives_them() {
    let first = "method=manual\naddress1=192.0.2.10/24\ngateway=192.0.2.1";
    let second = |rest: &str| format!("method=manual\naddress1=203.0.113.10/24\ngateway=203.0.113.1\n{rest}");
    assert_eq!(of_profiles(&[("eth0", first), ("bond0", &second(""))]), [""; 0]);
    let equal = of_profiles(&[("bond0", &second("route-metric=100")), ("eth0", first)]);
    assert_eq!(equal.len(), 1, "{equal:?}");
    assert!(equal[0].starts_with("routes-compete: ") && equal[0].contains("with metric 100"), "{equal:?}");
    // As nmstate writes it.
    let own = "method=manual\naddress1=203.0.113.10/24\nroute1=0.0.0.0/0,203.0.113.1,0";
    assert_eq!(of_profiles(&[("bond0", own), ("eth0", "method=auto")]), [""; 0]);
    let learned = of_profiles(&[("bond0", &second("")), ("eth0", "method=auto")]);
    assert_eq!(learned.len(), 1, "{learned:?}");
    assert!(learned[0].contains("has metric 300") && learned[0].contains("never-default=true"), "{learned:?}");
    assert_eq!(of_profiles(&[("bond0", &second("")), ("eth0", "method=auto\nroute-metric=301")]), [""; 0]);
    let apart = "method=auto\nroute-table=100";
    let ruled = format!("{apart}\nrouting-rule1=priority 100 from 198.51.100.0/24 table 100");
    assert_eq!(of_profiles(&[("bond0", &second("")), ("eth0", &ruled)]), [""; 0]);
    let unruled = of_profiles(&[("bond0", &second("")), ("eth0", apart)]);
    assert_eq!(unruled.len(), 1, "{unruled:?}");
    assert!(unruled[0].starts_with("route-table-without-rule: eth0: ipv4.route-table is 100"), "{unruled:?}");
}

#[test]
fn only_interfaces_that_come_up_are_refused() {
    let of = |state: &str| {
        let document = format!(
            "interfaces:\n\
             - {{name: eth0, type: ethernet, ipv4: {{enabled: true, dhcp: true}}}}\n\
             - {{name: br0, type: linux-bridge, bridge: {{port: [{{name: br1}}]}}}}\n\
             - {{name: br1, type: linux-bridge, state: {state}, bridge: {{port: [{{name: eth1}}]}}}}\n\
             - {{name: red, type: vrf, state: {state}, vrf: {{port: [eth2], route-table-id: 100}}}}\n\
             - {{name: red.7, type: vlan, vlan: {{base-iface: red, id: 7}}}}\n\
             - {{name: vx0, type: vxlan, vxlan: {{id: 7, remote: 192.0.2.1}}}}\n\
             - {{name: vx1, type: vxlan, state: {state}, vxlan: {{id: 7, remote: 192.0.2.2, destination-port: 8472}}}}\n\
             - {{name: m0, type: mac-vlan, mac-vlan: {{base-iface: eth0, mode: passthru}}}}\n\
             - {{name: m1, type: mac-vtap, state: {state}, mac-vtap: {{base-iface: eth0, mode: passthru}}}}\n"
        );
        let mut codes = codes(&network::convert(&host(&document)).1);
        codes.retain(|code| code.ends_with("-refused") || code.ends_with("-twice") || code.ends_with("-shared"));
        codes
    };
    assert_eq!(of("up"), ["vxlan-twice", "macvlan-passthru-shared", "port-refused", "parent-refused"]);
    assert_eq!(of("down"), [""; 0]);
}

/// dayone takes profiles that a user wrote as they are.
#[test]
fn refusals_about_a_users_own_profiles_are_warnings() {
    let profile = |name: &str, kind: &str, rest: &str| KeyfileDocument {
        name: format!("{name}.nmconnection"),
        content: format!(
            "[connection]\nid={name}\ntype={kind}\ninterface-name={name}\n[{kind}]\n{rest}\n[ipv4]\nmethod=auto\n\
             [ipv6]\nmethod=disabled\n"
        ),
        path: DocumentPath::document(name),
    };
    let of = |profiles: [KeyfileDocument; 2]| {
        let network = NetworkDocument::Keyfiles(profiles.into());
        let report = network::convert(&HostSpec { network, ..host("{}") }).1;
        let findings = report.findings().iter().map(|finding| format!("{} {}", finding.severity, finding.code));
        let ends = ["-twice", "-shared", "-without-base", "-unsupported"];
        findings.filter(|finding| ends.iter().any(|end| finding.ends_with(end))).collect::<Vec<_>>()
    };
    let vxlan = |name: &str, rest: &str| profile(name, "vxlan", rest);
    let twice = of([vxlan("a", "id=7\nremote=192.0.2.1"), vxlan("b", "id=7\nremote=192.0.2.2\ndestination-port=8472")]);
    assert_eq!(twice, ["warning vxlan-twice"]);
    for other in ["destination-port=4789\nremote=192.0.2.2", "remote=2001:db8::2", "local=2001:db8::2"] {
        let apart = of([vxlan("a", "id=7\nremote=192.0.2.1"), vxlan("b", &format!("id=7\n{other}"))]);
        assert_eq!(apart, [""; 0], "{other}");
    }
    let on_a_link = |parent: &str| format!("id=7\nlocal=fe80::1\nparent={parent}");
    assert_eq!(of([vxlan("a", &on_a_link("eth0")), vxlan("b", &on_a_link("eth1"))]), [""; 0]);
    assert_eq!(of([vxlan("a", &on_a_link("eth0")), vxlan("b", &on_a_link("eth0"))]), ["warning vxlan-twice"]);
    let groups = of([vxlan("a", "id=7\nremote=239.1.1.1"), vxlan("b", "id=8\nremote=239.1.1.1\nparent=eth0")]);
    assert_eq!(groups, ["warning vxlan-without-base"]);
    let macvlan = |name: &str, mode: u32| profile(name, "macvlan", &format!("parent=eth0\nmode={mode}"));
    assert_eq!(of([macvlan("a", 4), macvlan("b", 2)]), ["warning macvlan-passthru-shared"]);
    assert_eq!(of([macvlan("a", 1), macvlan("b", 2)]), [""; 0]);
    let without_mode = profile("b", "macvlan", "parent=eth0");
    assert_eq!(of([macvlan("a", 5), without_mode]), ["warning macvlan-mode-unsupported"; 2]);
    let with_mac = |name: &str, mac: &str| {
        profile(name, "macvlan", &format!("parent=eth0\nmode=2\n[ethernet]\ncloned-mac-address={mac}"))
    };
    let [first, second] = ["02:00:00:00:00:01", "02:00:00:00:00:02"];
    assert_eq!(of([with_mac("a", first), with_mac("b", first)]), ["warning macvlan-mac-shared"]);
    assert_eq!(of([with_mac("a", first), with_mac("b", second)]), [""; 0]);
}

/// The codes about a user's own profiles: each with its name and what it says, without families that are off.
fn codes_of(profiles: &[(&str, &str)]) -> Vec<&'static str> {
    let document = |(name, content): &(&str, &str)| KeyfileDocument {
        name: format!("{name}.nmconnection"),
        content: format!("[connection]\nid={name}\ninterface-name={name}\n{content}"),
        path: DocumentPath::document(name),
    };
    let network = NetworkDocument::Keyfiles(profiles.iter().map(document).collect());
    codes(&network::convert(&HostSpec { network, ..host("{}") }).1)
}

const BOND_PORT: &str = "type=ethernet\nmaster=bond0\nslave-type=bond\n";

/// NetworkManager does not activate them: it sees that the kernel keeps another address.
#[test]
fn bonds_with_the_address_of_a_port_have_no_other() {
    for (mode, policy, is_refused) in [
        ("active-backup", "active", true),
        ("1", "2", true),
        ("active-backup", "follow", true),
        ("active-backup", "none", false),
        ("balance-xor", "active", false),
    ] {
        let bond = |mac: &str| {
            format!(
                "type=bond\n[bond]\nmode={mode}\nmiimon=100\nfail_over_mac={policy}\n{mac}[ipv6]\nmethod=disabled\n"
            )
        };
        let of = |mac: &str| {
            let codes = codes_of(&[("bond0", &bond(mac)), ("eth0", BOND_PORT), ("eth1", BOND_PORT)]);
            codes.contains(&"bond-mac-refused")
        };
        assert_eq!(of("[ethernet]\ncloned-mac-address=02:00:00:00:00:01\n"), is_refused, "{mode} {policy}");
        assert!(!of(""), "{mode} {policy}");
    }
}

/// The kernel does not create a bond with such targets, and rounds such delays.
#[test]
fn targets_and_delays_of_bonds_are_those_that_the_kernel_takes() {
    let of = |options: &str| {
        let bond = format!("type=bond\n[bond]\n{options}\n[ipv6]\nmethod=disabled\n");
        let mut codes = codes_of(&[("bond0", &bond), ("eth0", BOND_PORT), ("eth1", BOND_PORT)]);
        codes.retain(|code| code.starts_with("bond-"));
        codes
    };
    let asking = |target: &str| of(&format!("mode=active-backup\narp_interval=1000\n{target}"));
    for target in ["192.0.2.1,192.0.2.1", "0.0.0.0", "192.0.2.1,255.255.255.255"] {
        assert_eq!(asking(&format!("arp_ip_target={target}")), ["bond-option-refused"], "{target}");
    }
    for target in ["ff02::1", "::", "::1", "2001:db8::1,2001:db8:0::1"] {
        assert_eq!(asking(&format!("ns_ip6_target={target}")), ["bond-option-refused"], "{target}");
    }
    for fine in ["arp_ip_target=0.0.0.1,224.0.0.1,127.0.0.1", "ns_ip6_target=fe80::1,2001:db8::1"] {
        assert_eq!(asking(fine), [""; 0], "{fine}");
    }
    let many = |count: u8| (1..=count).map(|last| format!("192.0.2.{last}")).collect::<Vec<_>>().join(",");
    assert_eq!(asking(&format!("arp_ip_target={}", many(16))), [""; 0]);
    assert_eq!(asking(&format!("arp_ip_target={}", many(17))), ["bond-targets-lost"]);
    for beyond in ["192.0.2.1", "255.255.255.255"] {
        assert_eq!(asking(&format!("arp_ip_target={},{beyond}", many(16))), ["bond-targets-lost"], "{beyond}");
    }
    for (options, code) in [
        ("mode=802.3ad\nad_actor_system=03:00:00:00:00:05", Some("bond-option-refused")),
        ("mode=802.3ad\nad_actor_system=00:00:00:00:00:00", None),
        ("mode=active-backup\nad_actor_system=03:00:00:00:00:05", None),
        ("mode=active-backup\nmiimon=100\nupdelay=250", Some("bond-delay-rounded")),
        ("mode=active-backup\ndowndelay=50", Some("bond-delay-rounded")),
        ("mode=active-backup\nmiimon=50\nupdelay=250\ndowndelay=0", None),
        ("mode=active-backup\nmiimon=0\nupdelay=250", None),
        // NetworkManager leaves out the targets beside miimon.
        ("mode=active-backup\nmiimon=100\narp_interval=1000\narp_ip_target=0.0.0.0", None),
    ] {
        assert_eq!(of(options), code.into_iter().collect::<Vec<_>>(), "{options}");
    }
}

/// The rules of `vxlan_config_validate`.
#[test]
fn addresses_of_vxlans_are_those_that_the_kernel_takes() {
    for (rest, code) in [
        ("local=fe80::1\nparent=eth0", None),
        ("local=fe80::1\nremote=fe80::2\nparent=eth0", None),
        ("local=fe80::1\nremote=ff02::1\nparent=eth0", None),
        ("local=2001:db8::1\nremote=ff05::1\nparent=eth0", None),
        ("local=192.0.2.1", None),
        ("local=fe80::1", Some("vxlan-without-base")),
        ("local=fe80::1\nremote=2001:db8::1\nparent=eth0", Some("vxlan-address-refused")),
        ("local=fe80::1\nremote=ff05::1\nparent=eth0", Some("vxlan-address-refused")),
        ("local=2001:db8::1\nremote=fe80::1\nparent=eth0", Some("vxlan-address-refused")),
        ("remote=fe80::1\nparent=eth0", Some("vxlan-address-refused")),
        ("local=239.1.1.1\nremote=192.0.2.1\nparent=eth0", Some("vxlan-address-refused")),
        ("remote=192.0.2.1\ndestination-port=0", Some("vxlan-port-zero")),
    ] {
        let vxlan = format!("type=vxlan\n[vxlan]\nid=7\n{rest}\n[ipv6]\nmethod=disabled\n");
        let mut codes = codes_of(&[("vx0", &vxlan), ("eth0", "type=ethernet\n")]);
        codes.retain(|code| code.starts_with("vxlan-"));
        assert_eq!(codes, code.into_iter().collect::<Vec<_>>(), "{rest}");
    }
}

/// The kernel hands the frames of an interface to only one of these: its controller, its MACVLANs or its `MACsec` links.
#[test]
fn frames_of_an_interface_go_to_one_kind_of_interface() {
    const DISABLED: &str = "[ipv6]\nmethod=disabled\n";
    let macsec = |parent: &str, rest: &str| {
        format!(
            "type=macsec\n[macsec]\nparent={parent}\n{rest}mka-cak=50b71a8ef0bd5751ea76de6d6c98c03a\n\
             mka-ckn=f2b4297d39da7330910a7abc0449feb45b5c0b9fc23df1430e1898fcf1c4550b\n{DISABLED}"
        )
    };
    let macvlan = |parent: &str, mode: u8| format!("type=macvlan\n[macvlan]\nparent={parent}\nmode={mode}\n{DISABLED}");
    let of = |above: [(&str, String); 2]| {
        let bond = format!("type=bond\n[bond]\nmode=active-backup\n{DISABLED}");
        let mut profiles = vec![("bond0", bond.as_str()), ("eth0", BOND_PORT), ("eth1", "type=ethernet\n")];
        profiles.extend(above.iter().map(|(name, content)| (*name, content.as_str())));
        let mut codes = codes_of(&profiles);
        codes.retain(|code| code.ends_with("-shared") || code.ends_with("-refused") && !code.starts_with("keyfile-"));
        codes
    };
    let shared = "macsec-parent-shared";
    assert_eq!(of([("a", macsec("eth1", "")), ("b", macsec("eth1", "port=1\n"))]), [shared]);
    assert_eq!(of([("a", macsec("eth1", "")), ("b", macsec("eth1", "port=2\n"))]), [""; 0]);
    assert_eq!(of([("a", macsec("eth1", "")), ("b", macvlan("eth1", 2))]), [shared]);
    assert_eq!(of([("a", macsec("bond0", "")), ("b", macvlan("a", 4))]), [""; 0]);
    assert_eq!(of([("a", macvlan("eth1", 2)), ("b", macsec("a", ""))]), [""; 0]);
    assert_eq!(of([("a", macsec("eth0", "")), ("b", macvlan("lo", 2))]), ["parent-refused"; 2]);
    assert_eq!(of([("a", macvlan("eth1", 2)), ("b", macvlan("a", 4))]), ["macvlan-passthru-shared"]);
    assert_eq!(of([("a", macvlan("eth1", 4)), ("b", macvlan("a", 2))]), ["macvlan-passthru-shared"]);
    assert_eq!(of([("a", macvlan("eth1", 1)), ("b", macvlan("a", 2))]), [""; 0]);
}

/// NetworkManager has a type of its own for it, and nmstate takes no other.
#[test]
fn the_loopback_is_no_nic() {
    let address = ", ipv4: {enabled: true, address: [{ip: 192.0.2.99, prefix-length: 32}]}";
    let of = |rest: &str| {
        let nic = "{name: eth0, type: ethernet, ipv4: {enabled: true, dhcp: true}}";
        let document = format!("interfaces: [{{name: lo{rest}{address}}}, {nic}]");
        codes(&network::convert(&host(&document)).1)
    };
    assert_eq!(of(", type: loopback"), [""; 0]);
    assert_eq!(of(", type: ethernet"), ["type-unlike-name"]);
    assert_eq!(of(", type: dummy"), ["type-unlike-name"]);
    assert_eq!(of(""), ["interface-type-missing", "type-unlike-name"]);
    for (kind, is_found) in [("loopback", false), ("ethernet", true), ("dummy", true)] {
        let lo = format!("type={kind}\n[ipv4]\nmethod=manual\naddress1=192.0.2.99/32\n[ipv6]\nmethod=auto\n");
        let codes = codes_of(&[("lo", lo.as_str()), ("eth0", "type=ethernet\n")]);
        assert_eq!(codes.contains(&"type-unlike-name"), is_found, "{kind}: {codes:?}");
    }
}

#[test]
fn a_placeholder_is_no_name_of_a_nic() {
    for name in ["${NIC}", "{{nic}}", "<nic>"] {
        let document = format!("interfaces: [{{name: '{name}', type: ethernet, ipv4: {{enabled: true, dhcp: true}}}}]");
        assert_eq!(codes(&network::convert(&host(&document)).1), ["nic-name-odd"], "{name}");
    }
}

/// Keyfiles can put the bridge itself into VLANs.
#[test]
fn bridges_may_be_in_vlans_of_their_own() {
    let port = "type=ethernet\nmaster=br0\nslave-type=bridge\n[bridge-port]\nvlans=10 pvid untagged, 20-29\n";
    let vlan = "type=vlan\n[vlan]\nparent=br0\nid=20\n[ipv6]\nmethod=disabled\n";
    let of = |bridge: &str| {
        let bridge = format!(
            "type=bridge\n[bridge]\nstp=false\n{bridge}[ipv4]\nmethod=manual\naddress1=192.0.2.10/24\n[ipv6]\nmethod=disabled\n"
        );
        codes_of(&[("br0", &bridge), ("br0.20", vlan), ("eth0", port)])
    };
    assert_eq!(of(""), [""; 0]);
    assert_eq!(of("vlan-filtering=true\n"), ["bridge-outside-vlan"; 2]);
    assert_eq!(of("vlan-filtering=true\nvlan-default-pvid=10\n"), ["bridge-outside-vlan"]);
    assert_eq!(of("vlan-filtering=true\nvlans=10 pvid untagged, 20\n"), [""; 0]);
    assert_eq!(of("vlan-filtering=true\nvlans=10 pvid untagged, 20 untagged\n"), ["bridge-outside-vlan"]);
    assert_eq!(of("vlan-filtering=true\nvlans=20 pvid untagged\n"), ["bridge-outside-vlan"]);
}

fn interface(name: usize, kind: usize, below: usize, controller: Option<usize>, active: bool) -> Interface {
    let parent = below.to_string();
    let path = DocumentPath::root();
    let kind_of = match kind {
        0 => Kind::Ethernet,
        1 => Kind::Vlan(Vlan { parent, id: u16::try_from(below).unwrap(), ..Vlan::default() }),
        2 => Kind::Bond(Bond::default()),
        3 => Kind::LinuxBridge(Bridge::default()),
        4 => Kind::MacVlan { parent, tap: false, mode: MacVlanMode::Shared },
        _ => Kind::Vrf(u32::try_from(below).unwrap()),
    };
    Interface {
        active,
        mtu: kind.is_multiple_of(2).then_some(9000),
        controller: controller.map(|controller| controller.to_string()),
        ..Interface::bare(&name.to_string(), kind_of, path)
    }
}

proptest! {
    /// However interfaces stand on each other: the checks come to an end, and find a ring exactly where there is one.
    #[test]
    fn rings_are_found(
        shapes in prop::collection::vec((0..6_usize, 0..8_usize, prop::option::weighted(0.3, 0..8_usize), any::<bool>()), 1..8),
    ) {
        let interfaces: Vec<Interface> = shapes
            .iter()
            .enumerate()
            .map(|(name, (kind, below, controller, active))| interface(name, *kind, *below, *controller, *active))
            .collect();
        let topology = Topology { interfaces, ..Topology::default() };
        let mut report = Report::new();
        check::host(CheckedHost { host: &host("{}"), topology: &topology }, NetworkFiles::Keyfiles, &mut report);
        prop_assert_eq!(codes(&report).contains(&"interface-loop"), has_ring(&topology));
    }
}

/// Takes out what stands on nothing that is left, again and again; what remains is rings and what stands on them.
fn has_ring(topology: &Topology) -> bool {
    let mut left: Vec<&Interface> = topology.interfaces.iter().collect();
    loop {
        let count = left.len();
        let stands = |upper: &Interface, lower: &Interface| {
            upper.kind.parent() == Some(lower.name.as_str()) || lower.controller.as_deref() == Some(upper.name.as_str())
        };
        let kept: Vec<&Interface> =
            left.iter().copied().filter(|upper| left.iter().any(|lower| stands(upper, lower))).collect();
        if kept.len() == count {
            return count > 0;
        }
        left = kept;
    }
}
