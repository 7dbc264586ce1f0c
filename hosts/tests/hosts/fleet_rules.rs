//! What holds of the rules about several hosts, whatever the hosts are.

use std::collections::BTreeMap;
use std::net::IpAddr;

use hosts::check::{CheckedHost, fleet};
use hosts::model::{
    Address, Bridge, Device, Dns, Interface, Ip, Kind, MAIN_TABLE, Method, NameServer, Route, RouteKind, RouteOptions,
    Topology, Vlan,
};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::RngSeed;
use vocabulary::host::{
    BmcSpec, Cluster, HostSpec, MacAddress, NmstateDocument, NoCredentials, VirtualIp, VirtualIpRole,
};
use vocabulary::report::{DocumentPath, Report, Severity};

/// A host as the rules see it.
type Host = (HostSpec, Topology);

/// Few addresses, so that hosts often have the same.
fn ip() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        (0..3_u8, 1..5_u8).prop_map(|(net, host)| IpAddr::from([10, 0, net, host])),
        (1..4_u16).prop_map(|host| IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, host])),
        Just("169.254.1.2".parse().unwrap()),
        Just("fe80::1".parse().unwrap()),
    ]
}

fn address() -> impl Strategy<Value = Address> {
    let lengths = prop_oneof![3 => Just((24, 64)), 1 => Just((16, 48)), 1 => Just((31, 127)), 1 => Just((32, 128))];
    (ip(), lengths).prop_map(|(ip, (of_v4, of_v6))| Address {
        network: ipnet(ip, if ip.is_ipv4() { of_v4 } else { of_v6 }),
        path: DocumentPath::root(),
    })
}

fn ipnet(ip: IpAddr, length: u8) -> ipnet::IpNet {
    ipnet::IpNet::new(ip, length).unwrap()
}

fn mac(last: u8) -> MacAddress {
    format!("52:54:00:00:00:{last:02x}").parse().unwrap()
}

fn interface() -> impl Strategy<Value = Interface> {
    let kind = prop_oneof![
        4 => Just(Kind::Ethernet),
        2 => (1..3_u16).prop_map(|id| Kind::Vlan(Vlan { parent: "eth0".to_owned(), id, ..Vlan::default() })),
        1 => Just(Kind::Dummy),
        1 => Just(Kind::Loopback),
        1 => Just(Kind::LinuxBridge(Bridge::default())),
        1 => Just(Kind::Vrf(100)),
    ];
    let rest =
        (prop::bool::weighted(0.9), prop::option::weighted(0.2, 0..6_u8), prop::option::weighted(0.2, 0..4_usize));
    (kind, prop::collection::vec(address(), 0..3), any::<bool>(), rest).prop_map(|(kind, all, dhcp, rest)| {
        let (of_v4, of_v6) = all.into_iter().partition(|address| address.network.addr().is_ipv4());
        let method = if dhcp { Method::Dhcp } else { Method::Static };
        let ip = |addresses| Ip { method, addresses, ..Ip::disabled(DocumentPath::root()) };
        let (active, mac_of, controller) = rest;
        Interface {
            active,
            mac: mac_of.map(mac),
            controller: controller.map(|number| number.to_string()),
            ipv4: ip(of_v4),
            ipv6: ip(of_v6),
            ..Interface::bare("", kind, DocumentPath::root())
        }
    })
}

fn host() -> impl Strategy<Value = Host> {
    let topology = (
        prop::collection::vec(interface(), 0..4),
        prop::collection::vec((any::<bool>(), ip()), 0..3),
        prop::collection::vec(ip(), 0..2),
        prop::option::of(0..4_u8),
    );
    let spec = (
        prop::option::of(0..8_u8),
        prop::option::weighted(0.7, 0..4_u8),
        prop::option::of(prop_oneof![Just("master"), Just("worker")]),
    );
    (topology, spec).prop_map(|((mut interfaces, gateways, servers, hostname), (boot_mac, bmc, role))| {
        for (number, interface) in interfaces.iter_mut().enumerate() {
            interface.name = number.to_string();
        }
        let routes = gateways.into_iter().map(|(is_default, gateway)| Route {
            destination: match (gateway.is_ipv4(), is_default) {
                (true, true) => "0.0.0.0/0".parse().unwrap(),
                (false, true) => "::/0".parse().unwrap(),
                (true, false) => "172.16.0.0/12".parse().unwrap(),
                (false, false) => "2001:db8:1::/48".parse().unwrap(),
            },
            kind: RouteKind::Unicast,
            interface: interfaces.first().map(|interface| interface.name.clone()),
            gateway: Some(gateway),
            gateway_path: DocumentPath::root(),
            source: None,
            metric: None,
            table: MAIN_TABLE,
            options: RouteOptions::default(),
            path: DocumentPath::root(),
        });
        let servers = servers.into_iter().map(name_server);
        let topology = Topology {
            hostname: hostname.map(|number| format!("host-{number}").parse().unwrap()),
            routes: routes.collect(),
            dns: Dns { servers: servers.collect(), ..Dns::default() },
            interfaces,
            rules: Vec::new(),
        };
        (named(boot_mac.map(mac), bmc.map(|number| format!("redfish://10.0.2.{number}/redfish/v1")), role), topology)
    })
}

