//! The whole chain: a user's document becomes an image, a BMC mounts it, a machine boots it, and its network is what the
//! document says.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, TcpListener};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use acceptance::bases::{fixtures, ramdisk_iso};
use acceptance::chain::{CREDENTIALS, Chain, Firmware, KERNEL_ARGUMENTS, Network, Nic, Place, Segment, Setup, answers};
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

/// The objects of a host with this network, as Metal3 has them.
fn bare_metal_host(chain: &Chain, nmstate: &str) -> String {
    let (username, password) = CREDENTIALS;
    let address = format!("redfish-virtualmedia+{}{}", chain.bmc.origin, chain.bmc.system);
    let objects = [
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "network"}, "stringData": {"nmstate": nmstate}}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bmc"},
            "stringData": {"username": username, "password": password}}),
        json!({"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": {"name": "node-7"},
            "spec": {"bmc": {"address": address, "credentialsName": "bmc"}, "bootMode": chain.firmware.boot_mode(),
                "preprovisioningNetworkDataName": "network"}}),
    ];
    objects.map(|object| object.to_string()).join("\n---\n")
}

/// A boot that dayone has begun.
struct Boot<'a> {
    chain: &'a Chain,
    url: String,
    override_before: Value,
}

impl<'a> Boot<'a> {
    /// Has dayone boot the host of some documents.
    fn begin(chain: &'a Chain, documents: &str) -> Self {
        let override_before = chain.bmc.system_state()["Boot"]["BootSourceOverrideTarget"].clone();
        let answer = Client::new()
            .post(format!("{}/v1/boots", chain.server.api))
            .query(&[("base", "live"), ("booted_within", "900")])
            .query(&KERNEL_ARGUMENTS.map(|argument| ("karg_append", argument)))
            .header("Content-Type", "application/yaml")
            .body(documents.to_owned())
            .send()
            .unwrap();
        let begun: Value = answer.json().unwrap();
        let id = begun["boots"][0]["id"].as_str().unwrap_or_else(|| panic!("{begun}"));
        chain.lap("begun");
        Self { chain, url: format!("{}/v1/boots/{id}", chain.server.api), override_before }
    }

    fn state(&self) -> Value {
        reqwest::blocking::get(&self.url).unwrap().json().unwrap()
    }

