//! The boot loaders' configurations, on the ISO file system and on the EFI system partitions.

use super::initrds::NamedFile;
use super::partitions::EspVolume;
use crate::boot_config::{Found, MAX_CONFIG_SIZE, discover};
use crate::iso::{EntryKind, IsoError, TreeKind, Volume};
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
    volume: Option<&Volume>,
    esps: &[EspVolume],
) -> Result<Vec<Configuration>, IsoError> {
    let files = volume.into_iter().flat_map(|volume| volume.walk(source, TreeKind::Primary));
    let files = files.collect::<Result<Vec<_>, IsoError>>()?;
    let paths = files.iter().filter(|(_, entry)| entry.kind != EntryKind::Directory).map(|(path, _)| path.as_str());
    let read = |path: &str| {
        let (_, entry) = files.iter().find(|(known, _)| known == path)?;
        entry.read(source, MAX_CONFIG_SIZE as u64).ok()
    };
    let on_iso = discover(paths, read).into_iter().map(|found| Configuration { found, esp: None });
    let mut all: Vec<Configuration> = on_iso.collect();
    for (index, esp) in esps.iter().enumerate() {
        let paths: Vec<String> = esp.fat.files().iter().map(|file| format!("/{}", file.path)).collect();
        let read = |path: &str| esp.fat.read(path.trim_start_matches('/'));
        let found = discover(paths.iter().map(String::as_str), read);
        all.extend(found.into_iter().map(|found| Configuration { found, esp: Some(index) }));
    }
    Ok(all)
}
