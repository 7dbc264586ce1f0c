//! Whatever an initramfs looks like, what is there stays what it is.

use proptest::prelude::*;

use super::*;
use crate::initramfs::{Node, appendix};

/// Directories and links among the paths that matter, and links between them.
fn entry() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "etc",
        "usr",
        "usr/etc",
        "usr/lib",
        "usr/bin",
        "lib",
        "bin",
        "sbin",
        "var",
        "var/lib",
        "var/run",
        "run",
        "srv",
        "etc/NetworkManager",
        "etc/NetworkManager/system-connections",
        "etc/systemd",
        "usr/lib/dayone",
        "conf",
        "conf/conf.d",
        "scripts",
        "usr/lib/dracut",
        "lib/dracut/hooks",
        "usr/share",
        "usr/share/oem",
        "etc/hostname",
    ]);
    let target =
        prop::sample::select(vec!["usr/lib", "/usr/etc", "../run", "/", ".", "/usr/bin", "lib", "../etc", "/x"]);
    prop_oneof![
        3 => name.clone().prop_map(|name| format!("{name}/")),
        2 => (name.clone(), target).prop_map(|(name, target)| format!("{name} -> {target}")),
        1 => name.prop_map(str::to_owned),
    ]
}

proptest! {
    #[test]
    fn nothing_that_is_there_becomes_something_else(entries in prop::collection::vec(entry(), 0..16), private in any::<bool>()) {
        let mut base = Archive::new();
        for entry in entries {
            // What does not go together is left out.
            let _ = match (entry.split_once(" -> "), entry.strip_suffix('/')) {
                (Some((link, target)), _) => base.symlink(path(link), target),
                (None, Some(directory)) => base.directory(path(directory), if private { 0o700 } else { 0o755 }),
                (None, None) => base.file(path(&entry), 0o644, "there"),
            };
        }
        for needed in ["conf/initramfs.conf", "usr/bin/cp", "usr/lib/dracut/hooks/x", "usr/sbin/NetworkManager"] {
            let _ = base.file(path(needed), 0o755, "");
        }
        base.add_parents(0o755).unwrap();
        let base = base.to_bytes();
        let before = surveyed(&base).tree;
        for profile in DeliveryProfile::ALL {
            let Ok(members) = members(profile, &with_units(), None, &before) else { continue };
            let image = [base.clone(), appendix(base.len() as u64, &members.archive)].concat();
            let after = surveyed(&image).tree;
            for (place, node) in before.nodes() {
                let place = String::from_utf8(place.to_vec()).unwrap();
                let found = after.node(&path(&place));
                let replaced = found == Some(&Node::File) && matches!(node, Node::Symlink { .. });
                // A link to no directory, in whose place a file was asked for.
                let asked = place.ends_with("hostname");
                prop_assert!(found == Some(node) || (replaced && asked), "{profile}: {place}: {node:?} {found:?}");
            }
            // Nothing is passed over for want of a directory.
            for file in members.embedded.iter().filter(|file| file.delivered_by == DeliveredBy::Initramfs) {
                let found = after.resolve(&path(file.path.trim_start_matches('/')));
                prop_assert!(found == Some(&Node::File), "{profile}: {}: {found:?}", file.path);
            }
            // In the initramfs, an empty directory of keyfiles does harm.
            let keyfiles = "etc/NetworkManager/system-connections";
            let ours = unpacked(&members.archive);
            if ours.contains_key(keyfiles) {
                let prefix = format!("{keyfiles}/");
                let filled = ours.keys().any(|path| path.starts_with(&prefix));
                prop_assert!(filled);
            }
        }
    }
}
