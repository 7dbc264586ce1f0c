//! NetworkManager profiles of an initramfs itself.

use std::collections::BTreeSet;

use super::settings::settings;
use super::{directories, shown, text};
use crate::cpio::MemberPath;
use crate::ignition::Additions;
use crate::initramfs::{FileIn, Tree};
use vocabulary::network_files::{KEYFILES, KeyfileName};

/// Types of profiles that configure no NIC of a server's network.
const OTHER_TYPES: [&str; 7] = ["loopback", "wifi", "802-11-wireless", "wifi-p2p", "bluetooth", "gsm", "cdma"];

/// The profiles that NetworkManager may activate, and which of the additions none replaces.
///
/// For the same NIC, it prefers a profile with a higher `autoconnect-priority`, or the one that was used last.
pub(super) fn of(tree: &Tree, additions: Option<&Additions>) -> Vec<String> {
    let keyfiles = additions.map(|additions| additions.keyfiles.as_slice()).unwrap_or_default();
    let replaced: Vec<MemberPath> = keyfiles
        .iter()
        .filter_map(|keyfile| {
            format!("{}/{}", KEYFILES.trim_start_matches('/'), keyfile.name).parse::<MemberPath>().ok()
        })
        .filter_map(|path| tree.place(&path).ok())
        .map(|placement| placement.path)
        .collect();
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for directory in directories(tree, "NetworkManager/system-connections") {
        let in_etc = directory.starts_with("etc/");
        for file in tree.files_in(&directory) {
            let is_replaced = replaced.iter().any(|path| path.as_str().as_bytes() == file.path);
            if is_replaced || !is_profile(&file.name, in_etc) || !seen.insert(file.path) {
                continue;
            }
            found.extend(competing(&file));
        }
    }
    found
}

/// Whether NetworkManager reads a file of this name.
fn is_profile(name: &str, in_etc: bool) -> bool {
    let has_suffix = name.ends_with(KeyfileName::SUFFIX);
    let is_ignored = name.starts_with('.') || [".nmmeta", "~", ".pem", ".der"].iter().any(|end| name.ends_with(end));
    !is_ignored && (in_etc || has_suffix)
}

/// The profile, for a message, unless it certainly does no harm.
fn competing(file: &FileIn<'_>) -> Option<String> {
    let Some(text) = text(file) else { return Some(shown(file, "dayone did not read it")) };
    let last = |of: &str, wanted: &str| {
        settings(&text).filter(|(section, key, _)| *section == of && *key == wanted).map(|(.., value)| value).last()
    };
    let is_off = last("connection", "autoconnect").is_some_and(|value| matches!(value, "false" | "0"));
    let is_other = last("connection", "type").is_some_and(|kind| OTHER_TYPES.contains(&kind));
    if text.trim().is_empty() || is_off || is_other {
        return None;
    }
    let part = match last("connection", "interface-name") {
        Some(name) => format!("interface-name={name}"),
        None => "for every NIC of its type, unless it has another condition".to_owned(),
    };
    Some(shown(file, &part))
}
