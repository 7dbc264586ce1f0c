//! Any bytes as a FAT file system: an answer in good time, and edits only within it.
#![no_main]

use imagelib::disk::fat::{FatEdit, FatImage};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let size = bytes.len() as u64;
    let Ok(image) = FatImage::open(&bytes, 0..size) else { return };
    let mut edits = Vec::new();
    for file in image.files() {
        if let Some(content) = image.read(&file.path) {
            assert_eq!(content.len(), file.size as usize);
        }
        if let Ok(path) = file.path.parse() {
            edits.push((path, FatEdit::Append(vec![b'a'; 700].into())));
        }
    }
    edits.truncate(4);
    edits.push(("new file.cfg".parse().expect("a path"), FatEdit::Write(vec![b'n'; 3000].into())));
    for length in 1..=edits.len() {
        if let Ok(patches) = image.edit(&edits[..length]) {
            assert!(patches.iter().all(|patch| patch.end() <= size));
        }
    }
});
