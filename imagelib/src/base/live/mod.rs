//! Live media without embed areas, ISOs and disks: their boot menus, the initramfs images that the menus load, and what dayone needs to
//! change both.

mod bios_loader;
mod configurations;
mod defaults;
mod description;
mod findings;
mod grub_menus;
mod initrds;
mod minimal;
mod partitions;
mod paths;
mod systemd_boot;
mod uki_companions;
mod ukis;

use std::collections::BTreeSet;

use crate::boot_config::{BootEntry, Boots, LinuxBoot, Loader, Selection};
use crate::delivery::{Carried, DeliveryProfile, NotFetched, RootFileSystem};
use crate::iso::edit::{Editor, NotEditable, OpenError};
use crate::iso::{IsoError, Volume, el_torito, mark};
use crate::source::Source;
use crate::uki::addon_path;

pub(crate) use configurations::Configuration;
use configurations::LiveEntry;
pub use description::{BootEntryDescription, InitrdDescription, LiveDescription, UnifiedKernelDescription};
pub(crate) use findings::{unreached, unreached_paths};
use initrds::NamedFile;
pub use initrds::{LiveInitrd, Surveyed, UnusableInitrd};
pub use minimal::MinimalMedium;
pub(crate) use minimal::RootFile;
pub(super) use partitions::check_complete;
pub(crate) use partitions::{
    EspPlace, EspVolume, UnreadableEsp, find as esps, find_all as esps_and_unreadable, find_on_disk as esps_of_disk,
};
use paths::{BootPaths, Finder};
pub use paths::{Firmware, UnreachedPath};
pub(crate) use ukis::{FilesIn, LiveUki, UsableUki};

/// Why an ISO, a disk or an initramfs cannot be customised.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotCustomisable {
    /// dayone cannot edit its file system.
    #[error("{0}")]
    Iso(#[from] NotEditable),
    /// No boot menu starts Linux.
    #[error("no boot menu on it (of ISOLINUX, GRUB or systemd-boot) starts a Linux kernel with an initrd")]
    NoLinux,
    /// The boot menus start only systems that dayone cannot change. With their list.
    #[error(
        "no boot menu on it (of ISOLINUX, GRUB or systemd-boot) starts a Linux kernel with an initrd, and dayone can \
         add nothing to what it starts: {0}"
    )]
    Unreachable(String),
    /// The initrds are missing, or have names that only the loader can resolve. With their list.
    #[error("dayone did not find the initrds that its boot menus load: {0}")]
    NoInitrd(String),
    /// dayone cannot extend any of its initrds.
    #[error("its initrd {path} cannot be extended: {reason}")]
    Initrd {
        /// The path of the first initrd.
        path: String,
        /// Why dayone cannot extend it.
        reason: UnusableInitrd,
    },
    /// It is a disk whose EFI system partition is damaged, or has a file system that dayone does not read.
    #[error("dayone cannot read the EFI system partition on it")]
    UnreadablePartition,
    /// dayone has made this image, or an initrd on it carries the configuration of a host.
    #[error(
        "dayone has already changed this image, or an initrd on it carries the configuration of a host; dayone cannot undo that; use \
         the ISO as it was published"
    )]
    Customised,
    /// The initramfs has files of a host.
    #[error(
        "its initramfs already carries the configuration of a host, which dayone cannot remove and which would stay active; use the \
         initramfs as it was published"
    )]
    CustomisedInitramfs,
}

/// An ISO, or the image of a disk, whose boot menus start Linux or that starts a unified kernel image.
#[derive(Debug, Clone)]
pub struct LiveIso {
    /// The editor of the ISO; a disk has none.
    editor: Option<Editor>,
    configurations: Vec<Configuration>,
    esps: Vec<EspVolume>,
    entries: Vec<LiveEntry>,
    initrds: Vec<LiveInitrd>,
    ukis: Vec<LiveUki>,
    paths: BootPaths,
    customised: bool,
    /// The medium without its root file system.
    minimal: Result<MinimalMedium, NotFetched>,
}