fn named(boot_mac: Option<MacAddress>, bmc: Option<String>, role: Option<&str>) -> HostSpec {
    let bmc = bmc.map(|address| BmcSpec {
        address,
        credentials_name: None,
        credentials: Err(NoCredentials(String::new())),
        disable_certificate_verification: false,
    });
    let network = NmstateDocument::new(serde_yaml::Value::Null, DocumentPath::root());
    HostSpec { boot_mac, bmc, role: role.map(str::to_owned), ..HostSpec::with_network(network) }
}

fn cluster() -> impl Strategy<Value = Cluster> {
    let vips = prop::collection::vec((any::<bool>(), ip()), 0..4);
    (vips, any::<bool>(), prop::option::of(ip()), any::<bool>()).prop_map(|(vips, own, rendezvous, inside)| Cluster {
        name: None,
        path: DocumentPath::root(),
        machine_networks: inside.then(|| ("10.0.1.0/24".parse().unwrap(), DocumentPath::root())).into_iter().collect(),
        virtual_ips: vips.into_iter().map(|(api, address)| vip(api, address)).collect(),
        own_load_balancer: own,
        rendezvous_ip: rendezvous.map(|ip| (ip, DocumentPath::root())),
    })
}

fn vip(api: bool, address: IpAddr) -> VirtualIp {
    let role = if api { VirtualIpRole::Api } else { VirtualIpRole::Ingress };
    VirtualIp { role, address, path: DocumentPath::root() }
}

fn findings(hosts: &[Host], cluster: Option<&Cluster>) -> Report {
    let hosts: Vec<_> = hosts.iter().map(|(host, topology)| CheckedHost { host, topology }).collect();
    fleet(&hosts, cluster, true).report
}

/// Each code with the address that it is about, and the worst that is said of it.
fn worst(report: &Report) -> BTreeMap<(&'static str, Option<String>), bool> {
    let mut worst = BTreeMap::new();
    for finding in report.findings() {
        let mut words = finding.message.split([' ', ',']);
        let address = words.find(|word| word.parse::<IpAddr>().is_ok() || word.parse::<MacAddress>().is_ok());
        // Of two networks, either may be said to be in the other.
        let address = address.filter(|_| finding.code != "prefixes-differ").map(str::to_owned);
        *worst.entry((finding.code, address)).or_default() |= finding.severity == Severity::Error;
    }
    worst
}

