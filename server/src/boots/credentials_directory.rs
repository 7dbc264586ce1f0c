//! The directory of `--bmc-credentials`: credentials of BMCs by name.
//!
//! It has `DIR/NAME/username` and `DIR/NAME/password`, as Kubernetes mounts Secrets. systemd makes `DIR_NAME_username` and
//! `DIR_NAME_password` of such a directory: what a unit has of `LoadCredential=` is one directory without others in it
//! (`systemd.exec(5)`). Names have no `_`, so that one file belongs to one name.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use redfish::{Credentials, CredentialsError};

const USERNAME: &str = "username";
const PASSWORD: &str = "password";

/// Reads the credentials with this name.
pub(crate) fn read(directory: &Path, name: &str) -> Result<Credentials, CredentialsError> {
    match (unit_credential(directory, name, USERNAME), unit_credential(directory, name, PASSWORD)) {
        (Some(username), Some(password)) if username.is_file() => Credentials::from_files(&username, &password),
        _ => Credentials::from_directory(&directory.join(name)),
    }
}

/// Whether there are credentials with this name.
pub(super) fn has(directory: &Path, name: &str) -> bool {
    let is_file = |part| unit_credential(directory, name, part).is_some_and(|file| file.is_file());
    directory.join(name).is_dir() || is_file(USERNAME) || is_file(PASSWORD)
}

/// Returns the names of all credentials, sorted. Fails if there is neither the directory nor a credential of a unit.
pub(crate) fn names(directory: &Path) -> io::Result<Vec<String>> {
    let not_found = match fs::read_dir(directory) {
        Ok(entries) => {
            let directories = entries.filter_map(Result::ok).filter(|entry| entry.path().is_dir());
            let names = directories.filter_map(|entry| entry.file_name().into_string().ok());
            // A mounted Secret has hidden directories, too.
            let names: BTreeSet<String> = names.filter(|name| !name.starts_with('.')).collect();
            return Ok(names.into_iter().collect());
        }
        Err(error) => error,
    };
    let names = of_unit(directory).unwrap_or_default();
    if names.is_empty() { Err(not_found) } else { Ok(names.into_iter().collect()) }
}

fn of_unit(directory: &Path) -> Option<BTreeSet<String>> {
    let prefix = format!("{}_", directory.file_name()?.to_str()?);
    let entries = fs::read_dir(directory.parent()?).ok()?;
    let files = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let name = |file: &str| {
        let (name, part) = file.strip_prefix(&prefix)?.rsplit_once('_')?;
        [USERNAME, PASSWORD].contains(&part).then(|| name.to_owned())
    };
    Some(files.filter_map(|file| name(&file)).collect())
}

fn unit_credential(directory: &Path, name: &str, part: &str) -> Option<PathBuf> {
    let prefix = directory.file_name()?.to_str()?;
    Some(directory.with_file_name(format!("{prefix}_{name}_{part}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(files: &[&str]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for file in files {
            let path = directory.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file.rsplit(['/', '_']).next().unwrap()).unwrap();
        }
        directory
    }

    #[test]
    fn a_directory_has_its_names() {
        let files = ["bmc/worker-0/username", "bmc/worker-0/password", "bmc/..data/username", "bmc_rack_username"];
        let there = directory(&files);
        let bmc = there.path().join("bmc");
        assert_eq!(names(&bmc).unwrap(), ["worker-0"]);
        assert!(read(&bmc, "worker-0").is_ok() && has(&bmc, "worker-0"));
        assert!(!has(&bmc, "worker-1"));
    }

    #[test]
    fn systemd_writes_underscores_for_slashes() {
        let files =
            ["bmc_worker-0_username", "bmc_worker-0_password", "bmc_worker-1_username", "media.key", "bmc_rack"];
        let there = directory(&files);
        let bmc = there.path().join("bmc");
        assert_eq!(names(&bmc).unwrap(), ["worker-0", "worker-1"]);
        assert!(read(&bmc, "worker-0").is_ok() && has(&bmc, "worker-0"));
        let half = read(&bmc, "worker-1").unwrap_err().to_string();
        assert!(half.contains("bmc_worker-1_password"), "{half}");
        assert!(read(&bmc, "worker-2").unwrap_err().to_string().contains("bmc/worker-2/username"));
        assert!(names(&there.path().join("other")).is_err());
    }
}
