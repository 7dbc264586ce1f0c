//! The whole chain: a user's document becomes an image, a BMC mounts it, a machine boots it, and its network is what the
//! document says.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, TcpListener};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use acceptance::bases::{fixtures, ramdisk_iso};
use acceptance::chain::{Chain, Firmware, KERNEL_ARGUMENTS, Network, Nic, Place, Segment, Setup, answers};
use acceptance::report::Report;
use acceptance::state::differences;
use reqwest::blocking::Client;
use serde_json::{Value, json};

/// The machine, as the scenarios' BareMetalHost has it.
const UUID: &str = "fd0e728a-4c10-40e4-807a-fab5b055de78";
const MAC: &str = "00:d7:a3:95:42:1f";
const OTHER_MAC: &str = "00:d7:a3:95:42:20";
const THIRD_MAC: &str = "00:d7:a3:95:42:21";

fn scenario(name: &str) -> String {
    fs::read_to_string(fixtures("scenarios").join(name)).unwrap()
}

fn parsed(nmstate: &str) -> Value {
    serde_yaml::from_str(nmstate).unwrap()
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// A network without VLANs.
fn network<'a>(name: &'a str, nics: &'a [Nic], segment: &'a [Segment<'a>]) -> Network<'a> {
    Network { name, nics, segments: segment, mtu: 1500, offered: None }
}

/// A host's machine with its networks; dayone and the BMC are at `services`.
fn start(name: &str, services: &str, firmware: Firmware, networks: &[Network<'_>]) -> Chain {
    let base = ramdisk_iso(&[]);
    Chain::start(&Setup { name, base: &base, firmware, uuid: UUID, address: address(services), networks })
}

/// Orders an image of a document, and has the machine boot it.
fn boot(chain: &Chain, document: &str) {
    let answer = Client::new()
        .post(format!("{}/v1/images", chain.server.api))
        .query(&[("base", "live"), ("format", "iso")])
        .query(&KERNEL_ARGUMENTS.map(|argument| ("karg_append", argument)))
        .header("Content-Type", "application/yaml")
        .body(document.to_owned())
        .send()
        .unwrap();
    let image: Value = answer.json().unwrap();
    chain.bmc.insert(image["url"].as_str().unwrap_or_else(|| panic!("{image}")));
    chain.bmc.boot_cd(chain.firmware.redfish());
}

/// Boots a document and compares what has become of the network.
fn check(chain: &Chain, document: &str, nmstate: &Value) -> Report {
    boot(chain, document);
    let report = chain.report();
    assert_eq!(differences(nmstate, &report), [""; 0], "{report:#?}");
    report
}

#[test]
fn static_ipv4_of_a_bare_metal_host() {
    let nics = [Nic { mac: MAC, place: Place::Bus(2) }];
    let segment = [Segment { vlan: None, addresses: &["192.168.111.1/24"] }];
    let networks = [network("lan", &nics, &segment)];
    let chain = start("static-ipv4", "192.168.111.1", Firmware::Uefi, &networks);
    let nmstate = fs::read_to_string(fixtures("nmstate/static-ipv4-baremetalhost/nmstate.yaml")).unwrap();
    check(&chain, &scenario("static-ipv4-baremetalhost.yaml"), &parsed(&nmstate));
    assert!(answers(address("192.168.111.110"), 100));
}

#[test]
fn dual_stack_without_what_a_router_offers() {
    let nics = [Nic { mac: MAC, place: Place::Bus(1) }];
    let segment = [Segment { vlan: None, addresses: &["192.0.2.1/24", "2001:db8:1::1/64"] }];
    let mut network = network("lan", &nics, &segment);
    network.offered = Some("2001:db8:bad::".parse().unwrap());
    let chain = start("dual-stack", "192.0.2.1", Firmware::Uefi, &[network]);
    let document = scenario("ipv6-dual-stack-nmstate.yaml");
    check(&chain, &document, &parsed(&document));
    assert!(answers(address("192.0.2.20"), 100));
    assert!(answers(address("2001:db8:1::20"), 100));
}

#[test]
fn bond_with_lacp_and_vlans() {
    let management = [Nic { mac: MAC, place: Place::Board }];
    let management_segment = [Segment { vlan: None, addresses: &["172.16.0.254/24"] }];
    let ports =
        [Nic { mac: OTHER_MAC, place: Place::Function(3, 0) }, Nic { mac: THIRD_MAC, place: Place::Function(3, 1) }];
    let segments = [
        Segment { vlan: None, addresses: &["192.168.122.1/24"] },
        Segment { vlan: Some(20), addresses: &["172.17.1.1/24"] },
        Segment { vlan: Some(50), addresses: &["172.17.2.1/24"] },
        Segment { vlan: Some(30), addresses: &["172.17.3.1/24"] },
        Segment { vlan: Some(40), addresses: &["172.17.4.1/24"] },
    ];
    let mut trunk = network("trunk", &ports, &segments);
    trunk.mtu = 9000;
    let networks = [network("management", &management, &management_segment), trunk];
    let chain = start("bond-vlans", "192.168.122.1", Firmware::Uefi, &networks);
    let document = scenario("bond-vlans-nmstate.yaml");
    check(&chain, &document, &parsed(&document));

    assert!(answers(address("172.16.0.110"), 100));
    for there in ["192.168.122.50", "172.17.1.50", "172.17.2.50", "172.17.3.50", "172.17.4.50"] {
        assert!(answers(address(there), 8900), "{there}");
    }
    let trunk = &chain.switches[1];
    let tags: BTreeSet<_> = [None, Some(20), Some(30), Some(40), Some(50)].into();
    assert!(trunk.tags().is_superset(&tags), "{:?}", trunk.tags());
    let deadline = Instant::now() + Duration::from_secs(60);
    while trunk.aggregated() != 2 {
        assert!(Instant::now() < deadline, "{} ports are one link", trunk.aggregated());
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn bridge_over_the_only_nic() {
    let nics = [Nic { mac: MAC, place: Place::Board }];
    let segment = [Segment { vlan: None, addresses: &["10.19.41.254/24"] }];
    let networks = [network("lan", &nics, &segment)];
    let chain = start("external-bridge", "10.19.41.254", Firmware::Uefi, &networks);
    let document = scenario("external-bridge-nmstate.yaml");
    check(&chain, &document, &parsed(&document));
    assert!(answers(address("10.19.41.157"), 100));
}

/// With BIOS, and what two policies say of one host as one document.
#[test]
fn bridges_over_both_functions_of_a_card() {
    let names = ["br-ex-ens7f0", "br-ex-ens7f1"].map(|name| format!("nmstate/linux-bridges-nncp-{name}/nmstate.yaml"));
    let policies = names.map(|name| parsed(&fs::read_to_string(fixtures(&name)).unwrap()));
    let interfaces: Vec<_> = policies.iter().flat_map(|policy| policy["interfaces"].as_array().unwrap()).collect();
    let nmstate = json!({"interfaces": interfaces});

    let nics = [(MAC, 0), (OTHER_MAC, 1)].map(|(mac, function)| [Nic { mac, place: Place::Slot(7, function) }]);
    let segments = [&["192.168.111.1/24"], &["10.10.10.1/24"]].map(|addresses| [Segment { vlan: None, addresses }]);
    let networks = [network("lan", &nics[0], &segments[0]), network("other", &nics[1], &segments[1])];
    let chain = start("linux-bridges", "192.168.111.1", Firmware::Bios, &networks);
    check(&chain, &nmstate.to_string(), &nmstate);
    assert!(answers(address("192.168.111.2"), 100));
    assert!(answers(address("10.10.10.2"), 100));
}

#[test]
fn bond_of_nics_known_by_their_mac_addresses() {
    let nics = [("52:54:00:12:34:01", 4), ("52:54:00:12:34:02", 5)];
    let nics = nics.map(|(mac, bus)| Nic { mac, place: Place::Bus(bus) });
    let segment = [Segment { vlan: None, addresses: &["198.51.100.1/24"] }];
    let networks = [network("lan", &nics, &segment)];
    let chain = start("mac-identified", "198.51.100.1", Firmware::Uefi, &networks);
    let document = scenario("mac-identified-nmstate.yaml");
    let report = check(&chain, &document, &parsed(&document));
    assert_eq!(report.ports("bond0"), ["enp4s0", "enp5s0"], "{report:#?}");
    assert!(answers(address("198.51.100.7"), 100));
}

/// Otherwise the tests above would prove nothing.
#[test]
fn the_base_itself_has_what_a_router_offers_and_no_more() {
    let nics = [Nic { mac: MAC, place: Place::Bus(1) }];
    let segment = [Segment { vlan: None, addresses: &["192.0.2.1/24"] }];
    let mut network = network("lan", &nics, &segment);
    network.offered = Some("2001:db8:bad::".parse().unwrap());
    let chain = start("base", "192.0.2.1", Firmware::Uefi, &[network]);
    let arguments = KERNEL_ARGUMENTS.map(|argument| format!("--append={argument}"));
    let base = ramdisk_iso(&arguments.each_ref().map(String::as_str));
    chain.bmc.insert(&served_once(base));
    chain.bmc.boot_cd("UEFI");

    let report = chain.report();
    assert_eq!(report.host_name(), "base");
    let addresses = report.addresses("enp1s0");
    assert!(matches!(addresses.as_slice(), [one] if one.starts_with("2001:db8:bad:")), "{report:#?}");
    assert!(!answers(address("192.0.2.20"), 100));
    let differences = differences(&parsed(&scenario("ipv6-dual-stack-nmstate.yaml")), &report);
    // Addresses, the one that was offered, two routes, their number, the name servers.
    assert_eq!(differences.len(), 6, "{differences:#?}");
}

/// The URL of a file that one client can fetch in one request.
fn served_once(file: PathBuf) -> String {
    let listener = TcpListener::bind("192.0.2.1:0").unwrap();
    let url = format!("http://{}/base.iso", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
        let mut file = File::open(file).unwrap();
        let length = file.metadata().unwrap().len();
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n").unwrap();
        std::io::copy(&mut file, &mut stream).unwrap();
    });
    url
}
