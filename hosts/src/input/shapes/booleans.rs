//! Booleans of NMState for which nmstate accepts no text.

use crate::input::document::Document;
use crate::input::yaml::old_booleans;

/// Members of NMState that accept `true` and `false` only without quotes.
///
/// Source: the fields in the schema of nmstate 2.2.62 that have no `…_or_string` reader, of the types of interfaces that dayone
/// accepts in either step. The members of [`FEATURES`] have any names.
pub(super) const BOOLEANS: [&str; 10] = [
    "allow-extra-address",
    "allow-extra-patch-ports",
    "allow-extra-ports",
    "dhcp-send-hostname",
    "encrypt",
    "forwarding",
    "learning",
    "loose-binding",
    "reorder-headers",
    "send-sci",
];

/// The member of `ethtool` whose members are all booleans.
pub(super) const FEATURES: &str = "feature";

/// Reads the booleans of YAML 1.1 in NMState that is embedded in an object: kubectl and the installer of `OpenShift` pass `true` on for
/// `yes`. At most members, nmstate also accepts `yes` as a text.
pub(in crate::input) fn read_embedded(document: &mut Document) {
    old_booleans::read(&mut document.value, &document.ambiguous, |keys| {
        keys.split_last().is_some_and(|(last, before)| {
            (BOOLEANS.contains(last) || before.ends_with(&["ethtool", FEATURES])) && is_nmstate(before)
        })
    });
}

/// Whether these keys of an object lead into NMState.
fn is_nmstate(keys: &[&str]) -> bool {
    keys.starts_with(&["spec", "config"])
        || keys.starts_with(&["spec", "desiredState"])
        || keys.contains(&"networkConfig")
        || keys.windows(2).any(|pair| pair == ["nodeNetwork", "config"])
}
