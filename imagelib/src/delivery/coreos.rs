//! CoreOS live systems: `coreos-copy-firstboot-network.service` and Ignition read what is added to the initramfs.

use super::contents::Contents;
use super::signs::has_file;
use super::{DeliveryError, Members, installer, not_the_installer};
use crate::ignition::{Additions, UserConfig, written_at};
use crate::initramfs::Tree;
use crate::iso::coreos::Features;
use vocabulary::report::{DocumentPath, Report};

/// The Ignition config of a CoreOS initramfs.
pub(super) const IGNITION_CONFIG: &str = "config.ign";
/// From here a CoreOS live system takes keyfiles before anything else configures the network. No directory may be in
/// it, nor anything else that `cp` without `-r` refuses: the boot would end in the emergency shell.
pub(super) const KEYFILES: &str = "etc/coreos-firstboot-network";

/// Where a live system can be written: two directories in memory (`live-generator` of fedora-coreos-config), and what links to the
/// second one in every system of `rpm-ostree`. Everything else is a squashfs or an EROFS.
const WRITABLE: [&str; 8] = ["/etc/", "/var/", "/home/", "/mnt/", "/opt/", "/root/", "/srv/", "/usr/local/"];

/// Options of coreos-installer. With one of these files, or with this argument, it runs when a live system starts
/// (`coreos-installer-generator`), and copies the profiles of the live system only with the option.
const INSTALLER: &str = "/etc/coreos/installer.d/";
const INSTALL_DEVICE: &str = "coreos.inst.install_dev=";
const COPY_NETWORK: &str = "copy-network";

/// Where a live initramfs says what it can do (`INITRD_FEATURES_PATH` of coreos-installer), as its ISO does.
pub(super) const FEATURES_DIRECTORY: &str = "etc/coreos";
const FEATURES_FILE: &str = "features.json";

/// Whether a live initramfs has its root file system in it, and so fetches none: somebody has appended `rootfs.img`
/// (`coreos-livepxe-rootfs.sh`).
pub(crate) fn has_rootfs(tree: &Tree) -> bool {
    has_file(tree, "etc/coreos-live-rootfs")
}

/// Whether a live initramfs takes keyfiles.
pub(super) fn reads_keyfiles(tree: &Tree) -> bool {
    let files = tree.files_in(FEATURES_DIRECTORY);
    let content = files.iter().find(|file| file.name == FEATURES_FILE).and_then(|file| file.content);
    content.is_some_and(|content| Features::in_initramfs(content).live_initrd_network)
}

/// What to put into the embed area of a CoreOS ISO, whose initramfs takes keyfiles where `live_initrd_network` is among
/// its features.
pub fn embed_area(
    additions: &Additions,
    ignition: Option<&UserConfig>,
    live_initrd_network: bool,
) -> Result<Members, DeliveryError> {
    if let Some(installer) = installer(additions) {
        return Err(not_the_installer(installer));
    }
    let contents = contents(additions, ignition, live_initrd_network)?;
    let (embedded, archive) = (contents.embedded(), contents.archive()?);
    Ok(Members { archive, embedded, report: Report::new() })
}

/// Keyfiles for the initramfs where it takes any, and an Ignition config that brings them, and all else, to the booted
/// system.
pub(super) fn contents(
    additions: &Additions,
    ignition: Option<&UserConfig>,
    live_initrd_network: bool,
) -> Result<Contents, DeliveryError> {
    if let Some(path) = written_at(additions, ignition, |path| !WRITABLE.iter().any(|place| path.starts_with(place)))? {
        let (system, instead) = ("a live CoreOS", "/etc, /var, /opt or /usr/local");
        return Err(DeliveryError::ReadOnly { path, system, instead });
    }
    let mut contents = Contents::with_ignition(IGNITION_CONFIG, additions, ignition)?;
    if live_initrd_network {
        for keyfile in &additions.keyfiles {
            contents.file(&format!("{KEYFILES}/{}", keyfile.name), 0o600, keyfile.content.clone())?;
        }
    }
    Ok(contents)
}

/// Warns if the live system installs another one without the host's keyfiles. Options in the user's own config may copy them.
pub(crate) fn warn_of_installation<'a>(
    report: &mut Report,
    additions: &Additions,
    ignition: Option<&UserConfig>,
    mut arguments: impl Iterator<Item = &'a str>,
) {
    let options = || additions.files.iter().filter(|file| is_installer_option(file.path.as_str()));
    let by_argument = arguments.any(|argument| argument.strip_prefix(INSTALL_DEVICE).is_some_and(|it| !it.is_empty()));
    let starts = by_argument || options().next().is_some();
    if additions.keyfiles.is_empty() || !starts {
        return;
    }
    // Only then, because that unpacks the configs that the user's config merges.
    let copies = options().any(|file| asks_for_the_network(&file.contents))
        || written_at(&Additions::default(), ignition, is_installer_option).is_ok_and(|path| path.is_some());
    if copies {
        return;
    }
    let path = DocumentPath::document(if by_argument { "kernel arguments" } else { "files" });
    let message = "start coreos-installer, and nothing tells it to copy the network: the installed system has none of the host's \
                   keyfiles";
    report.warning("installed-without-network", &path, message);
}

/// Whether a file of options, which is YAML, has the one that copies the network.
fn asks_for_the_network(options: &[u8]) -> bool {
    let asks = |value: &str| !value.trim_start_matches([' ', ':', '"', '\'']).starts_with("false");
    String::from_utf8_lossy(options)
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .any(|line| line.split_once(COPY_NETWORK).is_some_and(|(_, value)| asks(value)))
}

/// Whether coreos-installer takes this file for options.
fn is_installer_option(path: &str) -> bool {
    path.starts_with(INSTALLER)
}
