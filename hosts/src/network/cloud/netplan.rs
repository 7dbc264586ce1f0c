//! Version 2 of cloud-init's `network-config`, which is netplan's YAML.

use serde_json::{Map, Value, json};

use super::duid;
use super::elsewhere;
use super::macs::{self, is_made_of_ports, mac_of};
use crate::model::{Bond, Bridge, BridgePort, Device as FoundBy, Interface, Ip, Kind, Method, Port, Route, Vlan};
use crate::network::bonds::has_effect;
use crate::network::devices::{Device, Network, section_of};
use crate::network::form::Findings;
use crate::network::object::Object;
use crate::yaml_text;

/// The program that reads the document.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    Netplan,
    /// It passes the document on to netplan, or translates it for another program.
    CloudInit,
}

/// Writes the whole document, as far as the format can express it.
pub(super) fn write(network: &Network<'_>, reader: Reader, findings: &mut Findings<'_>) -> String {
    for Device { interface, .. } in &network.devices {
        let at = interface.path.key("name");
        if !interface.label.bytes().all(|byte| byte.is_ascii_graphic()) {
            findings.refuse(&at, "netplan accepts only ASCII letters, digits and punctuation");
        } else if interface.label.contains(['*', '?', '[', ']']) {
            findings.refuse(&at, "netplan accepts no *, ?, [ and ], which stand for other characters in its patterns");
        } else if interface.label == "renderer" {
            findings.refuse(&at, "netplan has a setting of this name beside the interfaces");
        } else if interface.label == "<<" {
            findings.refuse(&at, "it is the merge key of YAML, which not all readers tell from a name");
        }
    }
    let asks_anybody = names_servers(network) || network.devices.iter().any(Device::asks_for_name_servers);
    if !network.search.is_empty() && !asks_anybody {
        findings.refuse(network.search_path, "no interface has a name server to ask");
    }
    let mut document = Object::default();
    document.set("version", 2);
    for section in ["ethernets", "bonds", "bridges", "vlans"] {
        let members: Map<String, Value> = network
            .devices
            .iter()
            .filter(|device| section_of(&device.interface.kind) == Some(section))
            .map(|device| (device.interface.label.clone(), device_of(device, network, reader, findings).into()))
            .collect();
        document.set_some(section, (!members.is_empty()).then_some(members));
    }
    if !findings.has_errors() {
        macs::warn(network, findings);
        duid::warn(network, "netplan", findings);
        if reader == Reader::CloudInit {
            elsewhere::warn(network, findings);
        }
    }
    // Texts, numbers and mappings: YAML can express all of them. cloud-init reads YAML 1.1, in which some MAC addresses are numbers.
    yaml_text::document(&serde_yaml::to_value(Value::from(document)).unwrap_or_default())
}

/// The metric that netplan gives to the routes that an interface learns.
const NETPLAN_METRIC: u32 = 100;

fn device_of(
    written_device: &Device<'_>,
    network: &Network<'_>,
    reader: Reader,
    findings: &mut Findings<'_>,
) -> Object {
    let Device { interface, routes, servers: _ } = written_device;
    // The key of the device is its name. The list of keys that can be expressed allows only the defaults of the others.
    let Interface {
        name: _,
        label: _,
        path: _,
        device,
        kind,
        active: _,
        mac,
        mtu,
        options: _,
        controller: _,
        ports,
        ipv4,
        ipv6,
    } = interface.as_ref();
    let mut written = Object::default();
    if let FoundBy::Mac(mac) = device {
        written.set("match", json!({"macaddress": mac.to_string()}));
    }
    let names = || ports.iter().map(|port| network.label(&port.name)).collect::<Value>();
    match kind {
        Kind::Bond(options) => {
            if let Some(targets) = options.option("arp_ip_target") {
                let targets: Vec<&str> = targets.split(',').map(str::trim).collect();
                findings.check_arp_targets(&targets, &interface.path);
            }
            findings.check_learning_interval(options, &interface.path);
            written.set("interfaces", names());
            written.set("parameters", bond(options, network));
        }
        Kind::LinuxBridge(options) => {
            written.set("interfaces", names());
            written.set("parameters", bridge(options, ports, network, reader));
        }
        Kind::Vlan(Vlan { parent, id, options: _ }) => {
            written.set("id", *id);
            written.set("link", network.label(parent));
        }
        _ => {}
    }
    // Without it, systemd-networkd makes up an address, and the ports' do not count.
    let mac = if is_made_of_ports(kind) { mac_of(network, written_device).map(|mac| mac.address) } else { *mac };
    written.set_some("macaddress", mac.map(|mac| mac.to_string()));
    written.set_some("mtu", *mtu);
    // The loopback gets nothing from a network.
    if *kind != Kind::Loopback {
        set_automatic(&mut written, written_device.interface.as_ref(), findings);
    }
    let addresses = [ipv4, ipv6].into_iter().flat_map(|Ip { addresses, .. }| addresses);
    let addresses: Vec<String> = addresses.map(|address| address.network.to_string()).collect();
    written.set_some("addresses", (!addresses.is_empty()).then_some(addresses));
    let mut others: Vec<Value> = Vec::new();
    for route in routes {
        match elsewhere::gateway(route, written_device).filter(|_| reader == Reader::CloudInit) {
            Some((key, gateway)) => written.set(key, gateway.to_string()),
            None => others.push(route_of(route, written_device).into()),
        }
    }
    written.set_some("routes", (!others.is_empty()).then_some(others));
    written.set_some("nameservers", name_servers(written_device, network));
    written
}

