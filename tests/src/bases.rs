//! Base images: made by the scripts in `fixtures/bases` and kept in the cache, or published by others.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::peers::{cache, run};

/// A directory of `fixtures`.
pub fn fixtures(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(name)
}

/// An ISO that `fixtures/bases/make-coreos-iso.sh` makes with these options. It is made once, and the same file is
/// returned to all: copy it before changing it.
pub fn coreos_iso(options: &[&str]) -> PathBuf {
    made("make-coreos-iso.sh", options)
}

/// What a script of `fixtures/bases` makes. Another script, or other options, are another file.
pub fn made(script: &str, options: &[&str]) -> PathBuf {
    let script_path = fixtures("bases").join(script);
    let mut hasher = Sha256::new();
    hasher.update(fs::read(&script_path).expect("the script"));
    for option in options {
        hasher.update([0]);
        hasher.update(option);
    }
    let key: String = hasher.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let directory = cache().join("bases");
    let path = directory.join(format!("{}-{key}.iso", script.trim_start_matches("make-").trim_end_matches(".sh")));
    if !path.exists() {
        // Tests run side by side: each makes its own, and the last one's stays.
        fs::create_dir_all(&directory).expect("a directory for bases");
        let temporary = tempfile::Builder::new().suffix(".iso").tempfile_in(&directory).expect("a temporary file");
        run(Command::new(&script_path).arg(temporary.path()).args(options));
        temporary.persist(&path).expect("the base is kept");
    }
    path
}

/// A GRUB for `--efi-loader` that reads `EFI/fedora/grub.cfg` of the ISO, wherever it was started from.
pub fn grub_efi_loader(directory: &Path) -> PathBuf {
    let early = directory.join("early.cfg");
    fs::write(&early, "search.file /EFI/fedora/grub.cfg root\nset prefix=($root)/EFI/fedora\n").expect("a config");
    let loader = directory.join("grubx64.efi");
    run(Command::new("grub-mkimage")
        .args(["-O", "x86_64-efi", "-p", "/EFI/BOOT", "-c"])
        .args([&early, Path::new("-o"), &loader])
        .args(
            "normal linux iso9660 fat search search_fs_file configfile part_gpt part_msdos all_video gzio".split(' '),
        ));
    loader
}

/// The ISOs of ten layouts, 2020 to 2023, that coreos-installer is tested with, by name. Their files are real, cut
/// short, and their layout is complete.
pub fn historical_coreos_isos() -> Vec<(String, Vec<u8>)> {
    let directory = cache().join("coreos-installer-0.27.0/fixtures/iso");
    let files = fs::read_dir(&directory)
        .unwrap_or_else(|error| panic!("{}: {error}; run scripts/setup-peers.sh", directory.display()));
    let mut isos: Vec<_> = files
        .map(|file| file.expect("a file").path())
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.strip_suffix(".iso.xz")?.to_owned();
            Some((name, run(Command::new("xz").arg("-dc").arg(&path))))
        })
        .collect();
    isos.sort();
    assert_eq!(isos.len(), 11, "{}", directory.display());
    isos
}