impl LiveIso {
    /// Reads the boot menus of an ISO and the initramfs images that they load.
    pub(super) fn probe(source: &dyn Source, volume: &Volume) -> Result<Result<Self, NotCustomisable>, IsoError> {
        let editor = match Editor::open(source, volume) {
            Ok(editor) => editor,
            Err(OpenError::NotEditable(reason)) => return Ok(Err(reason.into())),
            Err(OpenError::Iso(error)) => return Err(error),
        };
        let (esps, unreadable) = partitions::find_all(source, volume)?;
        Self::read(source, Some((volume, editor)), esps, &unreadable)
    }

    /// Reads the same of a disk with these EFI system partitions.
    pub(super) fn probe_disk(
        source: &dyn Source,
        esps: Vec<EspVolume>,
        unreadable: &[UnreadableEsp],
    ) -> Result<Result<Self, NotCustomisable>, IsoError> {
        Self::read(source, None, esps, unreadable)
    }

    fn read(
        source: &dyn Source,
        iso: Option<(&Volume, Editor)>,
        esps: Vec<EspVolume>,
        unreadable: &[UnreadableEsp],
    ) -> Result<Result<Self, NotCustomisable>, IsoError> {
        let (volume, editor) = iso.unzip();
        let configurations = configurations::find(source, volume.zip(editor.as_ref()), &esps)?;
        let mut initrds = initrds::Collection::new(source, editor.as_ref(), &esps);
        let mut entries = Vec::new();
        let mut missing = Vec::new();
        for (configuration, Configuration { found, esp }) in configurations.iter().enumerate() {
            for (entry, boot) in found.config.entries().iter().enumerate() {
                let Boots::Linux(linux) = &boot.boots else { continue };
                let resolve = |written: &String| {
                    let path = found.config.resolve(written, &found.directory)?;
                    // What lies beside such a configuration is loaded from there, whatever the ISO file system has, which
                    // only GRUB can read as well.
                    let in_esp = esp.filter(|esp| {
                        esps.get(*esp).is_some_and(|esp| esp.has(&path)) || found.config.loader() != Loader::Grub
                    });
                    Some(in_esp.map_or_else(|| NamedFile::Iso(path.clone()), |esp| NamedFile::Esp(esp, path.clone())))
                };
                let on_medium = linux.alternatives().filter(|_| boot.device.is_none());
                let mut loaded = initrds.add(on_medium.map(|list| list.iter().map(resolve).collect()))?;
                let initrd = loaded.pop();
                if initrd.is_none() {
                    missing.push(format!("{} (entry {:?} of {})", linux.initrds.join(" "), boot.title, found.path));
                }
                let kernel = resolve(&linux.kernel).filter(|kernel| match kernel {
                    NamedFile::Iso(path) => editor.as_ref().is_some_and(|editor| editor.file(path).is_some()),
                    NamedFile::Esp(esp, path) => esps.get(*esp).is_some_and(|esp| esp.has(path)),
                });
                entries.push(LiveEntry { configuration, entry, kernel, initrd, other_initrds: loaded });
            }
        }
        let initrds = initrds.done();
        let ukis = ukis::find(source, &esps, &configurations)?;
        let catalog = volume.map(|volume| el_torito::read(source, volume)).transpose()?.flatten();
        let paths = Finder {
            source,
            editor: editor.as_ref(),
            catalog: catalog.as_ref(),
            esps: &esps,
            unreadable,
            configurations: &configurations,
            entries: &entries,
            ukis: &ukis,
        }
        .find();
        let has_uki = ukis.iter().any(|uki| uki.state.is_ok());
        if entries.is_empty() && !has_uki {
            return Ok(Err(no_linux(&paths)));
        }
        if initrds.is_empty() && !has_uki {
            return Ok(Err(NotCustomisable::NoInitrd(missing.join(", "))));
        }
        if let Some(Err(reason)) = initrds.first().map(|first| &first.state)
            && initrds.iter().all(|initrd| initrd.state.is_err())
            && !has_uki
        {
            let path = initrds.first().map(|first| first.path.clone()).unwrap_or_default();
            return Ok(Err(NotCustomisable::Initrd { path, reason: reason.clone() }));
        }
        // Lists of checksums on the ISO may name them, and must be updated when they grow.
        let on_iso = initrds.iter().filter(|initrd| initrd.esp.is_none());
        let on_iso: Vec<&str> = on_iso.map(|initrd| initrd.path.as_str()).collect();
        let editor = editor.map(|editor| editor.hash_beginnings(source, &on_iso)).transpose();
        let editor = editor.map_err(|source| IsoError::Read { offset: 0, source })?;
        let carries = |initrd: &LiveInitrd| {
            let found = initrd.state.as_ref().ok();
            found.is_some_and(|found| Carried::of(found.detected.profile, &found.tree) == Carried::Lasting)
        };
        let marked = volume.map(|volume| mark::is_marked(source, volume)).transpose()?.unwrap_or(false);
        let has_addon = |uki: &LiveUki| esps.get(uki.esp).is_some_and(|esp| esp.has(&addon_path(&uki.path)));
        let has_companion = |uki: &LiveUki| uki.has_credential || has_addon(uki);
        let customised = marked || initrds.iter().any(carries) || ukis.iter().any(has_companion);
        let minimal = Err(NotFetched::NoEntry);
        let mut live = Self { editor, configurations, esps, entries, initrds, ukis, paths, customised, minimal };
        live.minimal = live.minimal_medium();
        Ok(Ok(live))
    }

