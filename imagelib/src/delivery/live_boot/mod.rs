//! The network of live-boot's initramfs, which by itself knows DHCP alone (`9990-networking.sh`: `ipconfig -t 15 DEVICE`, whatever `ip=`
//! says).
//!
//! `/bin/live-boot` reads `/lib/live/boot/????-*` in the order of their names. dayone adds a component behind live-boot's own, whose
//! functions so take the place of theirs.

use vocabulary::network_files::{InitramfsNetwork, InitramfsNic};

/// The path of the component in the initramfs.
pub(super) const COMPONENT: &str = "lib/live/boot/9999-dayone.sh";
/// The functions.
const FUNCTIONS: &str = include_str!("network.sh");

/// The component that gives live-boot this network. No value has a character that a shell reads between single quotes.
pub(super) fn component(network: &InitramfsNetwork) -> String {
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
    format!("# Written by dayone: the network by which live-boot fetches the root file system.\n{values}{FUNCTIONS}")
}

#[cfg(test)]
mod tests {
    use super::*;

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
