//! What configures NICs in a system whose root is the initramfs.

use super::*;

#[test]
fn dhcp_is_switched_off_only_where_something_reads_the_network_of_ours() {
    let masked = |profile, additions: &Additions, base: &[&str]| {
        let units = ["usr/lib/systemd/system/glean@.service", "usr/lib/systemd/system/dhcp-interface@.service"];
        let paths = paths(&planned(profile, additions, &[base, &units].concat()).archive);
        ["glean@.service", "dhcp-interface@.service"].map(|unit| paths.contains(&format!("etc/systemd/system/{unit}")))
    };
    let profile = DeliveryProfile::RootInInitramfs;
    assert_eq!(masked(profile, &additions(), &["usr/sbin/NetworkManager"]), [true, true]);
    assert_eq!(masked(profile, &additions(), &[]), [true, false]);
    assert_eq!(masked(DeliveryProfile::Networkd, &with_units(), &NETWORKD), [true, true]);
}
