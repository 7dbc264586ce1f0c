//! What users install: `make install`, packages, the unit, the container image, and the documents of a release. All of it holds
//! the debug build here; `make check-release` checks what `make release` has made.

mod crates;
mod documents;
mod image;
mod install;
mod packages;
mod service;
mod systemd;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The files below a directory, by their paths.
fn files(directory: &Path) -> BTreeSet<String> {
    fn search(directory: &Path, top: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                search(&entry.path(), top, found);
            } else {
                found.insert(entry.path().strip_prefix(top).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    let mut found = BTreeSet::new();
    search(directory, directory, &mut found);
    found
}