/// What the interface gets from the network, and by itself.
fn set_automatic(written: &mut Object, interface: &Interface, findings: &mut Findings<'_>) {
    let Interface { ipv4, ipv6, .. } = interface;
    written.set("dhcp4", ipv4.is_automatic());
    // Without it, systemd-networkd sends a DUID, and the DHCP server takes the host for another one.
    let identifier = if ipv4.dhcp_duid { "duid" } else { "mac" };
    written.set_some("dhcp-identifier", ipv4.is_automatic().then_some(identifier));
    written.set("dhcp6", ipv6.is_automatic());
    written.set("accept-ra", ipv6.is_automatic());
    set_overrides(written, interface, findings);
    // By itself netplan gives every interface a link-local address of IPv6.
    written.set_some("link-local", (ipv6.method == Method::Disabled).then_some(json!([])));
}

/// NetworkManager's metrics of learned routes, where netplan has others, so that the same default route wins. networkd applies the metric
/// to the routes of router advertisements, too (`config_parse_dhcp_or_ra_route_metric`, systemd 249 or newer). And the search domains
/// that the network offers, which NetworkManager uses together with the name servers.
fn set_overrides(written: &mut Object, interface: &Interface, findings: &mut Findings<'_>) {
    refuse_untaken(interface, findings);
    let metric = |ip: &Ip| ip.is_automatic().then(|| ip.metric.unwrap_or(interface.kind.usual_metric()));
    let metrics = [metric(&interface.ipv4), metric(&interface.ipv6)];
    if let [Some(v4), Some(v6)] = metrics
        && v4 != v6
    {
        let reason = format!("netplan has one metric for both families, and IPv4 has {v4} and IPv6 {v6}");
        findings.refuse(&interface.ipv6.path.key("auto-route-metric"), &reason);
    }
    let families = interface.families().into_iter().zip(metrics);
    for (key, (ip, metric)) in ["dhcp4-overrides", "dhcp6-overrides"].into_iter().zip(families) {
        let mut overrides = Object::default();
        overrides.set_some("route-metric", metric.filter(|metric| *metric != NETPLAN_METRIC));
        overrides.set_some("use-domains", ip.learns_name_servers().then_some(true));
        overrides.set_some("use-dns", (!ip.automatic_dns).then_some(false));
        overrides.set_some("use-routes", (!ip.automatic_routes).then_some(false));
        written.set_some(key, ip.is_automatic().then_some(overrides));
    }
}

/// Refuses a document that leaves out a part of what the network offers, if netplan cannot leave out this part. Where cloud-init may
/// translate the document, no part can be left out, and dayone has already refused such documents.
fn refuse_untaken(interface: &Interface, findings: &mut Findings<'_>) {
    let Interface { ipv4, ipv6, .. } = interface;
    for ip in [ipv4, ipv6].into_iter().filter(|ip| ip.is_automatic()) {
        if ip.automatic_routes && !ip.automatic_gateway {
            let reason = if ipv6.is_automatic() {
                "netplan takes the default route with all other routes"
            } else {
                "netplan takes the default route with all other routes, or none; set auto-routes to false"
            };
            findings.refuse(&ip.path.key("auto-gateway"), reason);
        }
    }
    for (key, v4, v6) in [
        ("auto-dns", ipv4.automatic_dns, ipv6.automatic_dns),
        ("auto-routes", ipv4.automatic_routes, ipv6.automatic_routes),
    ] {
        // `use-dns` and `use-routes` count for DHCP alone, and must be the same for both families.
        if ipv6.is_automatic() && !v6 {
            let reason = "netplan has no equivalent of \"false\" for router advertisements";
            findings.refuse(&ipv6.path.key(key), reason);
        } else if ipv6.is_automatic() && ipv4.is_automatic() && !v4 {
            let reason = "netplan has one setting for both families, and IPv6 has another";
            findings.refuse(&ipv4.path.key(key), reason);
        }
    }
}

