//! Options of bonds, against the ports that they have.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::Network;
use crate::model::{Bond, Device, Interface};
use vocabulary::host::MacAddress;
use vocabulary::network_files::NetworkFiles;
use vocabulary::report::{DocumentPath, Report, Severity};

/// The mode in which a bond agrees with its switch.
const LACP: &str = "802.3ad";
/// The modes in which one port comes before the others (`bond_opts` of the kernel).
const WITH_PRIMARY: [&str; 3] = ["active-backup", "balance-tlb", "balance-alb"];
/// The modes in which a bond can find out by ARP or by neighbour discovery whether it has a link.
const WITH_TARGETS: [&str; 4] = ["balance-rr", "active-backup", "balance-xor", "broadcast"];

pub(super) fn check(network: &Network<'_>, interface: &Interface, bond: &Bond, report: &mut Report) {
    if interface.active {
        refused(network, interface, bond, report);
        if network.files == NetworkFiles::Keyfiles {
            targets(network, interface, bond, report);
            system(network, interface, bond, report);
        }
        // dayone itself rounds them for Talos.
        if network.files != NetworkFiles::TalosNetwork {
            delays(network, interface, bond, report);
        }
    }
    let ports = network.ports(&interface.name);
    let names: Vec<&str> = ports.iter().take(8).map(|port| port.name.as_str()).collect();
    if !interface.active || names.is_empty() {
        return;
    }
    let option = |name: &str| bond.options.get(name).map(String::as_str);
    let count = ports.iter().filter(|port| port.active).count();
    let least = option("min_links").and_then(|least| least.parse::<usize>().ok());
    if let Some(least) = least.filter(|least| bond.mode == LACP && *least > count) {
        let message = format!("is {least}, and {count} of its ports come up: the bond never has a link");
        report.error("bond-min-links", &place(network, interface, "min_links"), message);
    }
    let by_name = ports.iter().all(|port| port.device == Device::Name);
    if let Some(primary) = option("primary")
        && by_name
        && WITH_PRIMARY.contains(&bond.mode.as_str())
        && !ports.iter().any(|port| port.name == primary)
    {
        let message =
            format!("is {primary}, which is not a port of {}; its ports are {}", interface.name, names.join(", "));
        report.warning("bond-primary-unknown", &place(network, interface, "primary"), message);
    }
    if let ([only], LACP) = (names.as_slice(), bond.mode.as_str()) {
        let message =
            format!("has the mode {LACP} and only one port, {only}: when its link fails, the bond has no other");
        report.warning("bond-of-one-port", &interface.path, message);
    }
}

/// Options with which the kernel sets no MAC address of the bond, or does not create the bond.
fn refused(network: &Network<'_>, interface: &Interface, bond: &Bond, report: &mut Report) {
    // The kernel reports success and keeps the address (`bond_set_mac_address`). NetworkManager sees that and gives up.
    // systemd-networkd creates the bond with the address. The other forms have no fail_over_mac.
    let effect = match network.files {
        NetworkFiles::Keyfiles => Some((Severity::Error, "NetworkManager does not activate the bond")),
        NetworkFiles::TalosNetwork => Some((Severity::Warning, "the bond may not get the address that you set")),
        NetworkFiles::NetworkdUnits
        | NetworkFiles::NetworkData
        | NetworkFiles::NetworkConfig
        | NetworkFiles::Netplan => None,
    };
    let is_of_port = |policy: &&str| bond.mode == "active-backup" && matches!(*policy, "active" | "follow");
    let policy = bond.option("fail_over_mac").filter(is_of_port);
    if let (Some(mac), Some(policy), Some((severity, effect))) = (interface.mac, policy, effect) {
        let message = format!(
            "sets the MAC address {mac}, and with fail_over_mac {policy} the kernel gives the bond the address of a \
             port: {effect}"
        );
        report.add(severity, "bond-mac-refused", &interface.path, message);
    }
    if bond.option("use_carrier") == Some("0") {
        let message = "is 0, and recent kernels do not create a bond with this value; remove the option";
        report.warning("bond-use-carrier", &place(network, interface, "use_carrier"), message);
    }
}

/// Reports targets with which the kernel does not create the bond (`bond_is_ip_target_ok`, `bond_is_ip6_target_ok`), and
/// targets that the kernel leaves out. This is only about NetworkManager, because systemd-networkd leaves out some targets by itself.
fn targets(network: &Network<'_>, interface: &Interface, bond: &Bond, report: &mut Report) {
    // NetworkManager refuses targets without an interval.
    if !bond.asks_for_targets() || !WITH_TARGETS.contains(&bond.mode.as_str()) {
        return;
    }
    for option in ["arp_ip_target", "ns_ip6_target"] {
        let text = bond.option(option).unwrap_or_default();
        let addresses: Vec<IpAddr> = text.split(',').filter_map(|target| target.trim().parse().ok()).collect();
        let mut seen = BTreeSet::new();
        // NetworkManager gives the kernel no more targets than these.
        let refused = addresses.iter().take(Bond::MOST_TARGETS).find_map(|target| {
            match (is_asked(*target), seen.insert(*target)) {
                (false, _) => Some(format!("has {target}, which no host has as its address")),
                (true, false) => Some(format!("has {target} twice")),
                (true, true) => None,
            }
        });
        if let Some(what) = refused {
            let message = what + ": the kernel does not create the bond";
            report.add(network.severity(), "bond-option-refused", &place(network, interface, option), message);
        } else if let Some(first) = addresses.get(Bond::MOST_TARGETS) {
            let message = format!(
                "has {} addresses, and the kernel takes {}: it does not ask {first} or any behind it",
                addresses.len(),
                Bond::MOST_TARGETS
            );
            report.warning("bond-targets-lost", &place(network, interface, option), message);
        }
    }
}

/// Whether the kernel accepts an address as a target.
fn is_asked(target: IpAddr) -> bool {
    match target {
        IpAddr::V4(address) => !address.is_unspecified() && !address.is_broadcast(),
        IpAddr::V6(address) => !address.is_unspecified() && !address.is_loopback() && !address.is_multicast(),
    }
}

/// Reports a system address with which the kernel does not create the bond (`bond_option_ad_actor_system_set`).
fn system(network: &Network<'_>, interface: &Interface, bond: &Bond, report: &mut Report) {
    let system = bond.option("ad_actor_system").and_then(|system| system.parse::<MacAddress>().ok());
    if let Some(system) = system.filter(|system| bond.mode == LACP && system.is_group()) {
        let message = format!("is {system}, the address of a group: the kernel does not create the bond");
        report.add(network.severity(), "bond-option-refused", &place(network, interface, "ad_actor_system"), message);
    }
}

/// Reports delays that the kernel rounds down, because it counts them in monitoring intervals (`bond_option_updelay_set`).
fn delays(network: &Network<'_>, interface: &Interface, bond: &Bond, report: &mut Report) {
    let Some(miimon) = bond.miimon().filter(|miimon| *miimon > 0) else { return };
    for option in ["updelay", "downdelay"] {
        let Some(delay) = bond.number(option).filter(|delay| delay % miimon != 0) else { continue };
        let message = format!(
            "is {delay}, which is not a multiple of the monitoring interval ({miimon}): the kernel rounds it down to {}",
            delay - delay % miimon
        );
        report.warning("bond-delay-rounded", &place(network, interface, option), message);
    }
}

/// Where an option is given.
fn place(network: &Network<'_>, bond: &Interface, option: &str) -> DocumentPath {
    network.place(bond, &["link-aggregation", "options", option], &["bond", option])
}
