use proptest::prelude::*;

use super::*;
use crate::model::{Bond, Bridge, BridgeVlans, Device, Method, RouteKind, Vlan, VlanOptions};

fn topology(profiles: &[(&str, &str)]) -> Topology {
    Topology::from_profiles(profiles.iter().map(|(name, content)| (DocumentPath::document(name), *content)), None)
}

fn addresses(interface: &Interface) -> Vec<String> {
    let all = interface.addresses();
    all.map(|address| format!("{} {}", address.path, address.network)).collect()
}

const NIC: &str = "[connection]\nid=Wired A\nuuid=6F2A0C1E-0000-4000-8000-000000000001\ntype=ethernet\n\
                   controller=bond0\nport-type=bond\n[ethernet]\nmac-address=52:54:00:00:00:01\n";
const BOND: &str = "[connection]\nid=the bond\nuuid=6f2a0c1e-0000-4000-8000-000000000002\ntype=bond\n\
                    interface-name=bond0\n[bond]\nmode=4\nmiimon=100\n[ethernet]\n\
                    cloned-mac-address=52:54:00:00:00:99\nmtu=9000\n[ipv4]\nmethod=manual\n\
                    address1=192.0.2.10/24,192.0.2.1\nroute-metric=50\n[ipv6]\nmethod=ignore\n";
const VLAN: &str = "[connection]\nid=storage\nuuid=6f2a0c1e-0000-4000-8000-000000000003\ntype=vlan\n\
                    interface-name=bond0.20\nautoconnect=false\n[vlan]\nid=20\nflags=1\n\
                    parent=6f2a0c1e-0000-4000-8000-000000000002\n[ipv4]\nmethod=manual\naddress=198.51.100.7\n\
                    addresses2=198.51.100.9/25\naddress1=198.51.100.8/25\ndns=192.0.2.53;198.51.100.53;\ndns-search=~.;a.example;\n\
                    [ipv6]\nmethod=auto\nnever-default=true\ndns=2001:db8::53#dns.example;dns+tls://[2001:db8::54]:853;fe80::1%eth0\n\
                    dns-priority=10\ndns-options=edns0;\n";

#[test]
fn profiles_of_a_user_are_read_as_networkmanager_reads_them() {
    let topology = topology(&[("a", NIC), ("b", BOND), ("c", VLAN)]);
    let names: Vec<&str> = topology.interfaces.iter().map(|interface| interface.name.as_str()).collect();
    assert_eq!(names, ["Wired A", "bond0", "bond0.20"]);
    let [nic, bond, vlan] = topology.interfaces.as_slice() else { unreachable!() };
    assert_eq!(nic.device, Device::Mac("52:54:00:00:00:01".parse().unwrap()));
    assert_eq!((nic.controller.as_deref(), nic.ipv4.method), (Some("bond0"), Method::Disabled));
    let options = [("miimon".to_owned(), "100".to_owned())].into();
    assert_eq!(bond.kind, Kind::Bond(Bond { mode: "802.3ad".to_owned(), options }));
    assert_eq!((bond.mtu, bond.mac), (Some(9000), "52:54:00:00:00:99".parse().ok()));
    assert_eq!((&bond.device, bond.ipv4.method, bond.ipv6.method), (&Device::Name, Method::Static, Method::LinkLocal));
    // The flags are a whole: what they leave out is off.
    let options = VlanOptions { loose_binding: Some(false), reorder_headers: Some(true), ..VlanOptions::default() };
    assert_eq!(vlan.kind, Kind::Vlan(Vlan { parent: "bond0".to_owned(), id: 20, options }));
    assert!(nic.active && !vlan.active);
    assert_eq!(
        addresses(vlan),
        ["c: ipv4.address 198.51.100.7/24", "c: ipv4.address1 198.51.100.8/25", "c: ipv4.addresses2 198.51.100.9/25"]
    );
    assert_eq!(vlan.ipv6.method, Method::RouterAdvertisements);
    assert!(vlan.ipv6.automatic_dns && !vlan.ipv6.automatic_gateway && !vlan.ipv4.automatic_dns);
    let [default] = topology.routes.as_slice() else { unreachable!() };
    assert!(default.is_default());
    assert_eq!((default.gateway, default.metric), ("192.0.2.1".parse().ok(), Some(50)));
    assert_eq!(default.path.to_string(), "b: ipv4.address1");
    let servers: Vec<String> = topology.dns.servers.iter().map(|server| server.address.to_string()).collect();
    assert_eq!(servers, ["2001:db8::53", "2001:db8::54", "fe80::1", "192.0.2.53", "198.51.100.53"]);
    assert_eq!((topology.dns.search, topology.dns.options), (vec!["a.example".to_owned()], vec!["edns0".to_owned()]));
}