fn plain(number: u8) -> Host {
    let address = Address { network: ipnet([192, 0, 2, number].into(), 24), path: DocumentPath::root() };
    let interface = Interface {
        device: Device::Mac(mac(number)),
        ipv4: Ip { method: Method::Static, addresses: vec![address], ..Ip::disabled(DocumentPath::root()) },
        ..Interface::bare("eth0", Kind::Ethernet, DocumentPath::root())
    };
    let route = Route {
        destination: "0.0.0.0/0".parse().unwrap(),
        kind: RouteKind::Unicast,
        interface: Some("eth0".to_owned()),
        gateway: Some([192, 0, 2, 254].into()),
        gateway_path: DocumentPath::root(),
        source: None,
        metric: None,
        table: MAIN_TABLE,
        options: RouteOptions::default(),
        path: DocumentPath::root(),
    };
    let topology = Topology {
        hostname: Some(format!("host-{number}").parse().unwrap()),
        interfaces: vec![interface],
        routes: vec![route],
        ..Topology::default()
    };
    (named(Some(mac(number)), Some(format!("redfish://198.51.100.{number}/redfish/v1")), Some("master")), topology)
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(0),
        ..ProptestConfig::default()
    })]

    /// Hosts may stand in any order: what is wrong is the same, and how much it weighs.
    #[test]
    fn the_order_of_hosts_does_not_matter(
        (hosts, order) in prop::collection::vec(host(), 0..8).prop_flat_map(|hosts| {
            let order = Just((0..hosts.len()).collect::<Vec<_>>()).prop_shuffle();
            (Just(hosts), order)
        }),
        cluster in prop::option::of(cluster()),
    ) {
        let shuffled: Vec<Host> = order.into_iter().map(|number| hosts[number].clone()).collect();
        let (one, other) = (findings(&hosts, cluster.as_ref()), findings(&shuffled, cluster.as_ref()));
        prop_assert_eq!(worst(&one), worst(&other), "{:#?}\n{:#?}", one, other);
    }

    /// Whatever two hosts of a fleet have in common that each must have for itself is found, and nothing else is.
    #[test]
    fn what_two_hosts_share_is_found(count in 2..40_u8, one in any::<Index>(), other in any::<Index>(), what in 0..6) {
        let mut hosts: Vec<Host> = (1..=count).map(plain).collect();
        let mut cluster = Cluster {
            name: None,
            path: DocumentPath::root(),
            machine_networks: vec![("192.0.2.0/24".parse().unwrap(), DocumentPath::root())],
            virtual_ips: vec![vip(true, [192, 0, 2, 200].into()), vip(false, [192, 0, 2, 201].into())],
            own_load_balancer: false,
            rendezvous_ip: Some(([192, 0, 2, 1].into(), DocumentPath::root())),
        };
        prop_assert!(findings(&hosts, Some(&cluster)).is_empty());
        let from = one.index(hosts.len());
        let to = (from + 1 + other.index(hosts.len() - 1)) % hosts.len();
        let theirs = hosts[from].clone();
        let host = &mut hosts[to];
        let code = match what {
            0 => {
                // The rendezvous IP is somebody's even so.
                cluster.rendezvous_ip = None;
                host.1.interfaces[0].ipv4 = theirs.1.interfaces[0].ipv4.clone();
                "address-of-two-hosts"
            }
            1 => {
                host.0.boot_mac = theirs.0.boot_mac;
                "mac-address-of-two-hosts"
            }
            2 => {
                host.1.hostname = theirs.1.hostname;
                "hostname-duplicate"
            }
            3 => {
                host.0.bmc = theirs.0.bmc;
                "bmc-of-two-hosts"
            }
            4 => {
                cluster.virtual_ips[0].address = host.1.interfaces[0].ipv4.addresses[0].network.addr();
                "virtual-ip-of-host"
            }
            _ => {
                host.0.bmc.as_mut().unwrap().address = format!("ipmi://{}", theirs.1.interfaces[0].ipv4.addresses[0].network.addr());
                "address-of-bmc"
            }
        };
        let report = findings(&hosts, Some(&cluster));
        let found: Vec<_> = report.findings().iter().map(|finding| (finding.code, finding.severity)).collect();
        prop_assert_eq!(found, [(code, Severity::Error)]);
    }

    /// One host that is unlike all others of its network is found wherever it stands, if there are others enough; two are not.
    #[test]
    fn one_host_unlike_all_others_is_found(
        count in 1..40_u8,
        odd in prop::collection::vec(any::<Index>(), 0..3),
        what in 0..3_usize,
        values in any::<bool>(),
    ) {
        let mut hosts: Vec<Host> = (1..=count).map(plain).collect();
        for (_, topology) in &mut hosts {
            topology.dns.servers = vec![server(53), server(54)];
        }
        let odd: std::collections::BTreeSet<usize> = odd.iter().map(|index| index.index(hosts.len())).collect();
        for (number, host) in odd.iter().enumerate() {
            // Whether those that differ from the others differ from each other does not matter.
            let other = if values { u8::try_from(number).unwrap() } else { 0 };
            let topology = &mut hosts[*host].1;
            match what {
                0 => topology.interfaces[0].mtu = Some(9000 - u32::from(other)),
                1 => topology.routes[0].gateway = Some([192, 0, 2, 253 - other].into()),
                _ => topology.dns.servers = vec![server(54), server(60 + other)],
            }
        }
        let code = ["mtu-unlike-others", "gateway-unlike-others", "name-servers-unlike-others"][what];
        let report = findings(&hosts, None);
        let found: Vec<_> = report.findings().iter().map(|finding| (finding.code, finding.severity)).collect();
        let wanted = if odd.len() == 1 && count >= 4 { vec![(code, Severity::Warning)] } else { Vec::new() };
        prop_assert_eq!(found, wanted);
    }
}

fn name_server(address: IpAddr) -> NameServer {
    NameServer { address, interface: None, path: DocumentPath::root() }
}

fn server(last: u8) -> NameServer {
    name_server([198, 51, 100, last].into())
}