    /// Whether dayone has made this image, or an initramfs in it carries the configuration of a host. It cannot be a base, because
    /// dayone cannot undo the changes.
    pub fn is_customised(&self) -> bool {
        self.customised
    }

    /// The initramfs images, in the order in which the menus name them.
    pub(crate) fn initrds(&self) -> &[LiveInitrd] {
        &self.initrds
    }

    /// The unified kernel images that firmware, shim or systemd-boot starts.
    pub(crate) fn ukis(&self) -> &[LiveUki] {
        &self.ukis
    }

    /// The unified kernel images that take addons with an initrd. With each, whether firmware starts it by default.
    pub(crate) fn usable_ukis(&self) -> impl Iterator<Item = (&LiveUki, &UsableUki, bool)> {
        self.ukis
            .iter()
            .enumerate()
            .filter_map(|(index, uki)| Some((uki, uki.state.as_ref().ok()?, self.paths.default_ukis.contains(&index))))
    }

    /// The boot entries of [`Self::entries`] that a selection has.
    pub(crate) fn chosen<'a>(&'a self, selection: &'a Selection) -> impl Iterator<Item = EntryView<'a>> {
        self.entries().filter(|entry| selection.has(entry.entry))
    }

    /// The boot entries that start Linux, each with its configuration and its initramfs.
    pub(crate) fn entries(&self) -> impl Iterator<Item = EntryView<'_>> {
        self.entries.iter().filter_map(|live| {
            let configuration = self.configurations.get(live.configuration)?;
            let entry = configuration.found.config.entries().get(live.entry)?;
            let Boots::Linux(linux) = &entry.boots else { return None };
            let initrd = live.initrd.and_then(|initrd| self.initrds.get(initrd));
            Some(EntryView { live, configuration, entry, linux, initrd, all: &self.initrds })
        })
    }

    /// The kernel arguments of the boot entries with these titles or ids. If there are none, those of all boot entries and unified kernel
    /// images.
    pub(super) fn kernel_arguments(&self, titles: &BTreeSet<String>) -> Vec<&str> {
        let selection = Selection::of(titles);
        let entries = self.entries().filter(|entry| selection.has(entry.entry));
        let of_entries = entries.flat_map(|entry| entry.linux.arguments.iter());
        let ukis = self.usable_ukis().filter(|_| titles.is_empty()).flat_map(|(_, uki, _)| uki.command_line_parts());
        of_entries.chain(ukis.flat_map(str::split_whitespace)).collect()
    }

    /// The ways to boot that dayone cannot change. Hosts that boot in one of them get no configuration.
    pub fn unreached_paths(&self) -> Vec<UnreachedPath> {
        self.paths.unreached()
    }

    /// The initrds that each kind of firmware loads by default, as far as that is certain.
    pub(crate) fn default_initrds(&self) -> impl Iterator<Item = (Firmware, Vec<&LiveInitrd>)> {
        let initrds = |indexes: &BTreeSet<usize>| indexes.iter().filter_map(|index| self.initrds.get(*index)).collect();
        self.paths.defaults.iter().map(move |(firmware, indexes)| (*firmware, initrds(indexes)))
    }

    /// The delivery profile of the first initrd with a known one, on the medium or in a unified kernel image.
    pub fn profile(&self) -> DeliveryProfile {
        let known = self.initrds.iter().filter_map(|initrd| initrd.state.as_ref().ok());
        let known = known.chain(self.usable_ukis().map(|(_, usable, _)| &usable.surveyed));
        let mut profiles = known.map(|surveyed| surveyed.detected.profile);
        profiles.find(|profile| *profile != DeliveryProfile::Unknown).unwrap_or(DeliveryProfile::Unknown)
    }

    /// Whether an entry starts a system that needs only its kernel and its initramfs, and so also boots from the network.
    pub fn starts_from_network(&self) -> bool {
        let stays = |entry: EntryView<'_>| {
            let surveyed = entry.initrd.and_then(|initrd| initrd.state.as_ref().ok());
            let profile = surveyed.map(|surveyed| surveyed.detected.profile);
            profile.is_some_and(stays_in_initramfs) && entry.kernel().is_some() && entry.linux.initrds.len() == 1
        };
        self.entries().any(stays)
    }

    /// The editor of the ISO; a disk has none.
    pub(crate) fn editor(&self) -> Option<&Editor> {
        self.editor.as_ref()
    }

    /// What its initramfs images start: an ISO has a live system.
    pub(crate) fn root_file_system(&self) -> RootFileSystem {
        if self.editor.is_some() { RootFileSystem::AsMounted } else { RootFileSystem::MadeWritable }
    }

    /// The boot loaders' configurations.
    pub(crate) fn configurations(&self) -> &[Configuration] {
        &self.configurations
    }

    /// The EFI system partitions.
    pub(crate) fn esps(&self) -> &[EspVolume] {
        &self.esps
    }
}

