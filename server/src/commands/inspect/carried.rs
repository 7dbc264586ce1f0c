//! The files that somebody has embedded in an image. Their contents may be secret, so there are only digests.

use std::collections::BTreeMap;
use std::io::{self, Read as _};

use imagelib::cpio::FileKind;
use imagelib::digest::Digest;
use imagelib::initramfs::{self, InitramfsError, ReadOutcome, Walk};
use imagelib::source::Source;
use serde::Serialize;
use serde_json::Value;

/// The Ignition config of a CoreOS initramfs.
const CONFIG: &str = "config.ign";
/// The maximum size of an Ignition config, in bytes.
const MAX_CONFIG_BYTES: u64 = 64 << 20;

/// Embedded files, and the contents of their Ignition config.
#[derive(Debug, Default, Serialize)]
pub(super) struct Carried {
    pub(super) files: Vec<CarriedFile>,
    /// Null if there is no readable `config.ign`.
    pub(super) ignition: Option<Ignition>,
}

/// A file in an archive.
#[derive(Debug, Serialize)]
pub(super) struct CarriedFile {
    /// The absolute path to which the kernel unpacks it.
    pub(super) path: String,
    /// Permission bits, as octal digits: `0600`.
    pub(super) mode: String,
    /// Length in bytes.
    pub(super) size: u64,
    pub(super) sha256: Digest,
}

/// The files and units of an Ignition config, without their contents.
#[derive(Debug, Serialize)]
pub(super) struct Ignition {
    /// The version of the config's specification.
    pub(super) version: String,
    /// The files, directories and links that the config writes.
    pub(super) paths: Vec<String>,
    /// The systemd units that the config writes or enables.
    pub(super) units: Vec<String>,
}

/// Returns the regular files of an initramfs whose path is `wanted`, with the result of the walk. If a path occurs twice, the last
/// file counts.
pub(super) fn read<S: Source + ?Sized>(
    source: &S,
    wanted: impl Fn(&str) -> bool,
) -> Result<(Carried, Walk), InitramfsError> {
    let mut files = BTreeMap::new();
    let mut ignition = None;
    let walk = initramfs::walk(source, |visit, reader| {
        let path = String::from_utf8_lossy(&visit.entry.path()).into_owned();
        if visit.entry.kind() != FileKind::File || !wanted(&path) {
            return Ok(());
        }
        let mut config = Vec::new();
        if path == CONFIG {
            reader.by_ref().take(MAX_CONFIG_BYTES).read_to_end(&mut config)?;
            ignition = Ignition::read(&config);
        }
        let sha256 = Digest::of_reader(&mut config.as_slice().chain(reader.by_ref()))?;
        let mode = format!("{:04o}", visit.entry.mode & 0o7777);
        let file = CarriedFile { path: format!("/{path}"), mode, size: visit.entry.size, sha256 };
        files.insert(path, file);
        Ok(())
    })?;
    if let ReadOutcome::Stopped { offset, reason } = walk.outcome {
        return Err(InitramfsError::Unreadable { offset, reason });
    }
    Ok((Carried { files: files.into_values().collect(), ignition }, walk))
}

impl Ignition {
    /// Reads a config leniently: `inspect` also shows configs that Ignition would refuse.
    fn read(config: &[u8]) -> Option<Self> {
        let config: Value = serde_json::from_slice(config).ok()?;
        let version = config.pointer("/ignition/version")?.as_str()?.to_owned();
        let texts = |list: &str, key: &str| -> Vec<String> {
            let items = config.pointer(list).and_then(Value::as_array).into_iter().flatten();
            items.filter_map(|item| Some(item.get(key)?.as_str()?.to_owned())).collect()
        };
        let lists = ["/storage/directories", "/storage/files", "/storage/links"];
        let mut paths: Vec<String> = lists.into_iter().flat_map(|list| texts(list, "path")).collect();
        paths.sort();
        Some(Self { version, paths, units: texts("/systemd/units", "name") })
    }
}

/// A part of a larger source.
pub(super) struct Window<'a> {
    pub(super) source: &'a dyn Source,
    pub(super) offset: u64,
    pub(super) length: u64,
}

impl Source for Window<'_> {
    fn size(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = self.length.saturating_sub(offset);
        let count = usize::try_from(rest).unwrap_or(usize::MAX).min(buffer.len());
        let (buffer, _) = buffer.split_at_mut(count);
        self.source.read_at(self.offset.saturating_add(offset), buffer)
    }
}
