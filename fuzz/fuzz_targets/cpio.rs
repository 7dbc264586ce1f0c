//! Any bytes as a cpio archive: no panic, no more content than there are bytes, and what can be written again is read
//! again.
#![no_main]

use std::str;

use imagelib::cpio::{Archive, Entry, FileKind, MemberPath, Reader};
use libfuzzer_sys::fuzz_target;

fn files(bytes: &[u8]) -> Vec<(Entry, Vec<u8>)> {
    let mut reader = Reader::new(bytes);
    let mut files = Vec::new();
    while let Ok(Some(entry)) = reader.next_entry() {
        if let Ok(content) = reader.content(bytes.len() as u64) {
            assert_eq!(content.len() as u64, entry.size);
            files.push((entry, content));
        }
    }
    assert!(reader.position() <= bytes.len() as u64);
    files
}

fuzz_target!(|bytes: &[u8]| {
    let mut archive = Archive::new();
    let mut added = 0;
    for (entry, content) in files(bytes) {
        let path = str::from_utf8(&entry.path()).ok().and_then(|path| path.parse::<MemberPath>().ok());
        if let Some(path) = path.filter(|_| entry.kind() == FileKind::File) {
            added += usize::from(archive.file(path, entry.mode & 0o7777, content).is_ok());
        }
    }
    assert_eq!(files(&archive.to_bytes()).len(), added);
});
