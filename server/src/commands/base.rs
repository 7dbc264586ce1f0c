//! Opens the base that the command line names.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use imagelib::base::{Base, BaseError, Packed, Role};
use imagelib::disk::mbr::{EFI_SYSTEM, Mbr, MbrPartition, PROTECTIVE};
use imagelib::initramfs::InitramfsError;
use imagelib::iso::IsoError;
use imagelib::secure_boot::{SecureBoot, Survey};
use imagelib::source::Source;
use media::base_file::BaseFile;

use super::failure::Failure;
use crate::arguments::BaseArgument;
use crate::store::is_url;

/// The offset of the identifier in the first volume descriptor of an ISO 9660 image (ECMA-119 §8.1.2).
const ISO_IDENTIFIER: u64 = 16 * 2048 + 1;

/// An open base, and what it is.
pub(super) struct OpenedBase {
    pub(super) base: Base,
    pub(super) files: BTreeMap<Role, BaseFile>,
    /// Examined when a host is to boot with Secure Boot.
    secure_boot: OnceCell<Survey>,
}

impl OpenedBase {
    pub(super) fn open(argument: &BaseArgument) -> Result<Self, Failure> {
        if let Some(path) = argument.files.as_iso() {
            return Self::open_single(path);
        }
        let opened = argument.files.iter().map(|(role, path)| Ok((role, open(path)?)));
        Self::probe(opened.collect::<Result<_, Failure>>()?)
    }

    /// The base without files, which data images have.
    pub(super) fn nothing() -> Self {
        Self { base: Base::Nothing, files: BTreeMap::new(), secure_boot: OnceCell::new() }
    }

    /// Opens a base of one file: an ISO or a disk if it has the identifier of one, otherwise an initramfs.
    pub(super) fn open_single(path: &Path) -> Result<Self, Failure> {
        let file = open(path)?;
        let is_medium = is_medium(&file).map_err(|error| unreadable(path, &error))?;
        let role = if is_medium { Role::Iso } else { Role::Initrd };
        Self::probe(BTreeMap::from([(role, file)]))
    }

    /// What is known about Secure Boot of the base.
    pub(super) fn secure_boot(&self) -> &SecureBoot {
        self.secure_boot.get_or_init(|| Survey::of_base(&self.base, &self.files)).report()
    }

    fn probe(files: BTreeMap<Role, BaseFile>) -> Result<Self, Failure> {
        match Base::probe(&files) {
            Ok(base) => Ok(Self { base, files, secure_boot: OnceCell::new() }),
            Err(error) => Err(refused(&files, &error)),
        }
    }
}

fn open(path: &Path) -> Result<BaseFile, Failure> {
    if is_url(path) {
        let message = "it is a URL, and dayone reads bases from files: download it, and give the path of the file";
        return Err(Failure::System(format!("cannot open {}: {message}", path.display())));
    }
    let file =
        BaseFile::open(path).map_err(|error| Failure::system(&format!("cannot open {}", path.display()), &error))?;
    // The kernel accepts an empty file as an initramfs, but here it is a failed download.
    if file.size() == 0 { Err(Failure::Input(format!("{} is empty", path.display()))) } else { Ok(file) }
}

/// Whether it has the identifier of an ISO, or an MBR that names an EFI system partition or stands before a GPT.
fn is_medium(file: &BaseFile) -> io::Result<bool> {
    let mut identifier = [0; 5];
    if file.read_at(ISO_IDENTIFIER, &mut identifier)? == identifier.len() && identifier == *b"CD001" {
        return Ok(true);
    }
    let is_of_disk = |(_, partition): (usize, MbrPartition)| [PROTECTIVE, EFI_SYSTEM].contains(&partition.kind);
    Ok(Mbr::read(file)?.is_some_and(|table| table.partitions().any(is_of_disk)))
}

fn unreadable(path: &Path, error: &dyn std::error::Error) -> Failure {
    Failure::system(&format!("cannot read {}", path.display()), error)
}

fn refused(files: &BTreeMap<Role, BaseFile>, error: &BaseError) -> Failure {
    let paths: Vec<String> = files.values().map(|file| file.path().display().to_string()).collect();
    let paths = paths.join(", ");
    match error {
        // The user has not said that the file is an initramfs.
        BaseError::Initramfs(InitramfsError::NotAnInitramfs { .. }) if files.len() == 1 => Failure::Input(format!(
            "{paths} is no ISO 9660 image, no initramfs and no image of a disk with a partition table"
        )),
        BaseError::Initramfs(InitramfsError::OtherContent(compression)) if files.len() == 1 => {
            Failure::Input(format!("cannot use {paths}: {}", Packed::Compressed(compression.as_str())))
        }
        BaseError::Iso(IsoError::NotIso(_)) => Failure::Input(format!(
            "{paths} is no ISO 9660 image, and no image of a disk with sectors of 512 bytes and an EFI system partition in its GPT or \
             MBR"
        )),
        BaseError::Read(_, error) => Failure::system(&format!("cannot read {paths}"), error),
        error => Failure::input(&format!("cannot use {paths}"), error),
    }
}
