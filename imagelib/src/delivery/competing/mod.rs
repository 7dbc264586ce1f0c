//! Files of an initramfs itself that take effect in place of dayone's, or beside them.

mod arguments;
mod configuration;
mod netplan;
mod networkd;
mod profiles;
mod settings;
mod wanted;

pub(crate) use arguments::{config_argument, network_arguments, warn_of_arguments, warn_of_config};

use super::DeliveryProfile;
use super::signs::{has_file, has_network_manager};
use crate::ignition::Additions;
use crate::initramfs::{FileIn, Tree};
use vocabulary::report::{DocumentPath, Report};

/// How many files a message names.
const NAMED: usize = 5;

/// The directories whose files decide which configuration of the network takes effect. dayone reads the files directly in them.
/// netplan's are in order of precedence. `/run/netplan` is missing, because systemd mounts a file system on `/run` before netplan's generator runs.
pub(super) const DIRECTORIES: [&str; 16] = [
    "etc/NetworkManager",
    "etc/NetworkManager/conf.d",
    "run/NetworkManager/conf.d",
    "usr/lib/NetworkManager/conf.d",
    "etc/NetworkManager/system-connections",
    "run/NetworkManager/system-connections",
    "usr/lib/NetworkManager/system-connections",
    "etc/network",
    "etc/network/interfaces.d",
    "etc/systemd/network",
    "run/systemd/network",
    "usr/lib/systemd/network",
    "lib/systemd/network",
    "etc/netplan",
    "usr/lib/netplan",
    "lib/netplan",
];

/// Warns about the files in this tree that compete with the additions, or with any, if they are not known.
pub(super) fn warn(
    report: &mut Report,
    profile: DeliveryProfile,
    tree: &Tree,
    additions: Option<&Additions>,
    path: &DocumentPath,
) {
    match profile {
        DeliveryProfile::RootInInitramfs | DeliveryProfile::Dracut if has_network_manager(tree) => {
            // Without a network to deliver, the system's own files are what the user wants.
            if additions.is_some_and(|additions| additions.keyfiles.is_empty()) {
                return;
            }
            let when = if profile == DeliveryProfile::Dracut {
                "; they count only in the initramfs, if it configures the network (such as with rd.neednet=1)"
            } else {
                ""
            };
            if let Some(files) = named(profiles::of(tree, additions)) {
                let message = format!(
                    "has NetworkManager profiles of its own, which may win over dayone's, or bring up NICs that the documents do \
                     not mention: {files}{when}"
                );
                report.warning("base-has-profiles", path, message);
            }
            let mut defeating = configuration::of(tree, additions);
            defeating.extend(netplan::of(tree));
            if let Some(files) = named(defeating) {
                let message =
                    format!("configures NetworkManager so that dayone's files may have no effect: {files}{when}");
                report.warning("base-configures-network-manager", path, message);
            }
        }
        DeliveryProfile::Networkd => {
            if let Some(files) = named(networkd::of(tree, additions)) {
                let message = format!("has files that may configure NICs in place of dayone's units: {files}");
                report.warning("base-has-units", path, message);
            }
        }
        _ => {}
    }
}

/// The first of the files, for a message.
pub(super) fn named(files: Vec<String>) -> Option<String> {
    let others = files.len().saturating_sub(NAMED);
    let text = files.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
    match (text.is_empty(), others) {
        (true, _) => None,
        (false, 0) => Some(text),
        (false, others) => Some(format!("{text}, and {others} more")),
    }
}

/// The path of a file, and a part of it.
fn shown(file: &FileIn<'_>, part: &str) -> String {
    let part: String = part.chars().filter(|c| !c.is_control()).take(100).collect();
    format!("/{} ({part})", String::from_utf8_lossy(file.path))
}

/// The text of a file, if dayone has read it.
fn text(file: &FileIn<'_>) -> Option<String> {
    file.content.map(|content| String::from_utf8_lossy(content).into_owned())
}

/// Whether the system mounts a file system on `/run`, which hides what the initramfs has there. systemd does.
fn hides_run(tree: &Tree) -> bool {
    ["usr/lib/systemd/systemd", "lib/systemd/systemd"].iter().any(|path| has_file(tree, path))
}

/// The directories beneath `etc`, `run` and `usr/lib` that the system reads, the one that wins first.
fn directories(tree: &Tree, name: &str) -> Vec<String> {
    let parents = ["etc", "run", "usr/lib"].into_iter().filter(|parent| *parent != "run" || !hides_run(tree));
    parents.map(|parent| format!("{parent}/{name}")).collect()
}

/// Whether a pattern may be for a NIC, which has a name such as `eth0`, `eno1` or `ib0`. Names of other interfaces, such as `lo`, `wlan0`,
/// `veth0` and `docker0`, begin otherwise.
fn may_be_nic(pattern: &str) -> bool {
    pattern.starts_with(['*', '?', '[', '!', 'e', 'i'])
}
