//! The ways to boot an ISO, and which of them dayone cannot change.
//!
//! A host that boots in such a way gets no network configuration, and nothing on the host tells why. If firmware boots in such
//! a way by default, dayone refuses the ISO; otherwise it warns.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::bios_loader::BiosLoader;
use super::configurations::{Configuration, LiveEntry};
use super::defaults::{self, Menu, MenuDefault, Starts};
use super::grub_menus::{self, GrubMenus};
use super::partitions::{EspPlace, EspVolume, UnreadableEsp};
use super::systemd_boot::{self, UnchangeableDefault};
use super::ukis::LiveUki;
use crate::boot_config::{BootEntry, Boots, LinuxBoot, Loader, NotEditable};
use crate::boot_medium::Program;
use crate::iso::edit::Editor;
use crate::iso::el_torito::{BootEntry as CatalogEntry, Catalog, Platform};
use crate::iso::hfs;
use crate::source::Source;

/// A kind of firmware.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Firmware {
    /// The BIOS of PCs.
    Bios,
    /// UEFI.
    Uefi,
    /// The firmware of POWER machines, which reads neither the boot catalog nor EFI system partitions.
    OpenFirmware,
}

named_variants!(Firmware {
    Bios => "BIOS",
    Uefi => "UEFI",
    OpenFirmware => "Open Firmware",
});

/// A way to boot that dayone cannot change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreachedPath {
    /// What boots: a file, or an entry of a menu.
    pub place: String,
    /// Why dayone cannot change it, as a sentence whose subject is `place`.
    pub reason: String,
    /// The firmware that starts it by default.
    pub default_of: Option<Firmware>,
    /// Whether this way to boot may start nothing on this medium: an unknown boot loader, or another file system.
    pub unknown: bool,
}

impl fmt::Display for UnreachedPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.place, self.reason)
    }
}

/// The ways to boot an ISO, as far as dayone knows them.
#[derive(Debug, Clone, Default)]
pub(super) struct BootPaths {
    /// The ways that dayone cannot change, by their place.
    unreached: BTreeMap<String, UnreachedPath>,
    /// The initrds that firmware loads by default, as far as that is certain.
    pub(super) defaults: BTreeMap<Firmware, BTreeSet<usize>>,
    /// The unified kernel images that firmware starts by default and that take addons, by their indexes.
    pub(super) default_ukis: BTreeSet<usize>,
}

/// Programs by the partition of the configuration that names them, and by their path. Each is read once.
type Programs = BTreeMap<(Option<usize>, String), Option<Program>>;

/// What the search for the ways to boot needs.
pub(super) struct Finder<'a> {
    pub(super) source: &'a dyn Source,
    pub(super) editor: Option<&'a Editor>,
    pub(super) catalog: Option<&'a Catalog>,
    pub(super) esps: &'a [EspVolume],
    pub(super) unreadable: &'a [UnreadableEsp],
    pub(super) configurations: &'a [Configuration],
    pub(super) entries: &'a [LiveEntry],
    pub(super) ukis: &'a [LiveUki],
}

