//! Options of bonds, against the ports that they have.

use super::Network;
use crate::model::{Bond, Device, Interface};
use vocabulary::network_files::NetworkFiles;
use vocabulary::report::{DocumentPath, Report, Severity};

/// The mode in which a bond agrees with its switch.
const LACP: &str = "802.3ad";
/// The modes in which one port comes before the others (`bond_opts` of the kernel).
const WITH_PRIMARY: [&str; 3] = ["active-backup", "balance-tlb", "balance-alb"];

pub(super) fn check(network: &Network<'_>, interface: &Interface, bond: &Bond, report: &mut Report) {
    if interface.active {
        refused(network, interface, bond, report);
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

/// Where an option is given.
fn place(network: &Network<'_>, bond: &Interface, option: &str) -> DocumentPath {
    network.place(bond, &["link-aggregation", "options", option], &["bond", option])
}