    /// Waits until it is in this state.
    fn until(&self, state: &str) -> Value {
        loop {
            let boot = self.state();
            if boot["state"] == state {
                self.chain.lap(state);
                return boot;
            }
            // It has a limit of its own.
            assert_ne!(boot["state"], "failed", "{boot:#}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Deletes it: the BMC is as it was before.
    fn delete(self, query: &str) {
        let answer = Client::new().delete(format!("{}{query}", self.url)).send().unwrap();
        assert_eq!(answer.status(), 202);
        self.until("ejected");
        assert_eq!(self.chain.bmc.media()["Inserted"], false);
        let override_now = self.chain.bmc.system_state()["Boot"]["BootSourceOverrideTarget"].clone();
        assert_eq!(override_now, self.override_before);
    }
}

fn step<'a>(boot: &'a Value, name: &str) -> &'a Value {
    boot["steps"].as_array().unwrap().iter().find(|step| step["step"] == name).unwrap_or_else(|| panic!("{boot:#}"))
}

/// Boots the host of some documents, which calls home from one of its static addresses. Its network is what its NMState
/// says, and these addresses answer datagrams of these sizes. Then the BMC is as it was.
fn check(chain: &Chain, documents: &str, nmstate: &Value, answering: &[(&str, usize)]) -> Report {
    check_and(chain, documents, nmstate, answering, || {})
}

/// The same, and something else while the host is on.
fn check_and(
    chain: &Chain,
    documents: &str,
    nmstate: &Value,
    answering: &[(&str, usize)],
    while_on: impl FnOnce(),
) -> Report {
    let boot = Boot::begin(chain, documents);
    let booted = boot.until("booted");
    assert_eq!(booted["wait_for"], json!(["call-home"]), "{booted:#}");
    let (evidence, addresses) = (&step(&booted, "booted")["detail"], booted["addresses"].as_array().unwrap());
    let is_its_own = addresses.iter().any(|address| evidence.as_str().unwrap().contains(address.as_str().unwrap()));
    assert!(is_its_own, "{booted:#}");

    let report = chain.report();
    assert_eq!(differences(nmstate, &report), [""; 0], "{report:#?}");
    for (there, size) in answering {
        assert!(answers(address(there), *size), "{there}");
    }
    while_on();

    let image = booted["image"].as_str().unwrap();
    let reading = reqwest::blocking::get(format!("{}/v1/images/{image}/reading", chain.server.api)).unwrap();
    let reading: Value = reading.json().unwrap();
    for role in ["kernel", "initrd"] {
        let mut contents = reading["contents"].as_array().unwrap().iter().filter(|content| content["role"] == role);
        assert!(contents.all(|content| content["percent"] == 100), "{reading:#}");
    }
    boot.delete("?power_off=true");
    assert_eq!(chain.bmc.system_state()["PowerState"], "Off");
    report
}

/// The host has a second NIC, which the document does not mention, where a router offers addresses.
#[test]
fn static_ipv4_of_a_bare_metal_host() {
    let nics = [[Nic { mac: MAC, place: Place::Bus(2) }], [Nic { mac: OTHER_MAC, place: Place::Bus(3) }]];
    let segment = [Segment { vlan: None, addresses: &["192.168.111.1/24"] }];
    let mut other = network("other", &nics[1], &[]);
    other.offered = Some("2001:db8:bad::".parse().unwrap());
    let networks = [network("lan", &nics[0], &segment), other];
    let chain = start("static-ipv4", "192.168.111.1", Firmware::Uefi, &networks);
    let nmstate = fs::read_to_string(fixtures("nmstate/static-ipv4-baremetalhost/nmstate.yaml")).unwrap();
    check(&chain, &scenario("static-ipv4-baremetalhost.yaml"), &parsed(&nmstate), &[("192.168.111.110", 100)]);
}

/// And IPv6 alone between dayone, the BMC and the host.
#[test]
#[ignore = "make matrix runs it"]
fn dual_stack_without_what_a_router_offers() {
    let nics = [Nic { mac: MAC, place: Place::Bus(1) }];
    let segment = [Segment { vlan: None, addresses: &["192.0.2.1/24", "2001:db8:1::1/64"] }];
    let mut network = network("lan", &nics, &segment);
    network.offered = Some("2001:db8:bad::".parse().unwrap());
    let chain = start("dual-stack", "2001:db8:1::1", Firmware::Uefi, &[network]);
    let document = scenario("ipv6-dual-stack-nmstate.yaml");
    let answering = [("192.0.2.20", 100), ("2001:db8:1::20", 100)];
    check(&chain, &bare_metal_host(&chain, &document), &parsed(&document), &answering);
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
    let jumbo =
        ["192.168.122.50", "172.17.1.50", "172.17.2.50", "172.17.3.50", "172.17.4.50"].map(|there| (there, 8900));
    let answering = [&[("172.16.0.110", 100)][..], &jumbo].concat();
    let trunk = &chain.switches[1];
    // A port is part of the link some seconds after the first one, which is enough to call home.
    let both_ports_are_one_link = || {
        let deadline = Instant::now() + Duration::from_secs(60);
        while trunk.aggregated() != 2 {
            assert!(Instant::now() < deadline, "{} ports are one link", trunk.aggregated());
            std::thread::sleep(Duration::from_millis(200));
        }
    };
    let documents = bare_metal_host(&chain, &document);
    check_and(&chain, &documents, &parsed(&document), &answering, both_ports_are_one_link);
    let tags: BTreeSet<_> = [None, Some(20), Some(30), Some(40), Some(50)].into();
    assert!(trunk.tags().is_superset(&tags), "{:?}", trunk.tags());
}

#[test]
#[ignore = "make matrix runs it"]
fn bridge_over_the_only_nic() {
    let nics = [Nic { mac: MAC, place: Place::Board }];
    let segment = [Segment { vlan: None, addresses: &["10.19.41.254/24"] }];
    let networks = [network("lan", &nics, &segment)];
    let chain = start("external-bridge", "10.19.41.254", Firmware::Uefi, &networks);
    let document = scenario("external-bridge-nmstate.yaml");
    check(&chain, &bare_metal_host(&chain, &document), &parsed(&document), &[("10.19.41.157", 100)]);
}

/// With BIOS, and what two policies say of one host as one document.
#[test]
#[ignore = "make matrix runs it"]
fn bridges_over_both_functions_of_a_card() {
    let names = ["br-ex-ens7f0", "br-ex-ens7f1"].map(|name| format!("nmstate/linux-bridges-nncp-{name}/nmstate.yaml"));
    let policies = names.map(|name| parsed(&fs::read_to_string(fixtures(&name)).unwrap()));
    let interfaces: Vec<_> = policies.iter().flat_map(|policy| policy["interfaces"].as_array().unwrap()).collect();
    let nmstate = json!({"interfaces": interfaces});

    let nics = [(MAC, 0), (OTHER_MAC, 1)].map(|(mac, function)| [Nic { mac, place: Place::Slot(7, function) }]);
    let segments = [&["192.168.111.1/24"], &["10.10.10.1/24"]].map(|addresses| [Segment { vlan: None, addresses }]);
    let networks = [network("lan", &nics[0], &segments[0]), network("other", &nics[1], &segments[1])];
    let chain = start("linux-bridges", "192.168.111.1", Firmware::Bios, &networks);
    let answering = [("192.168.111.2", 100), ("10.10.10.2", 100)];
    check(&chain, &bare_metal_host(&chain, &nmstate.to_string()), &nmstate, &answering);
}

#[test]
#[ignore = "make matrix runs it"]
fn bond_of_nics_known_by_their_mac_addresses() {
    let nics = [("52:54:00:12:34:01", 4), ("52:54:00:12:34:02", 5)];
    let nics = nics.map(|(mac, bus)| Nic { mac, place: Place::Bus(bus) });
    let segment = [Segment { vlan: None, addresses: &["198.51.100.1/24"] }];
    let networks = [network("lan", &nics, &segment)];
    let chain = start("mac-identified", "198.51.100.1", Firmware::Uefi, &networks);
    let document = scenario("mac-identified-nmstate.yaml");
    let documents = bare_metal_host(&chain, &document);
    let report = check(&chain, &documents, &parsed(&document), &[("198.51.100.7", 100)]);
    assert_eq!(report.ports("bond0"), ["enp4s0", "enp5s0"], "{report:#?}");
}

/// A system that is up and does not reach dayone has not booted.
#[test]
fn a_host_with_an_address_of_another_network_does_not_call_home() {
    let nics = [Nic { mac: MAC, place: Place::Bus(2) }];
    let segment = [Segment { vlan: None, addresses: &["192.168.111.1/24"] }];
    let networks = [network("lan", &nics, &segment)];
    let chain = start("wrong-address", "192.168.111.1", Firmware::Uefi, &networks);
    let nmstate = fs::read_to_string(fixtures("nmstate/static-ipv4-baremetalhost/nmstate.yaml")).unwrap();
    let nmstate = nmstate.replace("192.168.111.", "192.168.222.");
    let boot = Boot::begin(&chain, &bare_metal_host(&chain, &nmstate));
    let report = chain.report();
    assert_eq!(differences(&parsed(&nmstate), &report), [""; 0], "{report:#?}");
    // In the tests above, hosts call home before they report or a moment after it.
    std::thread::sleep(Duration::from_secs(10));
    let state = boot.state();
    assert_eq!((state["state"].as_str(), step(&state, "power")["state"].as_str()), (Some("running"), Some("done")));
    assert_eq!(step(&state, "booted")["ended"], Value::Null, "{state:#}");
    boot.delete("");
}

/// Otherwise the tests above would prove nothing. It says something new only where the base has changed.
#[test]
#[ignore = "make matrix runs it"]
fn the_base_itself_has_what_a_router_offers_and_no_more() {
    let nics = [Nic { mac: MAC, place: Place::Bus(1) }];
    let segment = [Segment { vlan: None, addresses: &["192.0.2.1/24"] }];
    let mut network = network("lan", &nics, &segment);
    network.offered = Some("2001:db8:bad::".parse().unwrap());
    let chain = start("base", "192.0.2.1", Firmware::Uefi, &[network]);
    // It waits for a DHCP server as long as it may.
    let base = ramdisk_iso(&["--append=boot-report=90", "--append=systemd.show_status=false"]);
    chain.bmc.insert(&served_once(base));
    chain.bmc.boot_cd("UEFI");

    let report = chain.report();
    assert_eq!(report.host_name(), "base");
    let addresses = report.addresses("enp1s0");
    assert!(matches!(addresses.as_slice(), [one] if one.starts_with("2001:db8:bad:")), "{report:#?}");
    assert!(!answers(address("192.0.2.20"), 100));
    let differences = differences(&parsed(&scenario("ipv6-dual-stack-nmstate.yaml")), &report);
    // Addresses of both families, the one that was offered, two routes, their number, the name servers.
    assert_eq!(differences.len(), 7, "{differences:#?}");
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