impl Finder<'_> {
    pub(super) fn find(&self) -> BootPaths {
        let starts = self.starts();
        let menus = defaults::menus(self.configurations, &starts);
        let mut paths = BootPaths::default();
        self.bios(&menus, &mut paths);
        for (index, esp) in self.esps.iter().enumerate() {
            self.uefi(index, esp, &menus, &mut paths);
        }
        self.open_firmware(&menus, &mut paths);
        self.unreadable(&mut paths);
        self.hfs(&mut paths);
        for known in menus.iter().flat_map(|menu| &menu.entries) {
            // Entries whose initrd is missing have their own finding.
            if let (Starts::Unchangeable(reason), Boots::Other(_)) = (known.starts, &known.entry.boots) {
                paths.add(defaults::describe_entry(known.configuration, known.entry), reason.clone(), None);
            }
        }
        paths
    }

    /// What the entries of each configuration start.
    fn starts(&self) -> Vec<Vec<Starts>> {
        let found = self.entries.iter().filter_map(|live| Some(((live.configuration, live.entry), live.initrd?)));
        let initrds: BTreeMap<(usize, usize), usize> = found.collect();
        let mut programs = Programs::new();
        let mut of = |index: usize, configuration: &Configuration| {
            let entries = configuration.found.config.entries().iter().enumerate();
            entries
                .map(|(entry, boot)| match &boot.boots {
                    Boots::Linux(linux) => match initrds.get(&(index, entry)) {
                        Some(initrd) => Starts::Linux(*initrd),
                        None => Starts::Unchangeable(not_found(boot, linux)),
                    },
                    Boots::Other(reason) => self.other(configuration, boot.program.as_deref(), reason, &mut programs),
                })
                .collect()
        };
        self.configurations.iter().enumerate().map(|(index, configuration)| of(index, configuration)).collect()
    }

    /// What an entry starts if that is not a kernel with an initrd.
    fn other(
        &self,
        configuration: &Configuration,
        program: Option<&str>,
        reason: &NotEditable,
        programs: &mut Programs,
    ) -> Starts {
        if let NotEditable::Arguments(_) | NotEditable::Quotes | NotEditable::Command(_) = reason {
            return Starts::Unchangeable(format!("cannot be changed: {reason}"));
        }
        let found = &configuration.found;
        let Some(path) = program.and_then(|written| found.config.resolve(written, &found.directory)) else {
            return Starts::Nothing;
        };
        let uki = configuration.esp.and_then(|esp| self.uki(esp, &path));
        if let Some((uki, _)) = uki.filter(|(_, uki)| uki.state.is_ok() && found.config.loader() == Loader::SystemdBoot)
        {
            return Starts::Uki(uki);
        }
        let known = programs.entry((configuration.esp, path.clone()));
        let program = known.or_insert_with(|| self.program(configuration.esp, &path));
        let what = program.as_ref().and_then(Program::unreachable);
        let unusable = configuration.esp.map(|esp| self.unusable(esp, &path)).unwrap_or_default();
        what.map_or(Starts::Nothing, |what| Starts::Unchangeable(format!("starts {path}, {what}{unusable}")))
    }

    /// The unified kernel image at a path of a partition, with its index.
    fn uki(&self, esp: usize, path: &str) -> Option<(usize, &LiveUki)> {
        self.ukis.iter().enumerate().find(|(_, uki)| uki.is_at(esp, path))
    }

    /// Why dayone cannot add anything to the unified kernel image at a path.
    fn unusable(&self, esp: usize, path: &str) -> String {
        let reason = self.uki(esp, path).and_then(|(_, uki)| uki.state.as_ref().err());
        reason.map(|reason| format!(", and {reason}")).unwrap_or_default()
    }

    /// The program at a path: on the partition `esp`, or else anywhere on the medium.
    fn program(&self, esp: Option<usize>, path: &str) -> Option<Program> {
        let in_esp = |esp: &EspVolume| {
            let file = esp.fat.file(path.trim_start_matches('/'))?;
            Some(Program::at(self.source, &file.extents))
        };
        let on_iso = || Some(Program::at(self.source, &[self.editor?.file(path)?.extent.range()]));
        let own = esp.and_then(|esp| self.esps.get(esp)).and_then(in_esp);
        own.or_else(on_iso).or_else(|| self.esps.iter().find_map(in_esp))
    }

    /// Finds what BIOSes start from a CD.
    fn bios(&self, menus: &[Menu<'_>], paths: &mut BootPaths) {
        let entries = self.catalog.iter().flat_map(|catalog| &catalog.entries);
        let is_esp = |start: u64| self.esps.iter().any(|esp| esp.fat.range().start == start);
        let entries = entries.filter(|entry| entry.bootable && entry.platform == Platform::Bios);
        let mut entries = entries.filter(|entry| !is_esp(entry.image.offset));
        let Some(first) = entries.next() else { return };
        for (entry, default_of) in
            std::iter::once((first, Some(Firmware::Bios))).chain(entries.map(|entry| (entry, None)))
        {
            if entry.no_emulation {
                let is_known = entry.image.offset == first.image.offset
                    || BiosLoader::of(self.source, entry) == BiosLoader::Isolinux;
                if !is_known {
                    paths.add_unknown(&boot_image(entry), default_of);
                }
            } else {
                let reason = "is the image of a floppy or a hard disk that the BIOS emulates (El Torito), and dayone \
                              does not change the boot menu in it";
                paths.add(boot_image(entry), reason.to_owned(), default_of);
            }
        }
        if first.no_emulation {
            let loader = BiosLoader::of(self.source, first);
            if loader == BiosLoader::LegacyGrub {
                paths.add_foreign(&boot_image(first), "GRUB Legacy", Firmware::Bios);
            } else {
                let read = loader.menus(self.configurations, menus);
                Self::menus_of(Firmware::Bios, || boot_image(first), read, paths);
            }
        }
    }

    /// Finds what firmware starts by default that reads neither the boot catalog nor EFI system partitions, if the ISO has nothing for
    /// other firmware.
    fn open_firmware(&self, menus: &[Menu<'_>], paths: &mut BootPaths) {
        let is_for_pcs = |entry: &CatalogEntry| matches!(entry.platform, Platform::Bios | Platform::Uefi);
        let in_catalog = self.catalog.is_some_and(|catalog| catalog.entries.iter().any(is_for_pcs));
        if in_catalog || !self.esps.is_empty() || !self.unreadable.is_empty() {
            return;
        }
        let is_read = |menu: &&Menu<'_>| menu.first.found.config.loader() == Loader::Grub && !menu.is_for_loopback();
        let read: Vec<&Menu<'_>> = menus.iter().filter(is_read).collect();
        // Without a menu, there may be nothing to start.
        if !read.is_empty() {
            Self::menus_of(Firmware::OpenFirmware, || "GRUB".to_owned(), read.into_iter(), paths);
        }
    }

    /// Adds the EFI system partitions that dayone cannot read. If their loader is GRUB, it may read a menu of the ISO file system,
    /// which dayone changes.
    fn unreadable(&self, paths: &mut BootPaths) {
        let is_for_uefi = |known: &Configuration| known.esp.is_none() && known.found.config.loader() == Loader::Grub;
        let may_be_reached = !self.esps.is_empty() || self.configurations.iter().any(is_for_uefi);
        for UnreadableEsp { place, reason } in self.unreadable {
            let place = match place {
                EspPlace::File { path, .. } => format!("EFI system partition {path}"),
                EspPlace::Partition => "EFI system partition".to_owned(),
            };
            let reason = format!("cannot be read ({reason}), so dayone does not know what starts from it");
            paths.add(place, reason, (!may_be_reached).then_some(Firmware::Uefi));
        }
    }

    /// Adds the directories of HFS or HFS+ beside those of ISO 9660. They still have the lengths and the places of the base's files.
    fn hfs(&self, paths: &mut BootPaths) {
        let Some(name) = self.editor.and_then(|_| hfs::beside(self.source)) else { return };
        let reason = "is not changed by dayone: firmware that starts from it, as Apple's does, finds the boot menus and initrds \
                      of the base, or parts of changed ones";
        paths.add_possible(&format!("{name} file system"), reason, None);
    }

    /// Finds what UEFI firmware starts from an EFI system partition.
    fn uefi(&self, index: usize, esp: &EspVolume, menus: &[Menu<'_>], paths: &mut BootPaths) {
        let at = |path: &str| match &esp.place {
            EspPlace::File { path: container, .. } => format!("/{path} in {container}"),
            EspPlace::Partition => format!("/{path} in the EFI system partition"),
        };
        let images: Vec<(String, String)> =
            esp.fat.files().iter().filter_map(|file| systemd_boot::image(self.source, file)).collect();
        let grub_menus = GrubMenus::find(self.configurations, index, menus);
        let dead_ends = grub_menus::dead_ends(self.configurations, index);
        let mut default_image = None;
        for (path, program) in esp.started(self.source) {
            if let Some((uki, _)) = self.uki(index, &path).filter(|(_, uki)| uki.state.is_ok()) {
                paths.default_ukis.insert(uki);
                continue;
            }
            if let Some(what) = program.unreachable() {
                let reason = format!("is {what}{}", self.unusable(index, &path));
                paths.add(at(&path), reason, Some(Firmware::Uefi));
                continue;
            }
            if let Program::Foreign(name) = program {
                paths.add_foreign(&at(&path), name, Firmware::Uefi);
                continue;
            }
            let is_systemd_boot = program == Program::SystemdBoot;
            if !is_systemd_boot {
                for (configuration, missing) in &dead_ends {
                    let reason = format!("continues with {missing}, which was not found on the medium");
                    paths.add(at(configuration), reason, grub_menus.are_none().then_some(Firmware::Uefi));
                }
                // GRUB certainly reads nothing that dayone changes.
                if grub_menus.are_none() && !dead_ends.is_empty() {
                    continue;
                }
            }
            let read = menus.iter().filter(|menu| {
                let own = menu.first.esp == Some(index);
                match menu.first.found.config.loader() {
                    // GRUB may read these entries as well.
                    Loader::SystemdBoot => own,
                    Loader::Syslinux => own && !is_systemd_boot,
                    Loader::Grub => !is_systemd_boot && grub_menus.may_have(menu),
                }
            });
            let default = is_systemd_boot
                .then(|| systemd_boot::default(&esp.fat, &images, read.clone().flat_map(|menu| &menu.entries)));
            match default.flatten() {
                Some(UnchangeableDefault::Image(path)) => {
                    match self.uki(index, &path).filter(|(_, uki)| uki.state.is_ok()) {
                        Some((uki, _)) => drop(paths.default_ukis.insert(uki)),
                        None => default_image = Some(path),
                    }
                }
                Some(UnchangeableDefault::Entry(place, reason)) => paths.add(place, reason, Some(Firmware::Uefi)),
                None => Self::menus_of(Firmware::Uefi, || at(&path), read, paths),
            }
        }
        for (path, _) in &images {
            if self.uki(index, path).is_some_and(|(_, uki)| uki.state.is_ok()) {
                continue;
            }
            let default_of = default_image.as_ref().filter(|default| *default == path).map(|_| Firmware::Uefi);
            let reason = format!(
                "is a unified kernel image, which contains its own initrd and kernel arguments, and has its own entry in the \
                 menu of systemd-boot{}",
                self.unusable(index, path)
            );
            paths.add(at(path), reason, default_of);
        }
    }

    /// Finds what a boot loader boots by default if it reads these menus.
    fn menus_of<'m>(
        firmware: Firmware,
        loader: impl Fn() -> String,
        menus: impl Iterator<Item = &'m Menu<'m>>,
        paths: &mut BootPaths,
    ) {
        let defaults: Vec<MenuDefault> =
            menus.filter(|menu| !menu.is_for_loopback()).map(defaults::default_of).collect();
        if defaults.is_empty() {
            paths.add_unknown(&loader(), Some(firmware));
        }
        let reached: Vec<Option<usize>> = defaults
            .iter()
            .filter_map(|default| if let MenuDefault::Reached(initrd) = default { Some(*initrd) } else { None })
            .collect();
        if reached.is_empty() {
            for default in defaults {
                if let MenuDefault::Unreached(place, reason) = default {
                    paths.add(place, reason, Some(firmware));
                }
            }
        } else if let Some(certain) = reached.into_iter().collect::<Option<BTreeSet<usize>>>() {
            paths.defaults.entry(firmware).or_default().extend(certain);
        }
    }
}

impl BootPaths {
    /// Several partitions and several menus may lead to the same place.
    pub(super) fn add(&mut self, place: String, reason: String, default_of: Option<Firmware>) {
        let path = UnreachedPath { place: place.clone(), reason, default_of, unknown: false };
        let known = self.unreached.entry(place).or_insert(path);
        known.default_of = known.default_of.or(default_of);
    }

    /// Adds a boot loader without a menu that dayone knows.
    fn add_unknown(&mut self, place: &str, default_of: Option<Firmware>) {
        let reason = "is a boot loader whose menu dayone did not find; dayone reads the menus of ISOLINUX, GRUB and \
             systemd-boot";
        self.add_possible(place, reason, default_of);
    }

    /// Adds a boot loader that firmware starts by default, and whose menus dayone does not read.
    fn add_foreign(&mut self, place: &str, name: &str, default_of: Firmware) {
        let reason = format!(
            "is {name}, whose menus dayone does not read; dayone reads the menus of ISOLINUX, GRUB 2 and systemd-boot"
        );
        self.add_possible(place, &reason, Some(default_of));
    }

    /// Adds a way to boot that may start nothing on this medium.
    fn add_possible(&mut self, place: &str, reason: &str, default_of: Option<Firmware>) {
        self.add(place.to_owned(), reason.to_owned(), default_of);
        if let Some(path) = self.unreached.get_mut(place) {
            path.unknown = true;
        }
    }

    /// The ways that dayone cannot change, defaults first.
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
