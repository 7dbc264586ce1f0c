//! Which system an initramfs starts.

use std::collections::BTreeMap;

use super::coreos::FEATURES_DIRECTORY;
use super::signs::{
    ANACONDA, CASPER, DEBIAN_INSTALLER, dracut_hooks, has_directory, has_file, has_network_manager, is_anaconda,
    is_debian_installer, is_nixos_stage_1, mkinitfs, starts_networkd,
};
use super::tmpfiles::TMPFILES_UNITS;
use super::{DeliveryProfile, competing, network_manager_version, talos};
use crate::cpio::MemberPath;
use crate::initramfs::{Survey, Tree};

/// Every initramfs of a CoreOS live system has this file; coreos-installer looks for it, too.
const COREOS_MARK: &str = "etc/coreos-live-initramfs";
/// The descriptions of a system (`os-release(5)`): first of the initramfs, then of the whole system.
const RELEASE_FILES: [&str; 4] =
    ["etc/initrd-release", "usr/lib/initrd-release", "etc/os-release", "usr/lib/os-release"];
/// The size limit for these files, in bytes.
pub const RELEASE_FILE_LIMIT: u64 = 1 << 20;

/// The detected system of an initramfs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detected {
    /// Its delivery profile.
    pub profile: DeliveryProfile,
    /// The signs of the profile, as lines for people to read.
    pub evidence: Vec<String>,
}

/// The files whose contents [`detect`] reads, and what tells how a system fetches its root file system, whether it reads credentials or
/// keyfiles, and which of its own files compete with dayone's.
/// Pass them to [`survey`](crate::initramfs::survey).
pub fn release_files() -> Vec<MemberPath> {
    RELEASE_FILES
        .iter()
        .chain([&CASPER])
        .chain(&TMPFILES_UNITS)
        .chain(&competing::DIRECTORIES)
        .chain([&FEATURES_DIRECTORY])
        .filter_map(|path| path.parse().ok())
        .collect()
}

/// Detects from its files which system an initramfs starts.
///
/// Without a sign that another root file system follows, the system is one that stays in its initramfs.
pub fn detect(survey: &Survey) -> Detected {
    let tree = &survey.tree;
    let mut evidence = Vec::new();
    let release = Release::read(&survey.files);
    if let Some(Release { path, name, .. }) = &release {
        evidence.push(format!("{path}: {name}"));
    }
    let profile = kind(tree, release.as_ref(), &mut evidence);
    if !matches!(profile, DeliveryProfile::Unknown | DeliveryProfile::Talos) {
        evidence.push(match network_manager_version(tree) {
            Some(version) => format!("NetworkManager {version} is in it"),
            None if has_network_manager(tree) => "NetworkManager is in it".to_owned(),
            None => "NetworkManager is not in it".to_owned(),
        });
    }
    Detected { profile, evidence }
}

fn kind(tree: &Tree, release: Option<&Release>, evidence: &mut Vec<String>) -> DeliveryProfile {
    let mut found = |profile, signs: &[(&str, &str)]| {
        evidence.extend(signs.iter().map(|(path, meaning)| format!("{path}: {meaning}")));
        profile
    };
    if has_file(tree, COREOS_MARK) {
        return found(DeliveryProfile::Coreos, &[(COREOS_MARK, "the initramfs of a CoreOS live system")]);
    }
    if release.is_some_and(|release| release.id == "flatcar") {
        return found(DeliveryProfile::Flatcar, &[]);
    }
    // Flatcar's kernel brings the rest.
    if has_file(tree, "usr.squashfs") && !has_file(tree, "init") {
        return found(DeliveryProfile::Flatcar, &[("usr.squashfs", "a whole system and no init, as in Flatcar")]);
    }
    // Talos has no shell, neither here nor in its root.
    if has_file(tree, talos::ROOT) && has_file(tree, "init") && !has_file(tree, "bin/sh") {
        return found(DeliveryProfile::Talos, &[(talos::ROOT, "a whole system and no shell, as in Talos")]);
    }
    if let Some(hooks) = dracut_hooks(tree) {
        let mut signs = vec![(hooks, "made by dracut")];
        let live = "sbin/dmsquash-live-root";
        if has_file(tree, live) || has_file(tree, "usr/sbin/dmsquash-live-root") {
            signs.push((live, "the root file system is an image on a live medium"));
        }
        if is_anaconda(tree) {
            signs.push((ANACONDA, "starts Anaconda, the installer of Fedora and RHEL"));
        }
        return found(DeliveryProfile::Dracut, &signs);
    }
    if has_file(tree, "conf/initramfs.conf") && has_directory(tree, "scripts") {
        let mut signs = vec![("conf/initramfs.conf", "made by initramfs-tools")];
        for (path, meaning) in
            [("scripts/live", "starts a live system with live-boot"), (CASPER, "starts a live system with casper")]
        {
            if has_file(tree, path) {
                signs.push((path, meaning));
            }
        }
        return found(DeliveryProfile::InitramfsTools, &signs);
    }
    if has_file(tree, "init_functions") && has_directory(tree, "hooks") {
        return found(
            DeliveryProfile::Unknown,
            &[("init_functions", "made by mkinitcpio, which has no place for additional files")],
        );
    }
    if let Some(program) = mkinitfs(tree) {
        let meaning =
            "made by Alpine's mkinitfs, which starts another root file system and has no place for additional files";
        return found(DeliveryProfile::Unknown, &[(program, meaning)]);
    }
    if is_nixos_stage_1(tree) {
        let meaning = "NixOS' script, which starts another root file system and has no place for additional files";
        return found(DeliveryProfile::Unknown, &[("init", meaning)]);
    }
    if release.is_some_and(|release| release.of_initramfs) {
        return found(
            DeliveryProfile::Unknown,
            &[("initrd-release", "starts another root file system, and is not made by dracut")],
        );
    }
    if !has_network_manager(tree) && starts_networkd(tree) {
        let meaning = "stays in its initramfs, and systemd-networkd runs its network";
        return found(DeliveryProfile::Networkd, &[("etc/systemd/system/*.wants/systemd-networkd.service", meaning)]);
    }
    if is_debian_installer(tree) {
        let meaning = "the Debian installer, which stays in its initramfs";
        return found(DeliveryProfile::RootInInitramfs, &[(DEBIAN_INSTALLER, meaning)]);
    }
    found(DeliveryProfile::RootInInitramfs, &[("init", "nothing shows that another root file system follows")])
}

/// What a system says about itself.
struct Release {
    path: String,
    /// Whether it says so as an initramfs.
    of_initramfs: bool,
    id: String,
    name: String,
}

impl Release {
    fn read(files: &BTreeMap<MemberPath, Vec<u8>>) -> Option<Self> {
        let (path, content) = RELEASE_FILES.iter().find_map(|path| files.get(*path).map(|content| (*path, content)))?;
        let text = String::from_utf8_lossy(content);
        let value = |key: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
            let shown = value.trim().trim_matches(['"', '\'']).chars().filter(|c| !c.is_control());
            Some(shown.take(100).collect::<String>())
        };
        let id = value("ID").unwrap_or_default();
        let name = value("PRETTY_NAME").unwrap_or_else(|| id.clone());
        Some(Self { path: path.to_owned(), of_initramfs: path.ends_with("initrd-release"), id, name })
    }
}
