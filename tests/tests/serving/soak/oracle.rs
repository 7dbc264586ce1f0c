//! What every byte must be: what `dayone build` has written once, and the files of the bases, kept where no server writes.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// The bytes of one file of an image.
#[derive(Debug, Clone)]
pub(crate) struct Expected(Arc<Bytes>);

#[derive(Debug)]
enum Bytes {
    File(File, u64),
    /// The iPXE script, which has the URLs of the other files: known when the image is published.
    Text {
        arguments: String,
        text: Mutex<String>,
    },
}

impl Expected {
    pub(crate) fn file(path: &Path) -> Self {
        let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let size = file.metadata().unwrap().len();
        assert!(size > 0, "{}", path.display());
        Self(Arc::new(Bytes::File(file, size)))
    }

    /// The iPXE script of an image with these kernel arguments. `<URL of FILE>` stands for a URL.
    pub(crate) fn script(arguments: &str) -> Self {
        Self(Arc::new(Bytes::Text { arguments: arguments.to_owned(), text: Mutex::default() }))
    }

    /// Takes the place of the URLs' common beginning, `http://…/i/TOKEN`.
    pub(crate) fn published_at(&self, beginning: &str) {
        if let Bytes::Text { arguments, text } = &*self.0 {
            let arguments = arguments.replace("<URL of rootfs.img>", &format!("{beginning}/rootfs.img"));
            *text.lock().unwrap() = format!(
                "#!ipxe\nkernel {beginning}/vmlinuz initrd=initrd.img {arguments}\ninitrd {beginning}/initrd.img\nboot\n"
            );
        }
    }

    pub(crate) fn size(&self) -> u64 {
        match &*self.0 {
            Bytes::File(_, size) => *size,
            Bytes::Text { text, .. } => text.lock().unwrap().len() as u64,
        }
    }

    /// The offset of the first byte of `found`, which was served from `offset` on, that is wrong.
    pub(crate) fn first_difference(&self, offset: u64, found: &[u8]) -> Option<u64> {
        let expected = match &*self.0 {
            Bytes::File(file, size) => {
                let within = usize::try_from(size.saturating_sub(offset)).unwrap().min(found.len());
                let mut expected = vec![0; within];
                file.read_exact_at(&mut expected, offset).expect("the oracle is readable");
                expected
            }
            Bytes::Text { text, .. } => {
                let text = text.lock().unwrap();
                let from = usize::try_from(offset).unwrap().min(text.len());
                let to = (from + found.len()).min(text.len());
                text.as_bytes()[from..to].to_vec()
            }
        };
        if expected == found {
            return None;
        }
        let same = expected.iter().zip(found).take_while(|(one, other)| one == other).count();
        Some(offset + same as u64)
    }
}

/// Compares a file that a program has written with a range.
pub(crate) fn difference_of_file(expected: &Expected, offset: u64, path: &Path) -> (u64, Option<u64>) {
    let found = fs::read(path).unwrap_or_default();
    (found.len() as u64, expected.first_difference(offset, &found))
}
