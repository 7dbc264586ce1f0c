//! Small drives with a host's configuration, for a system that already runs or boots from another medium. cloud-init, the
//! Ironic Python agent or Combustion find the drive by its label.
//!
//! | kind | label | who reads it |
//! | --- | --- | --- |
//! | [`ConfigDrive`] | `config-2` | cloud-init, Ironic Python agent (glean), cloudbase-init |
//! | [`NoCloud`] | `cidata` | cloud-init |
//! | [`Combustion`] | `combustion` | SUSE's `MicroOS`, SLE Micro and Leap Micro at first boot |
//!
//! A drive contains only the files that its readers look for. The user's files go onto it unchanged; the module only checks
//! that the readers accept them.
//!
//! A drive has no base: its bytes are all its own.
//!
//! ```
//! use imagelib::data_image::{DataImage, DataSpec, NoCloud};
//! use imagelib::host::HostName;
//! use imagelib::iso::Volume;
//! use imagelib::overlay::{Overlay, OverlaySource, Sizes};
//! use imagelib::source::{Role, Source as _};
//!
//! let hostname: HostName = "node-1".parse()?;
//! let network = "version: 2\nethernets: {eth0: {dhcp4: true}}\n";
//! let seed = NoCloud { hostname: Some(hostname), network_config: Some(network.into()), ..NoCloud::default() };
//!
//! let segments = DataImage::build(&DataSpec::NoCloud(seed))?.iso()?;
//! let drive = Overlay::concatenated(&Sizes::new(), segments)?;
//! let nothing: (Role, &[u8]) = (Role::Iso, &[]);
//! let drive = OverlaySource::new(&drive, nothing);
//! let bytes = drive.read_vec(0, drive.size())?;
//! assert_eq!(Volume::open(&bytes)?.id(), "cidata");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cloud;
mod combustion;
mod kind;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

pub use cloud::{ConfigDrive, NoCloud};
pub use combustion::Combustion;
pub use kind::{DataKind, FileSystem, UnknownDataKind, UnknownFileSystem};

use crate::digest::Digest;
use crate::disk::fat::{FatError, FatPath, NewFat};
use crate::disk::guid::Guid;
use crate::iso::author::{AuthorError, IsoPath, NewFile, NewIso};
use crate::overlay::Segment;

/// The limit for all files of a drive together, in bytes: Ironic accepts no larger config drives.
const MAX_FILES_BYTES: usize = 64 << 20;

/// Why a data image is impossible. Messages never quote the contents of files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataImageError {
    /// The readers would refuse a document.
    #[error("{file} {reason}")]
    Document {
        /// The file on the drive.
        file: &'static str,
        /// What is wrong, as the rest of a sentence.
        reason: &'static str,
    },
    /// Two files have the same name.
    #[error("{0:?} is on the drive already; give the file another name")]
    Duplicate(String),
    /// The drive would be empty. With what to add.
    #[error("the drive would be empty: {0}")]
    Empty(&'static str),
    /// The files have too many bytes. With their number.
    #[error("the files of the drive have {0} bytes; the limit is 64 MiB")]
    TooLarge(usize),
    /// The ISO image is impossible.
    #[error(transparent)]
    Author(#[from] AuthorError),
    /// The FAT file system is impossible.
    #[error(transparent)]
    Fat(#[from] FatError),
}

/// The kind and the content of a drive.
#[derive(Debug, Clone)]
pub enum DataSpec {
    /// `OpenStack`'s config drive.
    ConfigDrive(ConfigDrive),
    /// A seed of cloud-init's data source `NoCloud`.
    NoCloud(NoCloud),
    /// A configuration for Combustion.
    Combustion(Combustion),
}

/// A drive: files under a label.
#[derive(Clone, PartialEq, Eq)]
pub struct DataImage {
    label: &'static str,
    publisher: String,
    files: BTreeMap<IsoPath, DataFile>,
}

#[derive(Clone, PartialEq, Eq)]
struct DataFile {
    content: Bytes,
    mode: u16,
}

debug_only!(DataImage { label });

impl DataImage {
    /// Makes the drive that a spec describes. The same spec gives the same drive.
    pub fn build(spec: &DataSpec) -> Result<Self, DataImageError> {
        let image = match spec {
            DataSpec::ConfigDrive(spec) => spec.image(),
            DataSpec::NoCloud(spec) => spec.image(),
            DataSpec::Combustion(spec) => spec.image(),
        }?;
        let size = image.files.values().map(|file| file.content.len()).sum();
        if size > MAX_FILES_BYTES { Err(DataImageError::TooLarge(size)) } else { Ok(image) }
    }

    /// Its files, each with its permission bits and its content.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&IsoPath, u16, &Bytes)> {
        self.files.iter().map(|(path, file)| (path, file.mode, &file.content))
    }

    /// The drive as an ISO 9660 image.
    pub fn iso(&self) -> Result<Vec<Segment>, DataImageError> {
        let file =
            |(path, file): (&IsoPath, &DataFile)| (path.clone(), NewFile::literal(file.mode, file.content.clone()));
        let iso = NewIso {
            volume_id: self.label.to_owned(),
            publisher: self.publisher.clone(),
            preparer: "dayone".to_owned(),
            files: self.files.iter().map(file).collect(),
            ..NewIso::default()
        };
        Ok(iso.layout()?)
    }

    /// The drive as a FAT file system without a partition table, with the label in upper case. FAT has no owners and no
    /// permissions.
    pub fn vfat(&self) -> Result<Vec<Segment>, DataImageError> {
        let files = self.files.iter().map(|(path, file)| {
            let content = vec![Segment::bytes(file.content.clone())];
            Ok((path.as_str().parse()?, content))
        });
        let files: BTreeMap<FatPath, Vec<Segment>> = files.collect::<Result<_, FatError>>()?;
        let [a, b, c, d, ..] = *self.digest().as_bytes();
        let id = u32::from_be_bytes([a, b, c, d]);
        Ok(NewFat { label: self.label.parse()?, id, files: &files }.data_drive()?)
    }

    fn new(label: &'static str) -> Self {
        Self { label, publisher: String::new(), files: BTreeMap::new() }
    }

    /// Adds a file that only root may read, because any file may contain a password.
    fn add(&mut self, path: &str, content: impl Into<Bytes>) -> Result<(), DataImageError> {
        self.add_with(path, 0o600, content)
    }

    fn add_with(&mut self, path: &str, mode: u16, content: impl Into<Bytes>) -> Result<(), DataImageError> {
        let file = DataFile { content: content.into(), mode };
        match self.files.insert(path.parse()?, file) {
            Some(_) => Err(DataImageError::Duplicate(path.to_owned())),
            None => Ok(()),
        }
    }

    /// An identifier of the drive's content so far. New content gives a new instance, so that readers that configure each
    /// instance once do so again.
    fn instance(&self) -> String {
        Guid::derived(&self.digest(), "instance").to_string().to_lowercase()
    }

    fn digest(&self) -> Digest {
        let mut hasher = Sha256::new_with_prefix(b"dayone instance\0");
        hasher.update(self.label);
        for (path, file) in &self.files {
            for part in [path.as_str().as_bytes(), &file.content] {
                hasher.update((part.len() as u64).to_le_bytes());
                hasher.update(part);
            }
        }
        Digest::finish(hasher)
    }
}
