//! The machine: limits, disk and clock.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use doctor::{Examination, Finding, Severity};
use indicatif::BinaryBytes;
use procfs::process::LimitValue;
use rustix::fs::statvfs;

use super::listener;
use crate::arguments::Settings;

/// Free space below which the server soon cannot write its records: they have a few KiB each.
const LITTLE: u64 = 64 << 20;

/// A time before this program was written: 2026-01-01.
const EARLIEST: Duration = Duration::from_hours(490_896);

/// What systemd-timesyncd creates when it has set the clock.
const SYNCHRONIZED: &str = "/run/systemd/timesync/synchronized";

/// Examines the limit on open files of the server's process.
pub(super) fn open_files(settings: &Settings, media: SocketAddr) -> Examination {
    let needed = crate::services::open_files_needed(settings);
    let process = listener::find(media).ok().flatten().and_then(|listener| listener.process);
    let limit = process.and_then(|process| process.limits().ok()).map(|limits| limits.max_open_files.hard_limit);
    let finding = match limit {
        Some(LimitValue::Value(limit)) if limit < needed => {
            let message =
                format!("the server may have {limit} files open, and {needed} would allow all connections of BMCs");
            Some(
                Finding::local(Severity::Warning, "few-open-files", message)
                    .advice("raise the limit: LimitNOFILE= of systemd, or ulimit -Hn"),
            )
        }
        Some(_) => None,
        None => {
            let message = "the server's limit on open files is unknown: no process is visible that listens for images";
            let finding = Finding::local(Severity::Unknown, "open-files-unknown", message);
            Some(finding.advice("run this as root, or as the user of the server, while the server runs"))
        }
    };
    Examination::new("open-files", "limit on open files", finding.into_iter().collect())
}

/// Examines the data directory: permissions and free space.
pub(super) fn storage(settings: &Settings) -> Examination {
    let directory = settings.data_dir.clone().unwrap_or_else(|| crate::services::DATA_DIR.into());
    let mut findings = Vec::new();
    if directory.exists() {
        findings.extend(permissions(&directory, 0o077, "data-directory-open"));
        findings.extend(permissions(&directory.join("key"), 0o077, "key-open"));
    } else {
        let message = format!("{} does not exist yet; the server creates it", directory.display());
        findings.push(Finding::local(Severity::Unknown, "data-directory-missing", message));
    }
    for key in [&settings.api_tls_key, &settings.media_tls_key].into_iter().flatten() {
        findings.extend(permissions(key, 0o007, "key-open"));
    }
    let existing = directory.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    match statvfs(existing) {
        Err(error) => {
            let message = format!("the free space of {} is unknown: {error}", existing.display());
            findings.push(Finding::local(Severity::Unknown, "disk-unknown", message));
        }
        Ok(space) => {
            let free = space.f_bavail.saturating_mul(space.f_frsize);
            if free < LITTLE {
                let message = format!("{} has {} left", existing.display(), BinaryBytes(free));
                findings.push(Finding::local(Severity::Warning, "disk-full", message).advice("make room"));
            }
            if space.f_files > 0 && space.f_favail == 0 {
                let message = format!("{} has no inodes left, so no file can be created", existing.display());
                findings.push(Finding::local(Severity::Fails, "disk-full", message).advice("remove small files"));
            }
        }
    }
    Examination::new("storage", "data directory, keys and disk", findings)
}

/// A secret file or directory that others may use.
fn permissions(path: &Path, others: u32, code: &'static str) -> Option<Finding> {
    let mode = match fs::metadata(path) {
        Ok(metadata) => metadata.permissions().mode() & 0o7777,
        Err(error) => {
            let message = format!("the permissions of {} are unknown: {error}", path.display());
            let finding = Finding::local(Severity::Unknown, "permissions-unknown", message);
            return Some(finding.advice("run this as root, or as the user of the server"));
        }
    };
    if mode & others == 0 {
        return None;
    }
    let message = format!("others may use {} (mode {mode:04o}), which holds secrets", path.display());
    let finding = Finding::local(Severity::Warning, code, message);
    // Where the group may read a key, it may be the group of the server's user.
    let whom = if others & 0o070 == 0 { "o" } else { "go" };
    Some(finding.advice(format!("chmod {whom}= {}", path.display())))
}

/// Examines the clock.
pub(super) fn clock() -> Examination {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let service = "run a time service such as chrony or systemd-timesyncd";
    let finding = if since < EARLIEST {
        let message = "this machine's clock is years slow";
        Some(Finding::local(Severity::Fails, "clock-wrong", message).advice(service))
    } else {
        match is_synchronized() {
            Some(true) => None,
            Some(false) => {
                let message = "no time service keeps this machine's clock right";
                Some(Finding::local(Severity::Warning, "clock-not-synchronized", message).advice(service))
            }
            None => {
                let message = "nothing here shows whether a time service keeps this machine's clock right";
                let finding = Finding::local(Severity::Unknown, "clock-unknown", message);
                Some(finding.advice("ask the time service: timedatectl, or chronyc tracking"))
            }
        }
    };
    Examination::new("clock", "clock of this machine", finding.into_iter().collect())
}

/// Whether a time service keeps the clock right, if something shows it. systemd asks the kernel, which every time service tells.
fn is_synchronized() -> Option<bool> {
    if Path::new(SYNCHRONIZED).exists() {
        return Some(true);
    }
    let mut command = Command::new("timedatectl");
    command.args(["show", "--property=NTPSynchronized", "--value"]).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    match output.stdout.trim_ascii() {
        b"yes" => Some(true),
        b"no" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_takes_nothing_from_those_who_may_read() {
        let directory = tempfile::tempdir().unwrap();
        let key = directory.path().join("key");
        fs::write(&key, "").unwrap();
        fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
        for (others, advice) in [(0o077, "chmod go= "), (0o007, "chmod o= ")] {
            let finding = permissions(&key, others, "key-open").unwrap();
            assert_eq!(finding.advice, format!("{advice}{}", key.display()));
        }
        fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(permissions(&key, 0o077, "key-open").is_some());
        assert_eq!(permissions(&key, 0o007, "key-open"), None);
    }
}
