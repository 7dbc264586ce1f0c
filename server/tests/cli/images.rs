//! Bases for the tests of `build` and `inspect`.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use imagelib::cpio::Archive;

use super::fixture;

/// A directory with a base in it.
pub(crate) struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// The path of a file as an argument.
    pub(crate) fn argument(&self, name: &str) -> String {
        self.file(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        std::fs::write(self.file(name), content).unwrap();
        self.argument(name)
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.file(name)).unwrap()
    }

    /// Unpacks one of the images in `fixtures/bases` under its own name.
    pub(crate) fn unpack(&self, name: &str) -> String {
        unpack(name, &self.file(name));
        self.argument(name)
    }

    /// The names of all files, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path()).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

pub(crate) fn unpack(name: &str, target: &Path) {
    let packed = File::open(fixture("bases").join(format!("{name}.xz"))).unwrap();
    let mut content = Vec::new();
    liblzma::read::XzDecoder::new(packed).read_to_end(&mut content).unwrap();
    std::fs::write(target, content).unwrap();
}

/// An uncompressed initramfs with these files.
pub(crate) fn initramfs(files: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = Archive::new();
    for (path, content) in files {
        archive.file(path.parse().unwrap(), 0o644, content.as_bytes().to_vec()).unwrap();
    }
    archive.add_parents(0o755).unwrap();
    archive.to_bytes()
}

pub(crate) fn coreos_initramfs() -> Vec<u8> {
    initramfs(&[
        ("etc/coreos-live-initramfs", ""),
        ("etc/coreos/features.json", r#"{"live-initrd-network": true}"#),
        ("usr/sbin/NetworkManager", "elf"),
        ("init", "elf"),
    ])
}
