//! The roles of files in a boot.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::base::live::LiveIso;
use crate::base::{Base, DiskBase, IsoSystem};
use crate::uki;

/// The role of a file in a boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BootRole {
    /// The kernel.
    Kernel,
    /// An initramfs, or a part of it.
    Initrd,
    /// The root file system of a live system, or that of an installer.
    Rootfs,
}

named_variants!(BootRole {
    Kernel => "kernel",
    Initrd => "initrd",
    Rootfs => "rootfs",
});

/// The roles of the files on a medium: from its boot menus, or else from the names of the files.
#[derive(Debug, Clone, Default)]
pub struct Roles {
    /// Paths in lower case.
    kernels: BTreeSet<String>,
    initrds: BTreeSet<String>,
    /// Unified kernel images.
    unified: BTreeSet<String>,
}

impl Roles {
    /// The roles of the files on images of a base.
    pub fn of(base: &Base) -> Self {
        let mut roles = Self::default();
        let iso = match base {
            Base::Iso(iso) => iso,
            Base::Disk(DiskBase { system: Ok(live), .. }) => {
                roles.add(live);
                return roles;
            }
            _ => return roles,
        };
        match &iso.system {
            IsoSystem::Coreos(_) => {
                roles.kernels.insert("/images/pxeboot/vmlinuz".to_owned());
                let initrds = ["/images/pxeboot/initrd.img", "/images/ignition.img"];
                roles.initrds.extend(initrds.map(str::to_owned));
            }
            IsoSystem::Live(live) => roles.add(live),
            IsoSystem::Other(_) => {}
        }
        roles
    }

    fn add(&mut self, live: &LiveIso) {
        for entry in live.entries() {
            self.kernels.extend(entry.kernel().map(str::to_ascii_lowercase));
            self.initrds.extend(entry.initrds().map(|initrd| initrd.path.to_ascii_lowercase()));
        }
        for (uki, ..) in live.usable_ukis() {
            let path = format!("/{}", uki.path).to_ascii_lowercase();
            self.initrds.insert(uki::addon_path(&path));
            self.unified.insert(path);
        }
    }

    /// The role of the file at a path.
    pub(super) fn role(&self, path: &str) -> Option<BootRole> {
        let path = path.to_ascii_lowercase();
        if self.kernels.contains(&path) {
            return Some(BootRole::Kernel);
        }
        if self.initrds.contains(&path) {
            return Some(BootRole::Initrd);
        }
        match by_name(path.rsplit('/').next().unwrap_or_default()) {
            Some(BootRole::Kernel) if !self.kernels.is_empty() => None,
            Some(BootRole::Initrd) if !self.initrds.is_empty() => None,
            role => role,
        }
    }

    /// The role of a file in an EFI system partition. Of the kernels there, menus that firmware programs have built in
    /// say nothing; a unified kernel image is one.
    pub(super) fn role_in_esp(&self, path: &str) -> Option<BootRole> {
        let path = path.to_ascii_lowercase();
        if self.initrds.contains(&path) {
            return Some(BootRole::Initrd);
        }
        if self.unified.contains(&path) {
            return Some(BootRole::Kernel);
        }
        by_name(path.rsplit('/').next()?)
    }
}

/// What distributions call them: `vmlinuz-6.1.0`, `bzImage`, `linux`; `initrd.img`, `initramfs-linux.img`;
/// `filesystem.squashfs` (Debian, Ubuntu), `squashfs.img` (Fedora), `airootfs.sfs` (Arch), `rootfs.img` (CoreOS),
/// `install.img` (Anaconda).
fn by_name(name: &str) -> Option<BootRole> {
    if ["vmlinuz", "bzimage"].iter().any(|start| name.starts_with(start)) || ["linux", "kernel"].contains(&name) {
        return Some(BootRole::Kernel);
    }
    if name.starts_with("initrd") || name.starts_with("initramfs") {
        return Some(BootRole::Initrd);
    }
    let ends = [".squashfs", ".sfs", ".erofs"];
    let names = ["squashfs.img", "rootfs.img", "install.img"];
    (ends.iter().any(|end| name.ends_with(end)) || names.contains(&name)).then_some(BootRole::Rootfs)
}
