//! What a live initramfs of CoreOS promises.

use super::*;

#[test]
fn an_initramfs_that_does_not_read_keyfiles_is_named() {
    let found = |additions: &Additions, features: &str| -> Vec<&'static str> {
        let features = format!("etc/coreos/features.json: {features}");
        let report = planned(DeliveryProfile::Coreos, additions, &["etc/coreos-live-initramfs", &features]).report;
        report.findings().iter().map(|finding| finding.code).collect()
    };
    let older: &[&str] = &["no-live-initrd-network"];
    let known: &[&str] = &[];
    for (features, expected) in [
        (r#"{"installer-config": true, "live-initrd-network": true}"#, known),
        (r#"{"live-initrd-network": false}"#, older),
        (r#"{"installer-config": true}"#, older),
        ("{", older),
    ] {
        assert_eq!(found(&additions(), features), expected, "{features}");
    }
    let without_file = planned(DeliveryProfile::Coreos, &additions(), &["etc/coreos-live-initramfs"]).report;
    assert_eq!(without_file.findings().iter().map(|finding| finding.code).collect::<Vec<_>>(), older);
    // Without a network to deliver, nothing is missing.
    assert_eq!(found(&Additions { keyfiles: vec![], ..additions() }, "{}"), known);
}