#[test]
fn routes_and_rules_have_the_tables_and_kinds_that_they_say() {
    let content = "[connection]\nid=x\ntype=ethernet\ninterface-name=eth0\n[ipv4]\nmethod=manual\ngateway=192.0.2.1\n\
                   address1=192.0.2.10/24\nroute-table=100\nroute1=10.0.0.7/8,192.0.2.254,60\nroute1_options=table=70,src=192.0.2.10\n\
                   route2=10.1.0.1\nroute2_options=type=blackhole\nroute3=10.2.0.0/16,0.0.0.0,0\nroute4=nonsense\n\
                   route5=10.3.0.0/16\nroute5_options=type=local\n\
                   routing-rule1=priority 5 from 192.0.2.0/24 table 100 fwmark 16/255\nrouting-rule2=from all iif eth0 lookup main\n\
                   [ipv6]\nmethod=manual\naddress1=2001:db8::10/64\nroute1=::/0,2001:db8::1,1024\n";
    let without_ip = "[connection]\nid=y\ntype=ethernet\ninterface-name=eth1\n[ipv4]\nmethod=disabled\n\
                      routing-rule1=priority 6 from 198.51.100.0/24 table 7\nroute1=10.4.0.0/16\n";
    let topology = topology(&[("x", content), ("y", without_ip)]);
    let routes: Vec<_> = topology
        .routes
        .iter()
        .map(|r| (r.destination.to_string(), r.kind, r.gateway.map(|g| g.to_string()), r.unusual_metric(), r.table))
        .collect();
    let via = |address: &str| Some(address.to_owned());
    assert_eq!(
        routes,
        [
            ("0.0.0.0/0".to_owned(), RouteKind::Unicast, via("192.0.2.1"), Some(100), 100),
            ("10.0.0.0/8".to_owned(), RouteKind::Unicast, via("192.0.2.254"), Some(60), 70),
            ("10.1.0.1/32".to_owned(), RouteKind::Blackhole, None, Some(100), 100),
            ("10.2.0.0/16".to_owned(), RouteKind::Unicast, None, None, 100),
            ("::/0".to_owned(), RouteKind::Unicast, via("2001:db8::1"), None, 254),
        ]
    );
    let rules: Vec<_> = topology.rules.iter().map(|rule| (rule.priority, rule.selector(), rule.table)).collect();
    assert_eq!(
        rules,
        [
            (None, "from 0.0.0.0/0 iif eth0".to_owned(), 254),
            (Some(5), "from 192.0.2.0/24 fwmark 0x10/0xff".to_owned(), 100),
            (Some(6), "from 198.51.100.0/24".to_owned(), 7)
        ]
    );
}

#[test]
fn what_nothing_is_said_about_is_as_networkmanager_has_it() {
    let bridge = "[connection]\nid=br0\ntype=bridge\ninterface-name=br0\n";
    let port =
        "[connection]\nid=p\ntype=802-3-ethernet\nmaster=br0\nslave-type=bridge\n[match]\npath=pci-0000:00:1f.4;\n";
    let vrf_port = "[connection]\nid=any\ntype=ethernet\ncontroller=red\nport-type=vrf\n[ipv4]\nmethod=auto\n";
    let older =
        "[connection]\nid=old\ntype=bridge\ninterface-name=br0\nautoconnect-priority=-1\n[ipv4]\nmethod=manual\n";
    let topology =
        topology(&[("0", older), ("1", bridge), ("2", port), ("3", vrf_port), ("4", "[connection]\nid=x\n")]);
    assert_eq!(topology.interfaces.len(), 3);
    let br0 = topology.interface("br0").unwrap();
    assert_eq!(br0.kind, Kind::LinuxBridge(Bridge { stp: true, ..Bridge::default() }));
    assert_eq!((br0.ipv4.method, br0.ipv6.method), (Method::Dhcp, Method::RouterAdvertisements));
    assert!(br0.ipv4.automatic_gateway && br0.ipv6.automatic_dns);
    let port = topology.interface("p").unwrap();
    assert_eq!(port.device, Device::Pci("0000:00:1f.4".to_owned()));
    assert_eq!(topology.ports("br0").count(), 1);
    let any = topology.interface("any").unwrap();
    assert_eq!((&any.device, any.ipv4.method), (&Device::Any, Method::Dhcp));
}

#[test]
fn the_loopback_is_there_if_it_has_more_than_on_every_host() {
    let profile = |more: &str| {
        format!(
            "[connection]\nid=lo\ntype=loopback\ninterface-name=lo\n[ipv4]\nmethod=manual\naddress1=127.0.0.1/8\n{more}[ipv6]\n\
             method=manual\naddress1=::1/128\n"
        )
    };
    let other = topology(&[("0", &profile("address2=127.0.0.2/8\n"))]);
    assert_eq!(addresses(other.interface("lo").unwrap()), ["0: ipv4.address2 127.0.0.2/8"]);
    assert!(topology(&[("0", &profile(""))]).interfaces.is_empty());
}

#[test]
fn vlans_of_bridges_are_ranges() {
    let bridge = "[connection]\nid=br0\ntype=bridge\n[bridge]\nvlans=30 untagged,25-29, 7 pvid untagged,20-24,9\n";
    let topology = topology(&[("0", bridge)]);
    let Kind::LinuxBridge(bridge) = &topology.interface("br0").unwrap().kind else { panic!("{topology:?}") };
    assert_eq!(bridge.options.vlans, BridgeVlans { untagged: Some(7), tagged: vec![9..=9, 20..=29] });
}

proptest! {
    #[test]
    fn any_profile_is_read_or_left_out(
        kind in "(ethernet|bond|vlan|vxlan|macvlan|macsec|veth|infiniband|vrf|wifi)",
        text in "((id|table|parent|mode|peer|mac-address|mtu|(address|route|routing-rule)[0-9]?(_options)?|dns|gateway|method|\\[ipv[46]\\]\n|\\[vlan\\]\n|\\[bond\\]\n)=?(manual|auto|192\\.0\\.2\\.1|2001:db8::1|[/,;% ]|[0-9]{1,11}|from|table|fwmark|\\\\s|ä)*\n){0,8}",
    ) {
        let content = format!("[connection]\nid=x\ntype={kind}\n[{kind}]\n{text}");
        let _: Topology = topology(&[("x", &content)]);
    }
}
