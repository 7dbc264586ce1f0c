//! Base images in the layout of machine-os-images: links with the expected names, to files with other names.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use imagelib::compression::Compression;
use imagelib::cpio::Archive;
use tempfile::TempDir;

use crate::bases::coreos_iso;

/// The beginning of all names.
const STEM: &str = "ironic-python-agent";

/// A directory with `ironic-python-agent.{iso,initramfs,kernel}` for x86_64, this machine's architecture, and for aarch64.
pub struct AgentBases(TempDir);

impl AgentBases {
    /// Makes small bases.
    pub fn new() -> Self {
        Self::with_iso(&coreos_iso(&[]))
    }

    /// Makes bases with this ISO for this machine's architecture.
    pub fn with_iso(iso: &Path) -> Self {
        let bases = Self(tempfile::tempdir().expect("a directory"));
        bases.put("", "x86_64", iso);
        bases.put("", "aarch64", &coreos_iso(&["--layout", "aarch64"]));
        bases
    }

    /// Adds the files of a stream (empty, or such as `-rhel-10`) and an architecture.
    pub fn put(&self, stream: &str, architecture: &str, iso: &Path) {
        let real = |suffix: &str| format!("coreos{stream}-{architecture}{suffix}");
        fs::copy(iso, self.0.path().join(real(".iso"))).expect("a base");
        let write = |suffix: &str, content: Vec<u8>| {
            fs::write(self.0.path().join(real(suffix)), content).expect("a base");
        };
        write("-initrd.img", initramfs(&format!("{architecture}{stream}")));
        write("-vmlinuz", format!("MZ: the kernel of {architecture}{stream}").into_bytes());
        let files = [("iso", ".iso"), ("initramfs", "-initrd.img"), ("kernel", "-vmlinuz")];
        let suffixes: &[String] =
            if architecture == "x86_64" { &[String::new(), "_x86_64".into()] } else { &[format!("_{architecture}")] };
        for suffix in suffixes {
            for (extension, file) in files {
                let link = self.path(&format!("{STEM}{stream}{suffix}.{extension}"));
                symlink(real(file), link).expect("a link");
            }
        }
    }

    /// Returns the path of a file, such as `ironic-python-agent.iso`.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Returns the content of a file.
    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).expect("a base")
    }

    /// Returns the environment variables with the paths of the bases.
    pub fn environment(&self) -> [(&'static str, String); 4] {
        let path = |extension: &str| self.path(&format!("{STEM}.{extension}")).display().to_string();
        [
            ("DEPLOY_ISO", path("iso")),
            ("DEPLOY_INITRD", path("initramfs")),
            ("DEPLOY_KERNEL", path("kernel")),
            ("IMAGE_SHARED_DIR", self.0.path().display().to_string()),
        ]
    }
}

impl Default for AgentBases {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns an initramfs with the sign of CoreOS, and with a file that differs between architectures.
fn initramfs(content: &str) -> Vec<u8> {
    let mut archive = Archive::new();
    let files = [
        ("etc/coreos-live-initramfs", ""),
        ("etc/coreos/features.json", r#"{"live-initrd-network": true}"#),
        ("init", "#!/bin/sh\n"),
        ("etc/made-for", content),
    ];
    for (path, content) in files {
        archive.file(path.parse().expect("a path"), 0o755, content.to_owned()).expect("a file");
    }
    archive.add_parents(0o755).expect("directories");
    Compression::Gzip.compress(&archive.to_bytes()).expect("an archive")
}