fn no_linux(paths: &BootPaths) -> NotCustomisable {
    let paths = paths.unreached();
    // A boot loader of another kind, such as iPXE's, may start anything.
    let known: Vec<String> = paths.iter().filter(|path| !path.unknown).map(UnreachedPath::to_string).collect();
    if known.is_empty() { NotCustomisable::NoLinux } else { NotCustomisable::Unreachable(known.join("; ")) }
}

/// Whether such a system needs nothing but its initramfs: this stays its root, or has the root in it.
pub(crate) fn stays_in_initramfs(profile: DeliveryProfile) -> bool {
    use DeliveryProfile::{Flatcar, Networkd, RootInInitramfs, Talos};
    matches!(profile, RootInInitramfs | Networkd | Flatcar | Talos)
}

/// An entry of a boot menu.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryView<'a> {
    live: &'a LiveEntry,
    configuration: &'a Configuration,
    pub(crate) entry: &'a BootEntry,
    pub(crate) linux: &'a LinuxBoot,
    /// Its initramfs; of several among which a script decides, the last one.
    pub(crate) initrd: Option<&'a LiveInitrd>,
    all: &'a [LiveInitrd],
}

impl<'a> EntryView<'a> {
    /// The initramfs images that it may load: several if a script decides.
    pub(crate) fn initrds(self) -> impl Iterator<Item = &'a LiveInitrd> {
        let others = self.live.other_initrds.iter().filter_map(|index| self.all.get(*index));
        others.chain(self.initrd)
    }

    /// The kernel's path, if it is on the ISO file system.
    pub(crate) fn kernel(&self) -> Option<&'a str> {
        match self.live.kernel.as_ref()? {
            NamedFile::Iso(path) => Some(path),
            NamedFile::Esp(..) => None,
        }
    }

    /// Whether machines with UEFI start it, together with an initrd on the medium. ISOLINUX is for BIOS.
    pub(crate) fn is_for_uefi(&self) -> bool {
        let Configuration { found, esp } = self.configuration;
        self.initrd.is_some() && (found.config.loader() != Loader::Syslinux || esp.is_some())
    }

    /// The kernel's path, and the index of its EFI system partition if it is on one. `None` if it was not found on the medium.
    pub(crate) fn kernel_on_medium(&self) -> Option<(Option<usize>, &'a str)> {
        Some(match self.live.kernel.as_ref()? {
            NamedFile::Iso(path) => (None, path),
            NamedFile::Esp(esp, path) => (Some(*esp), path),
        })
    }
}
