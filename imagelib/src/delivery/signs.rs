//! Signs by which an initramfs shows what is in it.

use crate::cpio::MemberPath;
use crate::initramfs::{Node, Tree};

/// NetworkManager's daemon, where distributions install it.
const NETWORK_MANAGER: [&str; 2] = ["usr/sbin/NetworkManager", "usr/bin/NetworkManager"];
/// systemd-networkd's daemon.
const NETWORKD: [&str; 2] = ["usr/lib/systemd/systemd-networkd", "lib/systemd/systemd-networkd"];
/// What the Debian installer does when it starts (`rootskel`).
pub(super) const DEBIAN_INSTALLER: &str = "lib/debian-installer-startup.d";
/// The library of Anaconda's module of dracut, by which the initramfs finds and reads a kickstart file.
pub(super) const ANACONDA: &str = "lib/anaconda-lib.sh";
/// The hook of Agama's module of dracut that keeps the kernel arguments for the installer, beneath the directory of the hooks.
pub(super) const AGAMA: &str = "cmdline/99-agama-cmdline-conf.sh";
/// What mounts the live system of Ubuntu's media.
pub(super) const CASPER: &str = "scripts/casper";
/// How Alpine's initramfs finds its medium. mkinitfs, which makes such an initramfs, comes in the same package.
const FIND_MEDIUM: [&str; 2] = ["sbin/nlplug-findfs", "usr/sbin/nlplug-findfs"];
const MKINITFS: [&str; 2] = ["sbin/mkinitfs", "usr/sbin/mkinitfs"];
/// The end of the name of NixOS' first program, unless that is systemd (`nixos/modules/system/boot/stage-1.nix`).
const NIXOS_STAGE_1: &[u8] = b"-stage-1-init.sh";
/// Where dracut has its hooks: in releases of 2025 and later, and before.
const DRACUT_HOOKS: [&str; 3] = ["var/lib/dracut/hooks", "usr/lib/dracut/hooks", "lib/dracut/hooks"];

/// Whether NetworkManager is in an initramfs. Without it, keyfiles have no effect there.
pub fn has_network_manager(tree: &Tree) -> bool {
    NETWORK_MANAGER.iter().any(|path| has_file(tree, path))
}

/// Whether systemd-networkd is in an initramfs, and starts when its system does.
pub(super) fn starts_networkd(tree: &Tree) -> bool {
    NETWORKD.iter().any(|path| has_file(tree, path))
        && names(tree).any(|(directory, name)| {
            directory.starts_with(b"etc/systemd/system/")
                && directory.ends_with(b".wants")
                && matches!(name, b"systemd-networkd.service" | b"systemd-networkd.socket")
        })
}

/// Whether an initramfs is that of the Debian installer, whose root it stays. Its network is set up by `netcfg`.
pub(crate) fn is_debian_installer(tree: &Tree) -> bool {
    has_directory(tree, DEBIAN_INSTALLER)
}

/// Whether an initramfs starts Anaconda, and reads a kickstart file for it. The initramfs of a live system does neither, even if
/// one can start Anaconda there.
pub(super) fn is_anaconda(tree: &Tree) -> bool {
    has_file(tree, ANACONDA)
}

/// Whether an initramfs starts a live system of Ubuntu, in which its installer runs.
pub(super) fn is_casper(tree: &Tree) -> bool {
    has_file(tree, CASPER)
}

/// Whether an initramfs starts the live system in which Agama runs.
pub(super) fn is_agama(tree: &Tree) -> bool {
    dracut_hooks(tree).is_some_and(|hooks| has_file(tree, &format!("{hooks}/{AGAMA}")))
}

/// The directory of dracut's hooks.
pub(super) fn dracut_hooks(tree: &Tree) -> Option<&'static str> {
    DRACUT_HOOKS.into_iter().find(|path| has_directory(tree, path))
}

/// The program by which an initramfs of Alpine's mkinitfs finds its medium. A system that has mkinitfs itself, to make other initramfs
/// images, is not such an initramfs.
pub(super) fn mkinitfs(tree: &Tree) -> Option<&'static str> {
    let has_maker = MKINITFS.iter().any(|path| has_file(tree, path));
    FIND_MEDIUM.into_iter().find(|path| has_file(tree, path)).filter(|_| !has_maker)
}

/// Whether an initramfs is that of NixOS with a script as its first program.
pub(super) fn is_nixos_stage_1(tree: &Tree) -> bool {
    let init = "init".parse::<MemberPath>().ok();
    let node = init.as_ref().and_then(|path| tree.node(path));
    matches!(node, Some(Node::Symlink { target }) if target.ends_with(NIXOS_STAGE_1))
}

/// The units by which elements of diskimage-builder configure NICs: glean (`simple-init`) and `dhcp-all-interfaces`. Their udev rules start
/// them, whatever directory they are in.
pub(super) fn dhcp_units(tree: &Tree) -> Vec<&'static str> {
    const ELEMENTS: [(&str, &[&str]); 2] = [
        ("99-glean.rules", &["glean@.service", "glean-nm@.service"]),
        ("99-dhcp-all-interfaces.rules", &["dhcp-interface@.service"]),
    ];
    let has = |wanted: &str| names(tree).any(|(_, name)| name == wanted.as_bytes());
    let units_of = |(rule, units): (&str, &'static [&'static str])| -> Vec<&'static str> {
        let found: Vec<_> = units.iter().copied().filter(|unit| has(unit)).collect();
        if found.is_empty() && has(rule) { units.iter().copied().take(1).collect() } else { found }
    };
    ELEMENTS.into_iter().flat_map(units_of).collect()
}

/// Whether a path leads to a regular file.
pub(super) fn has_file(tree: &Tree, path: &str) -> bool {
    resolve(tree, path) == Some(&Node::File)
}

/// Whether a path leads to a directory.
pub(super) fn has_directory(tree: &Tree, path: &str) -> bool {
    matches!(resolve(tree, path), Some(Node::Directory { .. }))
}

fn resolve<'t>(tree: &'t Tree, path: &str) -> Option<&'t Node> {
    path.parse::<MemberPath>().ok().and_then(|path| tree.resolve(&path))
}

/// Directory and name of everything there is.
fn names(tree: &Tree) -> impl Iterator<Item = (&[u8], &[u8])> {
    tree.nodes().filter_map(|(path, _)| {
        let slash = path.iter().rposition(|byte| *byte == b'/')?;
        Some((path.get(..slash)?, path.get(slash + 1..)?))
    })
}
