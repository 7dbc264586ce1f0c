//! Which release of NetworkManager is in an initramfs.

use super::has_network_manager;
use crate::initramfs::{Node, Tree};
use vocabulary::network_files::NetworkManagerVersion;

/// The release of NetworkManager in an initramfs, as far as it shows.
///
/// Its plugins lie in a directory that is named after the package: `usr/lib64/NetworkManager/1.54.0-1.fc43`,
/// `usr/lib/x86_64-linux-gnu/NetworkManager/1.42.4`. Where there is none, or where there are several, it is not known: what
/// a distribution had at some time says nothing of the updates since.
pub fn network_manager_version(tree: &Tree) -> Option<NetworkManagerVersion> {
    if !has_network_manager(tree) {
        return None;
    }
    let mut found = None;
    for (path, node) in tree.nodes() {
        let Some(version) = plugins_version(path).filter(|_| matches!(node, Node::Directory { .. })) else { continue };
        if found.is_some_and(|other| other != version) {
            return None;
        }
        found = Some(version);
    }
    found
}

/// The release that a directory of plugins is named after.
fn plugins_version(path: &[u8]) -> Option<NetworkManagerVersion> {
    let path = std::str::from_utf8(path).ok()?;
    let (directory, version) = path.rsplit_once('/')?;
    let libraries = directory.strip_suffix("/NetworkManager")?;
    let libraries = libraries.strip_prefix("usr/").unwrap_or(libraries);
    libraries.starts_with("lib").then(|| version.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpio::Archive;
    use crate::initramfs::survey;

    fn version(directories: &[&str]) -> Option<String> {
        of(Some("usr/sbin/NetworkManager"), directories)
    }

    fn of(daemon: Option<&str>, directories: &[&str]) -> Option<String> {
        let mut archive = Archive::new();
        if let Some(daemon) = daemon {
            archive.file(daemon.parse().unwrap(), 0o755, "").unwrap();
        }
        for directory in directories {
            archive.file(format!("{directory}/libnm-device-plugin-bond.so").parse().unwrap(), 0o644, "").unwrap();
        }
        archive.add_parents(0o755).unwrap();
        let survey = survey(&archive.to_bytes(), &[], 0).unwrap();
        network_manager_version(&survey.tree).map(|version| version.to_string())
    }

    #[test]
    fn the_directory_of_plugins_tells_the_release() {
        assert_eq!(version(&["usr/lib64/NetworkManager/1.54.0-1.fc43"]).as_deref(), Some("1.54.0"));
        assert_eq!(version(&["usr/lib/x86_64-linux-gnu/NetworkManager/1.42.4"]).as_deref(), Some("1.42.4"));
        assert_eq!(version(&["lib/NetworkManager/1.46.2", "usr/lib/NetworkManager/conf.d"]).as_deref(), Some("1.46.2"));
        assert_eq!(version(&["usr/lib/NetworkManager/1.46.2", "usr/lib64/NetworkManager/1.46.0"]), None);
        assert_eq!(version(&["usr/lib/NetworkManager/dispatcher.d", "opt/NetworkManager/1.46.0"]), None);
        assert_eq!(of(None, &["usr/lib64/NetworkManager/1.54.0-1.fc43"]), None, "plugins alone do nothing");
    }
}
