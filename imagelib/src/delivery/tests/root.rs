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

#[test]
fn the_warning_promises_keyfiles_to_no_other_root_file_system() {
    let made = planned(DeliveryProfile::RootInInitramfs, &additions(), &["init"]);
    let [finding] = made.report.findings() else { panic!("{:?}", made.report) };
    assert_eq!(finding.code, "no-network-manager");
    assert!(finding.message.contains("nothing hands them to another root file system"), "{}", finding.message);
    assert!(made.embedded.iter().all(|file| file.delivered_by == DeliveredBy::Initramfs), "{:?}", made.embedded);
    // The profiles that the advice for an unknown system names deliver files without a hook in the initramfs.
    let advice = DeliveryError::UnknownSystem.to_string();
    for profile in [DeliveryProfile::RootInInitramfs, DeliveryProfile::Networkd] {
        assert!(advice.contains(profile.as_str()), "{advice}");
        assert!(members(profile, &with_units(), None, &tree(&["init"])).is_ok());
    }
}
