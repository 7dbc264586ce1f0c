//! What a boot reads although no signature covers it: shim, GRUB and systemd-boot verify programs alone.

use super::medium::{Medium, Place};
use super::report::{UnsignedFile, UnsignedKind};
use crate::base::live::LiveIso;
use crate::base::{Base, IsoSystem};
use crate::iso::coreos::{CoreosIso, KernelArgumentAreas};

/// The files of a medium that are read unsigned, each once.
pub(super) fn files(base: &Base, medium: Option<&Medium<'_>>) -> Vec<UnsignedFile> {
    let mut files = match base {
        Base::Iso(iso) => match &iso.system {
            IsoSystem::Coreos(coreos) => of_coreos(&coreos.areas),
            IsoSystem::Live(live) => of_live(live, medium),
            IsoSystem::Other(_) => Vec::new(),
        },
        Base::Disk(disk) => disk.system.as_ref().map(|live| of_live(live, medium)).unwrap_or_default(),
        Base::KernelInitrd(_) => vec![file("initrd", UnsignedKind::Initrd)],
        Base::Nothing => Vec::new(),
    };
    let Some(medium) = medium else { return files };
    if let (Base::KernelInitrd(_), true) = (base, medium.is_iso()) {
        files.push(file("/boot/grub/grub.cfg", UnsignedKind::BootConfiguration));
    }
    let menus = medium.in_esps("/grub.cfg").into_iter();
    let entries = medium.in_esps(".conf").into_iter();
    let menus = menus.chain(entries.filter(|found| found.place.path.to_ascii_lowercase().starts_with("/loader/")));
    files.extend(menus.map(|found| UnsignedFile { path: found.name, kind: UnsignedKind::BootConfiguration }));
    let credentials = medium.in_esps(".cred").into_iter();
    files.extend(credentials.map(|found| UnsignedFile { path: found.name, kind: UnsignedKind::Credential }));
    files.sort_by(|one, other| (one.kind, &one.path).cmp(&(other.kind, &other.path)));
    files.dedup();
    files
}

fn of_coreos(areas: &CoreosIso) -> Vec<UnsignedFile> {
    let arguments = areas.kernel_arguments().into_iter().flat_map(KernelArgumentAreas::areas);
    let configurations = arguments.filter_map(|area| area.file());
    let mut files: Vec<UnsignedFile> =
        configurations.map(|path| file(&absolute(path), UnsignedKind::BootConfiguration)).collect();
    files.push(file(&absolute(areas.ignition().file()), UnsignedKind::Initrd));
    files.push(file("/images/pxeboot/initrd.img", UnsignedKind::Initrd));
    files
}

fn of_live(live: &LiveIso, medium: Option<&Medium<'_>>) -> Vec<UnsignedFile> {
    // Those in EFI system partitions are found with the medium.
    let on_iso = live.configurations().iter().filter(|configuration| configuration.esp.is_none());
    let configurations = on_iso.map(|configuration| file(&configuration.found.path, UnsignedKind::BootConfiguration));
    let initrds = live.initrds().iter().map(|initrd| {
        let place = Place { esp: initrd.esp, path: initrd.path.clone() };
        let found = medium.and_then(|medium| medium.find(&place).ok().flatten());
        file(&found.map_or(place.path, |found| found.name), UnsignedKind::Initrd)
    });
    configurations.chain(initrds).collect()
}

fn file(path: &str, kind: UnsignedKind) -> UnsignedFile {
    UnsignedFile { path: path.to_owned(), kind }
}

fn absolute(path: &str) -> String {
    format!("/{}", path.trim_start_matches('/'))
}
