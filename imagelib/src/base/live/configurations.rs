//! The boot loaders' configurations, on the ISO file system and on the EFI system partitions.

use std::collections::BTreeSet;

use super::initrds::NamedFile;
use super::partitions::EspVolume;
use crate::boot_config::{FileSystem, Found, Loader, MAX_CONFIG_SIZE, discover};
use crate::iso::edit::Editor;
use crate::iso::{EntryKind, FileEntry, IsoError, TreeKind, Volume};
use crate::source::Source;

/// A boot loader's configuration and the file system that it is on.
#[derive(Debug, Clone)]
pub(crate) struct Configuration {
    pub(crate) found: Found,
    /// The index of its EFI system partition; `None` for the ISO file system.
    pub(crate) esp: Option<usize>,
}

impl Configuration {
    pub(super) fn path(&self) -> &str {
        &self.found.path
    }

    /// Whether GRUB reads it from this EFI system partition.
    pub(super) fn is_grub_on(&self, esp: usize) -> bool {
        self.esp == Some(esp) && self.found.config.loader() == Loader::Grub
    }
}

/// An entry of a boot menu that starts Linux.
#[derive(Debug, Clone)]
pub(super) struct LiveEntry {
    pub(super) configuration: usize,
    pub(super) entry: usize,
    /// The kernel, if it is on the medium.
    pub(super) kernel: Option<NamedFile>,
    /// The initramfs, if it is on the medium; of several among which a script decides, the last one.
    pub(super) initrd: Option<usize>,
    /// The others among which a script decides.
    pub(super) other_initrds: Vec<usize>,
}

/// The configurations on an ISO, if the medium is one, and on the EFI system partitions.
pub(super) fn find(
    source: &dyn Source,
    iso: Option<(&Volume, &Editor)>,
    esps: &[EspVolume],
) -> Result<Vec<Configuration>, IsoError> {
    let (files, linked) = iso.map(|(volume, _)| files(source, volume)).transpose()?.unwrap_or_default();
    let read = |path: &str| {
        let (_, entry) = files.iter().find(|(known, _)| known == path)?;
        entry.read(source, MAX_CONFIG_SIZE as u64).ok()
    };
    let links = |path: &str| iso.and_then(|(_, editor)| Some(editor.file(path)?.path));
    let on_iso = FileSystem::new(files.iter().map(|(path, _)| path.as_str()), read).with_links(linked, links);
    let paths = |esp: &EspVolume| esp.fat.files().iter().map(|file| format!("/{}", file.path)).collect::<Vec<_>>();
    let paths: Vec<Vec<String>> = esps.iter().map(paths).collect();
    let in_esps = esps.iter().zip(&paths).map(|(esp, paths)| {
        let read = move |path: &str| esp.fat.read(path.trim_start_matches('/'));
        FileSystem::new(paths.iter().map(String::as_str), read)
    });
    let file_systems: Vec<FileSystem<'_>> = std::iter::once(on_iso).chain(in_esps).collect();
    let found = discover(&file_systems).into_iter();
    Ok(found.map(|found| Configuration { esp: found.file_system.checked_sub(1), found }).collect())
}

/// The files of the ISO file system by their paths.
type Files = Vec<(String, FileEntry)>;

/// The files of the ISO file system, and the paths of symbolic links. Without Rock Ridge, GRUB reads the names of Joliet, and ISOLINUX those of
/// ISO 9660.
fn files(source: &dyn Source, volume: &Volume) -> Result<(Files, Vec<String>), IsoError> {
    let trees: &[TreeKind] = match (volume.has_rock_ridge(), volume.has_joliet()) {
        (false, true) => &[TreeKind::Joliet, TreeKind::Primary],
        _ => &[TreeKind::Primary],
    };
    let mut known = BTreeSet::new();
    let (mut files, mut links) = (Vec::new(), Vec::new());
    for tree in trees {
        for walked in volume.walk(source, *tree) {
            let (path, entry) = walked?;
            let place = entry.extents.first().map(|extent| extent.offset);
            match entry.kind {
                EntryKind::File if known.insert((path.to_ascii_lowercase(), place)) => files.push((path, entry)),
                EntryKind::Symlink => links.push(path),
                EntryKind::File | EntryKind::Directory => {}
            }
        }
    }
    Ok((files, links))
}
