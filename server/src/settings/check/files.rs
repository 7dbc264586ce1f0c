//! Files and directories that settings name.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::audit::log_file::LogFile;

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
    // Without this flag, opening a pipe would wait for its other end.
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = match File::options().read(true).custom_flags(flags).open(path) {
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

/// Directories in whose place the packaged service sees others (`PrivateTmp=`, `ProtectHome=`).
const HIDDEN: [&str; 5] = ["/tmp", "/var/tmp", "/home", "/root", "/run/user"];

/// The directory on the way to a file that the packaged service does not see.
pub(super) fn hidden_from_service(path: &Path) -> Option<&'static str> {
    let ways = [std::path::absolute(path).ok(), fs::canonicalize(path).ok()];
    HIDDEN.into_iter().find(|hidden| {
        // Systems with ostree have links to these directories.
        let places = [Some(PathBuf::from(hidden)), fs::canonicalize(hidden).ok()];
        ways.iter().flatten().any(|way| places.iter().flatten().any(|place| way.starts_with(place)))
    })
}

/// Directories that systemd makes when it starts the packaged service.
const OF_SERVICE: [&str; 2] = ["/var/lib/dayone", "/var/log/dayone"];

/// Whether the packaged service can only read there (`ProtectSystem=strict`), unless a drop-in allows more.
pub(super) fn read_only_for_service(path: &Path) -> bool {
    let in_parent = || Some(fs::canonicalize(path.parent()?).ok()?.join(path.file_name()?));
    let place = fs::canonicalize(path).ok().or_else(in_parent).or_else(|| std::path::absolute(path).ok());
    let is_in = |place: &Path, made: &str| {
        // It is a link to a directory of which only root can look at the inside.
        place.starts_with(made) || fs::canonicalize(made).is_ok_and(|made| place.starts_with(made))
    };
    place.is_some_and(|place| !OF_SERVICE.iter().any(|made| is_in(&place, made)))
}

/// Why there is no directory for a file or a directory that dayone creates. dayone creates none above it: if a file system is not
/// mounted, that must not look like a first start.
pub(super) fn parent_missing(path: &Path) -> Option<Unusable> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty())?;
    let is_missing =
        matches!(parent.try_exists(), Ok(false)) && !OF_SERVICE.iter().any(|made| parent == Path::new(made));
    let message = format!("cannot create {}: the directory {} does not exist", path.display(), parent.display());
    is_missing.then(|| Unusable::new(message, "correct the path, or create the directory"))
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

/// Why the audit log cannot be written to this file.
pub(super) fn no_audit_log(path: &Path) -> Option<Unusable> {
    if let Some(unusable) = parent_missing(path) {
        return Some(unusable);
    }
    if let Err(error) = LogFile::check(path) {
        let fix = format!("name a new file, or an audit log of dayone that this user may write ({})", user());
        return Some(Unusable::new(error.to_string(), fix));
    }
    let parent = path.parent().filter(|_| !path.exists())?;
    unwritable(if parent.as_os_str().is_empty() { Path::new(".") } else { parent })
}

fn user() -> String {
    format!("user id {}", rustix::process::geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_sees_no_temporary_and_no_users_directories() {
        for (path, hidden) in [
            ("/tmp/live.iso", Some("/tmp")),
            ("/var/tmp/a/live.iso", Some("/var/tmp")),
            ("/home/core/live.iso", Some("/home")),
            ("/root/live.iso", Some("/root")),
            ("/run/user/1000/live.iso", Some("/run/user")),
            ("/srv/tmp/live.iso", None),
            ("/homes/live.iso", None),
        ] {
            assert_eq!(hidden_from_service(Path::new(path)), hidden, "{path}");
        }
    }

    #[test]
    fn the_service_writes_only_into_its_own_directories() {
        for (path, read_only) in [
            ("/var/lib/dayone", false),
            ("/var/lib/dayone/data", false),
            ("/var/log/dayone/audit.jsonl", false),
            ("/var/lib/dayone-2", true),
            ("/var/log/audit.jsonl", true),
            ("/srv/dayone/data", true),
        ] {
            assert_eq!(read_only_for_service(Path::new(path)), read_only, "{path}");
        }
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink("/var/lib/dayone", &link).unwrap();
        assert!(read_only_for_service(&directory.path().join("audit.jsonl")));
        // It leads to a directory of the service, if the service has been started on this machine.
        assert_eq!(read_only_for_service(&link), !Path::new("/var/lib/dayone").exists());
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(unreadable(&pipe).is_none(), "whoever reads it says what is wrong");
    }

    #[test]
    fn nobody_makes_the_directory_above_but_systemd_that_of_the_service() {
        let directory = tempfile::tempdir().unwrap();
        assert!(parent_missing(&directory.path().join("data")).is_none());
        assert!(parent_missing(&directory.path().join("later/data")).is_some());
        for path in ["data", "/", "/var/log/dayone/audit.jsonl", "/var/lib/dayone", "/var/lib/dayone/data"] {
            assert!(parent_missing(Path::new(path)).is_none(), "{path}");
        }
    }
}
