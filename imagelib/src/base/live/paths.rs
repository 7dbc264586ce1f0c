//! The ways in which an ISO boots, and which of them lead past what dayone can change.
//!
//! A host that boots in such a way gets no network configuration, and nothing on the host says why. What firmware starts by
//! default must therefore be changed, or be named in an error; anything else is named in a warning.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::configurations::{Configuration, LiveEntry};
use super::defaults::{self, Default, Known, Leads};
use super::partitions::{EspPlace, EspVolume};
use super::systemd_boot::{self, Away};
use crate::boot_config::{BootEntry, Boots, LinuxBoot, Loader, NotEditable};
use crate::boot_medium::Program;
use crate::iso::edit::Editor;
use crate::iso::el_torito::{BootEntry as CatalogEntry, Catalog, Platform};
use crate::source::Source;

/// What firmware of removable media starts (UEFI 2.10 §3.5.1.1), with the boot loader that shim starts from there.
const REMOVABLE: [(&str, &str); 6] = [
    ("EFI/BOOT/BOOTX64.EFI", "EFI/BOOT/grubx64.efi"),
    ("EFI/BOOT/BOOTAA64.EFI", "EFI/BOOT/grubaa64.efi"),
    ("EFI/BOOT/BOOTIA32.EFI", "EFI/BOOT/grubia32.efi"),
    ("EFI/BOOT/BOOTARM.EFI", "EFI/BOOT/grubarm.efi"),
    ("EFI/BOOT/BOOTRISCV64.EFI", "EFI/BOOT/grubriscv64.efi"),
    ("EFI/BOOT/BOOTLOONGARCH64.EFI", "EFI/BOOT/grubloongarch64.efi"),
];

/// By this text ISOLINUX names itself; it reads no other menus than its own.
const ISOLINUX: &[u8] = b"ISOLINUX";
/// How much of a BIOS boot loader is looked into.
const LOADER_BEGINNING: u64 = 32 << 10;

/// A kind of firmware.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Firmware {
    /// That of old PCs.
    Bios,
    /// UEFI.
    Uefi,
}

named_variants!(Firmware {
    Bios => "BIOS",
    Uefi => "UEFI",
});

/// A way to boot that leads past what can be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreachedPath {
    /// What is started: a file, or an entry of a menu.
    pub place: String,
    /// What it is, or does, so that dayone can add nothing.
    pub reason: String,
    /// The firmware that starts it when nobody chooses otherwise.
    pub default_of: Option<Firmware>,
    /// Whether it is a boot loader that dayone does not know, which may well start nothing of this medium.
    pub unknown: bool,
}

impl fmt::Display for UnreachedPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.place, self.reason)
    }
}

/// What is known of the ways in which an ISO boots.
#[derive(Debug, Clone, Default)]
pub(super) struct BootPaths {
    /// Those that lead past what can be changed, by what is started.
    unreached: BTreeMap<String, UnreachedPath>,
    /// The initrds that firmware loads when nobody chooses, as far as that is certain.
    pub(super) defaults: BTreeMap<Firmware, BTreeSet<usize>>,
}

/// Programs by the partition that their configuration is in, and by their path. Each is looked into once.
type Programs = BTreeMap<(Option<usize>, String), Option<Program>>;

/// Looks for all of them.
pub(super) struct Finder<'a> {
    pub(super) source: &'a dyn Source,
    pub(super) editor: &'a Editor,
    pub(super) catalog: Option<&'a Catalog>,
    pub(super) esps: &'a [EspVolume],
    pub(super) configurations: &'a [Configuration],
    pub(super) entries: &'a [LiveEntry],
}

