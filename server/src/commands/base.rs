//! Opening the files of a base that the command line names.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use imagelib::base::{Base, BaseError, Role};
use imagelib::initramfs::InitramfsError;
use imagelib::source::Source;
use media::base_file::BaseFile;

use super::failure::Failure;
use crate::arguments::{BaseArgument, BaseFilesArgument};
use crate::store::is_url;

/// Where the first volume descriptor of an ISO 9660 image has its identifier (ECMA-119 §8.1.2).
const ISO_IDENTIFIER: u64 = 16 * 2048 + 1;

/// A base, opened and understood.
pub(super) struct OpenedBase {
    pub(super) base: Base,
    pub(super) files: BTreeMap<Role, BaseFile>,
}

impl OpenedBase {
    pub(super) fn open(argument: &BaseArgument) -> Result<Self, Failure> {
        match &argument.files {
            BaseFilesArgument::Path(path) => Self::open_single(path),
            BaseFilesArgument::Named(files) => {
                let opened = files.iter().map(|(role, path)| Ok((role, open(path)?)));
                Self::probe(opened.collect::<Result<_, Failure>>()?)
            }
        }
    }

    /// The base of no files, over which data images are made.
    pub(super) fn nothing() -> Self {
        Self { base: Base::Nothing, files: BTreeMap::new() }
    }

    /// A base of one file: an ISO where it says that it is one, or else an initramfs.
    pub(super) fn open_single(path: &Path) -> Result<Self, Failure> {
        let file = open(path)?;
        let role = if is_iso(&file).map_err(|error| unreadable(path, &error))? { Role::Iso } else { Role::Initrd };
        Self::probe(BTreeMap::from([(role, file)]))
    }

    fn probe(files: BTreeMap<Role, BaseFile>) -> Result<Self, Failure> {
        match Base::probe(&files) {
            Ok(base) => Ok(Self { base, files }),
            Err(error) => Err(refused(&files, &error)),
        }
    }
}

fn open(path: &Path) -> Result<BaseFile, Failure> {
    if is_url(path) {
        let message = "a URL, and dayone reads bases from files: download it, and give the file's path";
        return Err(Failure::System(format!("cannot open {}: it is {message}", path.display())));
    }
    let file =
        BaseFile::open(path).map_err(|error| Failure::system(&format!("cannot open {}", path.display()), &error))?;
    // To the kernel an empty file is an initramfs; to people it is a download that failed.
    if file.size() == 0 { Err(Failure::Input(format!("{} is empty", path.display()))) } else { Ok(file) }
}

fn is_iso(file: &BaseFile) -> io::Result<bool> {
    let mut identifier = [0; 5];
    let count = file.read_at(ISO_IDENTIFIER, &mut identifier)?;
    Ok(count == identifier.len() && identifier == *b"CD001")
}

fn unreadable(path: &Path, error: &dyn std::error::Error) -> Failure {
    Failure::system(&format!("cannot read {}", path.display()), error)
}

fn refused(files: &BTreeMap<Role, BaseFile>, error: &BaseError) -> Failure {
    let paths: Vec<String> = files.values().map(|file| file.path().display().to_string()).collect();
    let paths = paths.join(", ");
    match error {
        // Nobody said that it was one.
        BaseError::Initramfs(InitramfsError::NotAnInitramfs { .. }) if files.len() == 1 => {
            Failure::Input(format!("{paths} is neither an ISO 9660 image nor an initramfs"))
        }
        BaseError::Read(_, error) => Failure::system(&format!("cannot read {paths}"), error),
        error => Failure::input(&format!("cannot use {paths}"), error),
    }
}
