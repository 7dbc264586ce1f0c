//! Images for tests: real ones, made by the scripts in `fixtures/bases`, and bytes of them changed.

use std::io::Read;

/// An image of `fixtures/bases`, by its name without suffixes.
pub(crate) fn image(name: &str) -> Vec<u8> {
    let path = format!("{}/../fixtures/bases/{name}.iso.xz", env!("CARGO_MANIFEST_DIR"));
    let compressed = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut image = Vec::new();
    liblzma::read::XzDecoder::new(compressed.as_slice()).read_to_end(&mut image).unwrap();
    image
}

/// Where `pattern` stands in `image`; it must stand there once, or the test would change something else.
pub(crate) fn only(image: &[u8], pattern: &[u8]) -> usize {
    let mut found = image.windows(pattern.len()).enumerate().filter(|(_, window)| *window == pattern);
    let (at, _) = found.next().expect("the pattern is not in the image");
    assert!(found.next().is_none(), "the pattern is in the image more than once");
    at
}

/// Changes the only occurrence of `from` into `to`, which is as long.
pub(crate) fn change(image: &mut [u8], from: &[u8], to: &[u8]) {
    assert_eq!(from.len(), to.len());
    let at = only(image, from);
    image[at..at + to.len()].copy_from_slice(to);
}

/// Writes a number in both byte orders, as ECMA-119 §7.3.3 has it.
pub(crate) fn put_both(image: &mut [u8], at: usize, number: u32) {
    image[at..at + 4].copy_from_slice(&number.to_le_bytes());
    image[at + 4..at + 8].copy_from_slice(&number.to_be_bytes());
}