impl Finder<'_> {
    pub(super) fn find(&self) -> BootPaths {
        let leads = self.leads();
        let menus = defaults::menus(self.configurations, &leads);
        let mut paths = BootPaths::default();
        self.bios(&menus, &mut paths);
        for (index, esp) in self.esps.iter().enumerate() {
            self.uefi(index, esp, &menus, &mut paths);
        }
        for known in menus.iter().flatten() {
            // Those whose initrd is not there are told with their names.
            if let (Leads::Away(reason), Boots::Other(_)) = (known.leads, &known.entry.boots) {
                paths.add(defaults::place(known.configuration, known.entry), reason.clone(), None);
            }
        }
        paths
    }

    /// Where the entries of each configuration lead.
    fn leads(&self) -> Vec<Vec<Leads>> {
        let found = self.entries.iter().filter_map(|live| Some(((live.configuration, live.entry), live.initrd?)));
        let initrds: BTreeMap<(usize, usize), usize> = found.collect();
        let mut programs = Programs::new();
        let mut of = |index: usize, configuration: &Configuration| {
            let entries = configuration.found.config.entries().iter().enumerate();
            entries
                .map(|(entry, boot)| match &boot.boots {
                    Boots::Linux(linux) => match initrds.get(&(index, entry)) {
                        Some(initrd) => Leads::To(*initrd),
                        None => Leads::Away(not_found(boot, linux)),
                    },
                    Boots::Other(reason) => self.other(configuration, boot.program.as_deref(), reason, &mut programs),
                })
                .collect()
        };
        self.configurations.iter().enumerate().map(|(index, configuration)| of(index, configuration)).collect()
    }

    /// What an entry starts that is no kernel with an initrd.
    fn other(
        &self,
        configuration: &Configuration,
        program: Option<&str>,
        reason: &NotEditable,
        programs: &mut Programs,
    ) -> Leads {
        if let NotEditable::Arguments(_) | NotEditable::Quotes = reason {
            return Leads::Away(format!("cannot be changed: {reason}"));
        }
        let found = &configuration.found;
        let Some(path) = program.and_then(|written| found.config.resolve(written, &found.directory)) else {
            return Leads::Nowhere;
        };
        let known = programs.entry((configuration.esp, path.clone()));
        let program = known.or_insert_with(|| self.program(configuration.esp, &path));
        let what = program.as_ref().and_then(Program::unreachable);
        what.map_or(Leads::Nowhere, |what| Leads::Away(format!("starts {path}, {what}")))
    }

    /// The program at a path: beside the configuration that names it, or else anywhere on the medium.
    fn program(&self, beside: Option<usize>, path: &str) -> Option<Program> {
        let in_esp = |esp: &EspVolume| {
            let file = esp.fat.file(path.trim_start_matches('/'))?;
            Some(Program::at(self.source, &file.extents))
        };
        let on_iso = || Some(Program::at(self.source, &[self.editor.file(path)?.extent.range()]));
        let own = beside.and_then(|esp| self.esps.get(esp)).and_then(in_esp);
        own.or_else(on_iso).or_else(|| self.esps.iter().find_map(in_esp))
    }

    /// What BIOSes start from a CD.
    fn bios(&self, menus: &[Vec<Known<'_>>], paths: &mut BootPaths) {
        let entries = self.catalog.iter().flat_map(|catalog| &catalog.entries);
        let mut entries = entries.filter(|entry| entry.bootable && entry.platform == Platform::Bios);
        let Some(first) = entries.next() else { return };
        for (entry, default_of) in
            std::iter::once((first, Some(Firmware::Bios))).chain(entries.map(|entry| (entry, None)))
        {
            if !entry.no_emulation {
                let reason = "is the image of a floppy or a hard disk that the BIOS emulates (El Torito), and dayone \
                              does not change the boot menu in it";
                paths.add(boot_image(entry), reason.to_owned(), default_of);
            }
        }
        if first.no_emulation {
            let beginning = self.source.read_vec(first.image.offset, first.image.length.min(LOADER_BEGINNING));
            let isolinux = beginning.is_ok_and(|bytes| bytes.windows(ISOLINUX.len()).any(|window| window == ISOLINUX));
            let loaders: &[Loader] = if isolinux { &[Loader::Syslinux] } else { &[Loader::Syslinux, Loader::Grub] };
            let read = menus.iter().filter(|menu| {
                menu.first().is_some_and(|known| {
                    known.configuration.esp.is_none() && loaders.contains(&known.configuration.found.config.loader())
                })
            });
            Self::menus_of(Firmware::Bios, || boot_image(first), read, paths);
        }
    }

    /// What UEFI firmware starts from an EFI system partition.
    fn uefi(&self, index: usize, esp: &EspVolume, menus: &[Vec<Known<'_>>], paths: &mut BootPaths) {
        let at = |path: &str| match &esp.place {
            EspPlace::File { path: container, .. } => format!("/{path} in {container}"),
            EspPlace::Partition => format!("/{path} in the EFI system partition"),
        };
        let program = |path: &str| {
            let file = esp.fat.file(path)?;
            Some((file.path.clone(), Program::at(self.source, &file.extents)))
        };
        let images: Vec<(String, String)> =
            esp.fat.files().iter().filter_map(|file| systemd_boot::image(self.source, file)).collect();
        let mut default_image = None;
        for (loader, behind_shim) in REMOVABLE {
            let Some((path, program)) = program(loader).map(|(path, found)| match (&found, program(behind_shim)) {
                (Program::Shim, Some(second)) => second,
                _ => (path, found),
            }) else {
                continue;
            };
            if let Some(what) = program.unreachable() {
                paths.add(at(&path), format!("is {what}"), Some(Firmware::Uefi));
                continue;
            }
            let is_systemd_boot = program == Program::SystemdBoot;
            let read = menus.iter().filter(|menu| {
                menu.first().is_some_and(|Known { configuration, .. }| {
                    let (own, loader) = (configuration.esp == Some(index), configuration.found.config.loader());
                    match loader {
                        // GRUB may read these entries as well.
                        Loader::SystemdBoot => own,
                        Loader::Syslinux => own && !is_systemd_boot,
                        Loader::Grub => !is_systemd_boot,
                    }
                })
            });
            let default = is_systemd_boot.then(|| systemd_boot::default(&esp.fat, &images, read.clone().flatten()));
            match default.flatten() {
                Some(Away::Image(path)) => default_image = Some(path),
                Some(Away::Entry(place, reason)) => paths.add(place, reason, Some(Firmware::Uefi)),
                None => Self::menus_of(Firmware::Uefi, || at(&path), read, paths),
            }
        }
        for (path, _) in &images {
            let default_of = default_image.as_ref().filter(|default| *default == path).map(|_| Firmware::Uefi);
            let reason = "is a unified kernel image with its own initrd and kernel arguments, and has its own entry in \
                          the menu of systemd-boot";
            paths.add(at(path), reason.to_owned(), default_of);
        }
    }

    /// What a boot loader boots that reads these menus.
    fn menus_of<'m>(
        firmware: Firmware,
        loader: impl Fn() -> String,
        menus: impl Iterator<Item = &'m Vec<Known<'m>>>,
        paths: &mut BootPaths,
    ) {
        // For those who start the ISO as a file on their own disk.
        let is_loopback = |menu: &&Vec<Known<'_>>| {
            menu.first().is_some_and(|known| known.configuration.path().ends_with("/loopback.cfg"))
        };
        let defaults: Vec<Default> = menus.filter(|menu| !is_loopback(menu)).map(|menu| defaults::of(menu)).collect();
        if defaults.is_empty() {
            let reason = "is a boot loader whose menu dayone did not find; dayone reads the menus of ISOLINUX, GRUB and \
                 systemd-boot";
            paths.add(loader(), reason.to_owned(), Some(firmware));
            if let Some(path) = paths.unreached.get_mut(&loader()) {
                path.unknown = true;
            }
        }
        let reached: Vec<Option<usize>> = defaults
            .iter()
            .filter_map(|default| if let Default::Reached(initrd) = default { Some(*initrd) } else { None })
            .collect();
        if reached.is_empty() {
            for default in defaults {
                if let Default::Unreached(place, reason) = default {
                    paths.add(place, reason, Some(firmware));
                }
            }
        } else if let Some(certain) = reached.into_iter().collect::<Option<BTreeSet<usize>>>() {
            paths.defaults.entry(firmware).or_default().extend(certain);
        }
    }
}

impl BootPaths {
    /// Several partitions, and several menus, may lead to the same.
    fn add(&mut self, place: String, reason: String, default_of: Option<Firmware>) {
        let path = UnreachedPath { place: place.clone(), reason, default_of, unknown: false };
        let known = self.unreached.entry(place).or_insert(path);
        known.default_of = known.default_of.or(default_of);
    }

    /// Those that lead past what can be changed, and those first that firmware takes by default.
    pub(super) fn unreached(&self) -> Vec<UnreachedPath> {
        let mut all: Vec<UnreachedPath> = self.unreached.values().cloned().collect();
        all.sort_by_key(|path| path.default_of.is_none());
        all
    }
}

pub(super) fn not_found(entry: &BootEntry, linux: &LinuxBoot) -> String {
    let initrds = linux.initrds.join(" ");
    match &entry.device {
        Some(device) => format!("loads {initrds} from {device}, which is not the ISO file system"),
        None => format!("loads {initrds}, which was not found on the ISO"),
    }
}

fn boot_image(entry: &CatalogEntry) -> String {
    entry.path.clone().unwrap_or_else(|| format!("boot image at offset {}", entry.image.offset))
}