/// The name servers of an interface. If the document names none, the search domains stand with the interfaces that may get some
/// from the network.
fn name_servers(device: &Device<'_>, network: &Network<'_>) -> Option<Value> {
    if !device.servers.is_empty() {
        let servers: Vec<String> = device.servers.iter().map(ToString::to_string).collect();
        return Some(json!({"addresses": servers, "search": network.search}));
    }
    let is_needed = !network.search.is_empty() && !names_servers(network) && device.asks_for_name_servers();
    is_needed.then(|| json!({"search": network.search}))
}

/// Whether the document names servers for an interface.
fn names_servers(network: &Network<'_>) -> bool {
    network.devices.iter().any(|device| !device.servers.is_empty())
}

fn route_of(route: &Route, device: &Device<'_>) -> Object {
    let mut entry = Object::default();
    entry.set("to", route.destination.to_string());
    match route.gateway {
        Some(gateway) => entry.set("via", gateway.to_string()),
        None => entry.set("scope", "link"),
    }
    entry.set_some("on-link", device.has_off_link_gateway(route).then_some(true));
    entry.set_some("metric", route.metric);
    entry
}

/// netplan's names of the options of bonds that are words, each with the kernel's name.
const WORDS: [(&str, &str); 4] = [
    ("ad-select", "ad_select"),
    ("arp-validate", "arp_validate"),
    ("arp-all-targets", "arp_all_targets"),
    ("primary-reselect-policy", "primary_reselect"),
];

/// netplan's names of the options of bonds that are numbers, each with the kernel's name.
const NUMBERS: [(&str, &str); 5] = [
    ("arp-interval", "arp_interval"),
    ("learn-packet-interval", "lp_interval"),
    ("min-links", "min_links"),
    ("packets-per-slave", "packets_per_slave"),
    ("resend-igmp", "resend_igmp"),
];

fn bond(bond: &Bond, network: &Network<'_>) -> Object {
    let option = |name: &str| bond.option(name).filter(|_| has_effect(bond, name));
    let number = |name: &str| bond.number(name).filter(|_| has_effect(bond, name));
    let mut parameters = Object::default();
    parameters.set("mode", bond.mode.as_str());
    parameters.set_some("mii-monitor-interval", bond.miimon());
    parameters.set_some("up-delay", number("updelay"));
    parameters.set_some("down-delay", number("downdelay"));
    parameters.set_some("lacp-rate", option("lacp_rate"));
    parameters.set_some("transmit-hash-policy", option("xmit_hash_policy"));
    parameters.set_some("primary", option("primary").map(|primary| network.label(primary)));
    // The list of keys that can be expressed has these only where netplan itself reads the document.
    for (key, name) in WORDS {
        parameters.set_some(key, option(name));
    }
    for (key, name) in NUMBERS {
        parameters.set_some(key, number(name));
    }
    // The kernel has one number under two names.
    let repeated = number("num_grat_arp").or_else(|| number("num_unsol_na"));
    parameters.set_some("gratuitous-arp", repeated);
    let all_active = option("all_slaves_active").map(|word| word == "delivered");
    parameters.set_some("all-slaves-active", all_active.filter(|all_active| *all_active));
    let targets = option("arp_ip_target").map(|targets| targets.split(',').map(str::trim).collect::<Value>());
    parameters.set_some("arp-ip-targets", targets);
    parameters
}

fn bridge(bridge: &Bridge, ports: &[Port], network: &Network<'_>, reader: Reader) -> Object {
    // The list of keys that can be expressed has none of the others.
    let Bridge { stp, forward_delay, hello_time, max_age, priority, vlan_filtering: _, options: _ } = bridge;
    let mut parameters = Object::default();
    parameters.set("stp", *stp);
    parameters.set_some("forward-delay", *forward_delay);
    parameters.set_some("hello-time", *hello_time);
    parameters.set_some("max-age", *max_age);
    parameters.set_some("priority", *priority);
    let of_ports = |setting: &dyn Fn(&BridgePort) -> Option<u32>| {
        let settings = ports.iter().filter_map(|port| {
            let Interface { label, options, .. } = network.device(&port.name)?.interface.as_ref();
            Some((label.clone(), Value::from(setting(&options.bridge_port)?)))
        });
        let settings: Map<String, Value> = settings.collect();
        (!settings.is_empty()).then_some(settings)
    };
    // netplan leaves the cost to the kernel.
    let usual_cost = (reader == Reader::Netplan).then_some(BridgePort::USUAL_PATH_COST);
    parameters.set_some("path-cost", of_ports(&|port: &BridgePort| port.path_cost.or(usual_cost)));
    parameters.set_some("port-priority", of_ports(&|port: &BridgePort| port.priority));
    parameters
}
