//! Files and directories that settings name.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Why a file is not usable, and what to do.
pub(super) struct Unusable {
    pub(super) message: String,
    pub(super) fix: String,
}

impl Unusable {
    pub(super) fn new(message: String, fix: impl Into<String>) -> Self {
        Self { message, fix: fix.into() }
    }
}

/// Why a file cannot be read, or has no content.
pub(super) fn unreadable(path: &Path) -> Option<Unusable> {
    let shown = path.display();
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let fix = "correct the path, or put the file there";
            return Some(Unusable::new(format!("{shown} does not exist"), fix));
        }
        Err(error) => {
            let fix = format!("let this user read it, and enter all directories above it ({})", user());
            return Some(Unusable::new(format!("cannot read {shown}: {error}"), fix));
        }
    };
    match file.metadata() {
        Ok(metadata) if metadata.is_dir() => Some(Unusable::new(format!("{shown} is a directory"), "name a file")),
        Ok(metadata) if metadata.is_file() && metadata.len() == 0 => {
            Some(Unusable::new(format!("{shown} is empty"), "was it copied completely?"))
        }
        _ => None,
    }
}

/// The first file or directory of a path that other users cannot use. Only root needs to know: the service has a user of its own.
pub(super) fn closed_to_others(path: &Path) -> Option<PathBuf> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let path = fs::canonicalize(path).ok()?;
    let closed = |path: &&Path| {
        let needed = if path.is_dir() { 0o001 } else { 0o004 };
        fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & needed == 0)
    };
    path.ancestors().filter(closed).last().map(Path::to_owned)
}

/// Why the user can neither write into a directory nor create it. Leaves nothing behind.
pub(super) fn unwritable(directory: &Path) -> Option<Unusable> {
    let mut ancestors =
        directory.ancestors().map(|path| if path.as_os_str().is_empty() { Path::new(".") } else { path });
    let existing = ancestors.find(|path| path.exists())?;
    if !existing.is_dir() {
        return Some(Unusable::new(format!("{} is not a directory", existing.display()), "name a directory"));
    }
    let error = tempfile::tempfile_in(existing).err()?;
    let what = if existing == directory { "write into" } else { "create" };
    let fix = format!("let this user write into {} ({})", existing.display(), user());
    Some(Unusable::new(format!("cannot {what} {}: {error}", directory.display()), fix))
}

fn user() -> String {
    format!("user id {}", rustix::process::geteuid().as_raw())
}
