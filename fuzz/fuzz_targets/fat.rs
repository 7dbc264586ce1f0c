//! Any bytes as a FAT file system: an answer in good time, and edits only within it, also after it has grown.
#![no_main]

use imagelib::disk::fat::{FatEdit, FatImage, GrownFat};
use imagelib::overlay::{Overlay, Sizes};
use imagelib::source::Role;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let size = data.len() as u64;
    let Ok(image) = FatImage::open(&data, 0..size) else { return };
    let mut edits = Vec::new();
    for file in image.files() {
        // Of two files of one path, the first one is meant.
        if let (Some(content), Some(first)) = (image.read(&file.path), image.file(&file.path)) {
            assert_eq!(content.len(), first.size as usize);
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
    if let Ok(GrownFat { image: grown, segments }) = image.grown(Role::Esp, &edits) {
        let unedited = Overlay::concatenated(&Sizes::from([(Role::Esp, size)]), segments).expect("ranges of the base");
        assert_eq!(unedited.size(), grown.range().end);
        if let Ok(patches) = grown.edit(&edits) {
            let edited = Overlay::patched(Role::Esp, unedited.size(), patches).expect("patches within it");
            let edited = edited.laid_over(&unedited).expect("the same size");
            let mut bytes = vec![0; edited.size() as usize];
            edited.read_at(&(Role::Esp, data.to_vec()), 0, &mut bytes).expect("a read");
            let read = FatImage::open(&bytes, 0..bytes.len() as u64).expect("a whole file system");
            assert!(image.files().iter().all(|file| read.file(&file.path).is_some()));
        }
    }
});
