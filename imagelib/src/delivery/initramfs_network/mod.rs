//! The network of an initramfs of initramfs-tools that fetches a live system, and by itself knows no more than DHCP, or one NIC by name.
//!
//! live-boot runs `ipconfig -t 15 DEVICE`, whatever `ip=` says (`9990-networking.sh`). `/bin/live-boot` reads `/lib/live/boot/????-*` in
//! the order of their names. dayone adds a component behind live-boot's own, whose functions so take the place of theirs.
//!
//! casper runs the scripts of `casper-premount` before it fetches an ISO, by reading the stage's `ORDER`, as `init` does
//! (`mountroot` in `scripts/casper`). dayone's line in it brings up the network in the same shell.

use super::signs::is_casper;
use crate::initramfs::Tree;
use vocabulary::network_files::{InitramfsNetwork, InitramfsNic};

/// live-boot's component with the network.
const COMPONENT: &str = "lib/live/boot/9999-dayone.sh";
/// What casper's stage reads.
const CASPER_NETWORK: &str = "usr/lib/dayone/network";
/// By this, `init` adds it to the stage (see [`super::handover`]).
const CASPER_HOOK: &str = "conf/conf.d/zz-dayone-network";
const CASPER_HOOK_CONTENT: &str = "\
# Written by dayone: brings up the network before casper fetches its ISO.
mkdir -p /scripts/casper-premount
echo '. /usr/lib/dayone/network' >> /scripts/casper-premount/ORDER
";
/// The functions.
const FUNCTIONS: &str = include_str!("network.sh");
/// What casper's stage does with them.
const CASPER: &str = include_str!("casper.sh");

/// The files, by path, that give an initramfs with this tree the network.
pub(super) fn files(network: &InitramfsNetwork, tree: &Tree) -> Vec<(&'static str, String)> {
    if is_casper(tree) {
        let script = format!("{}{CASPER}", script("casper fetches its ISO", network));
        return vec![(CASPER_NETWORK, script), (CASPER_HOOK, CASPER_HOOK_CONTENT.to_owned())];
    }
    vec![(COMPONENT, script("live-boot fetches the root file system", network))]
}

/// The functions with this network. No value has a character that a shell reads between single quotes.
fn script(purpose: &str, network: &InitramfsNetwork) -> String {
    let InitramfsNetwork { nics, mac, mtu, addresses, gateway, server } = network;
    let text = |value: Option<String>| value.unwrap_or_default();
    let nic = |nic: &InitramfsNic| {
        format!("{}/{}", text(nic.mac.map(|mac| mac.to_string())), text(nic.name.as_ref().map(ToString::to_string)))
    };
    let nics: Vec<String> = nics.iter().map(nic).collect();
    let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    let far = |address: &std::net::Ipv4Addr| (!network.is_in_networks(*address)).then(|| address.to_string());
    let values = [
        ("nics", nics.join(" ")),
        ("mac", text(mac.map(|mac| mac.to_string()))),
        ("mtu", text(mtu.map(|mtu| mtu.to_string()))),
        ("addresses", addresses.join(" ")),
        ("server", server.to_string()),
        ("gateway", text(gateway.map(|gateway| gateway.to_string()))),
        // What is in no network of the NIC needs a route of its own.
        ("far_gateway", text(gateway.as_ref().and_then(far))),
        ("far_server", text(gateway.is_none().then_some(server).and_then(far))),
    ];
    let values: String =
        values.iter().flat_map(|(name, value)| ["dayone_", name, "='", value.as_str(), "'\n"]).collect();
    format!("# Written by dayone: the network by which {purpose}.\n{values}{FUNCTIONS}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(network: &InitramfsNetwork) -> String {
        script("live-boot fetches the root file system", network)
    }

    #[test]
    fn the_component_has_the_network() {
        let network = |text: &str| serde_yaml::from_str::<InitramfsNetwork>(text).unwrap();
        let near = component(&network("{nics: [{name: eno1}], addresses: [192.0.2.10/24], server: 192.0.2.7}"));
        assert!(
            near.contains("dayone_nics='/eno1'\ndayone_mac=''\ndayone_mtu=''\ndayone_addresses='192.0.2.10/24'\n"),
            "{near}"
        );
        assert!(near.contains("dayone_gateway=''\ndayone_far_gateway=''\ndayone_far_server=''\n"), "{near}");
        let far = component(&network(
            "{nics: [{mac: '52:54:00:12:34:01', name: eno1}, {mac: '52:54:00:12:34:02'}], mac: '52:54:00:12:34:03', mtu: 1400, \
             addresses: [192.0.2.10/32, 10.0.0.1/8], gateway: 192.0.2.1, server: 198.51.100.7}",
        ));
        assert!(
            far.contains("dayone_nics='52:54:00:12:34:01/eno1 52:54:00:12:34:02/'\ndayone_mac='52:54:00:12:34:03'\n"),
            "{far}"
        );
        assert!(far.contains("dayone_addresses='192.0.2.10/32 10.0.0.1/8'\ndayone_server='198.51.100.7'\n"), "{far}");
        assert!(
            far.contains("dayone_gateway='192.0.2.1'\ndayone_far_gateway='192.0.2.1'\ndayone_far_server=''\n"),
            "{far}"
        );
        let on_link = component(&network("{nics: [{name: eno1}], addresses: [192.0.2.10/32], server: 198.51.100.7}"));
        assert!(on_link.contains("dayone_far_gateway=''\ndayone_far_server='198.51.100.7'\n"), "{on_link}");
    }
}
