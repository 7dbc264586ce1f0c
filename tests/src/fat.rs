//! Making FAT file systems, and the tools that everybody reads them with.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::process::Command;

use imagelib::disk::fat::FatPath;
use imagelib::overlay::{Overlay, Segment, Sizes};
use imagelib::source::Role;

use crate::peers::run;

/// What one of the mtools says of an image.
pub fn mtools(tool: &str, image: &Path, arguments: &[&str]) -> Vec<u8> {
    run(Command::new(tool).arg("-i").arg(image).args(arguments).env("MTOOLSRC", "/dev/null").env("LC_ALL", "C.UTF-8"))
}

/// Fails unless fsck.fat finds nothing wrong.
pub fn clean(image: &Path) {
    let output = Command::new("fsck.fat").args(["-n", "-v"]).arg(image).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// A file system made by mkfs.fat with files put in by mtools.
pub fn made(image: &Path, options: &[&str], kibibytes: u32, files: &BTreeMap<String, Vec<u8>>) {
    let _ = fs::remove_file(image);
    run(Command::new("mkfs.fat").args(options).arg("-C").arg(image).arg(kibibytes.to_string()));
    let parents = |path: &str| path.match_indices('/').map(|(end, _)| path[..end].to_owned()).collect::<Vec<_>>();
    let mut directories: BTreeSet<String> = files.keys().flat_map(|path| parents(path)).collect();
    directories.extend(["EFI", "EFI/BOOT", "loader"].map(str::to_owned));
    for directory in directories {
        mtools("mmd", image, &[&format!("::{directory}")]);
    }
    let directory = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let file = directory.path().join("file");
        fs::write(&file, content).unwrap();
        mtools("mcopy", image, &[file.to_str().unwrap(), &format!("::{path}")]);
    }
}

/// A file's content, as mtools reads it.
pub fn content_of(image: &Path, path: &str) -> Vec<u8> {
    mtools("mtype", image, &[&format!("::{path}")])
}

/// A path that FAT can hold.
pub fn path(text: &str) -> FatPath {
    text.parse().unwrap()
}

/// What GRUB reads: firmware and boot loaders have their own drivers, and this is one of them.
pub fn grub_reads(image: &Path, partition: &str, path: &str, content: &[u8]) {
    let mut theirs = Command::new("grub-fstest");
    theirs.arg(image).args(["cat", &format!("(loop0{partition})/{path}")]);
    assert!(run(&mut theirs) == content, "{path}");
}

/// Writes what segments over one base make to a file, and says how many bytes of them are in memory.
pub fn write(image: &Path, base: &[u8], segments: Vec<Segment>) -> u64 {
    let sizes = Sizes::from([(Role::Iso, base.len() as u64)]);
    let overlay = Overlay::concatenated(&sizes, segments).unwrap();
    let mut file = fs::File::create(image).unwrap();
    let mut buffer = vec![0; 1 << 20];
    let mut position = 0;
    // In pieces of an odd length, so that cuts fall anywhere.
    while position < overlay.size() {
        let count = overlay.read_at(&(Role::Iso, base), position, &mut buffer[..(1 << 20) - 3]).unwrap();
        file.write_all(&buffer[..count]).unwrap();
        position += count as u64;
    }
    overlay.patch_size()
}

/// Writes only what is in memory, and leaves holes where the base's bytes would be.
pub fn write_with_holes(image: &Path, segments: &[Segment]) {
    let mut file = fs::File::create(image).unwrap();
    file.set_len(segments.iter().map(Segment::length).sum()).unwrap();
    let mut position = 0;
    for segment in segments {
        let own = Overlay::concatenated(&Sizes::new(), vec![segment.clone()]);
        if let Some(own) = own.ok().filter(|own| own.size() < 1 << 24) {
            let mut bytes = vec![0; usize::try_from(own.size()).unwrap()];
            own.read_at(&(Role::Iso, Vec::new()), 0, &mut bytes).unwrap();
            file.seek(SeekFrom::Start(position)).unwrap();
            file.write_all(&bytes).unwrap();
        }
        position += segment.length();
    }
}
