//! Names as FAT has them: long ones (VFAT), short ones of eight characters and three, volume labels.

use std::collections::BTreeSet;
use std::str::FromStr;

use super::FatError;
use vocabulary::checked_text;

/// How many UTF-16 units a long name has at most.
const MAX_UNITS: usize = 255;
/// Directories within each other: more than any boot medium has.
const DEEPEST: usize = 16;

/// The path of a file in a FAT file system, such as `EFI/BOOT/BOOTX64.EFI`: names that every system can read, with
/// slashes between them and none at the ends.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FatPath(String);

impl FatPath {
    /// The names of the directories above it, and its own as the last.
    pub(super) fn names(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }
}

checked_text!(FatPath, FatError);

impl FromStr for FatPath {
    type Err = FatError;

    fn from_str(path: &str) -> Result<Self, FatError> {
        if path.split('/').count() > DEEPEST {
            return Err(FatError::Name { name: path.to_owned(), reason: "it is nested too deep" });
        }
        path.split('/').try_for_each(check)?;
        Ok(Self(path.to_owned()))
    }
}

fn check(name: &str) -> Result<(), FatError> {
    let reason = if name.is_empty() {
        "it is empty"
    } else if name.encode_utf16().count() > MAX_UNITS {
        "it is longer than 255 characters"
    } else if name.chars().any(|c| c.is_control() || "\"*:<>?\\|".contains(c)) {
        "it has a character that is not allowed there"
    } else if name.ends_with(['.', ' ']) || name.starts_with(' ') {
        "a name does not begin or end with a space, nor end with a dot"
    } else {
        return Ok(());
    };
    Err(FatError::Name { name: name.to_owned(), reason })
}

/// A volume's label: up to eleven characters, in upper case, as all systems write them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VolumeLabel([u8; 11]);

impl VolumeLabel {
    /// The bytes, padded with spaces.
    pub(super) fn as_bytes(&self) -> &[u8; 11] {
        &self.0
    }
}

impl FromStr for VolumeLabel {
    type Err = FatError;

    fn from_str(label: &str) -> Result<Self, FatError> {
        let upper = label.to_ascii_uppercase();
        let allowed = |c: &u8| short_character(*c) || *c == b' ';
        let fits = (1..=11).contains(&upper.len()) && upper.as_bytes().iter().all(allowed) && upper.trim() == upper;
        if !fits {
            let reason = "a label has up to 11 letters, digits and characters such as - and _";
            return Err(FatError::Name { name: label.to_owned(), reason });
        }
        Ok(Self(padded(upper.as_bytes())))
    }
}

/// The short name of a file, and whether it needs its long name beside it.
pub(super) fn short_name(name: &str, taken: &BTreeSet<[u8; 11]>) -> Option<([u8; 11], bool)> {
    let (stem, extension) = match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => (stem, extension),
        _ => (name, ""),
    };
    let (stem, stem_changed) = short_part(stem);
    let (extension, extension_changed) = short_part(extension);
    let changed = stem_changed || extension_changed || stem.len() > 8 || extension.len() > 3;
    let whole = joined(&stem, &extension);
    if !changed && !taken.contains(&whole) {
        let same = !name.bytes().any(|byte| byte.is_ascii_lowercase());
        return Some((whole, !same));
    }
    (1_u32..1_000_000).find_map(|number| {
        let tail = format!("~{number}");
        let mut numbered = stem.get(..stem.len().min(8 - tail.len()))?.to_vec();
        numbered.extend(tail.bytes());
        Some((joined(&numbered, &extension), true)).filter(|(short, _)| !taken.contains(short))
    })
}

/// The part in characters that a short name may have, and whether more than the case has been lost.
fn short_part(part: &str) -> (Vec<u8>, bool) {
    let mut changed = false;
    let mut short = Vec::new();
    for c in part.chars() {
        match u8::try_from(c).map(|byte| byte.to_ascii_uppercase()) {
            Ok(byte) if short_character(byte) => short.push(byte),
            Ok(b' ' | b'.') => changed = true,
            _ => {
                short.push(b'_');
                changed = true;
            }
        }
    }
    (short, changed)
}

fn short_character(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit() || b"$%'-_@~`!(){}^#&".contains(&byte)
}

fn joined(stem: &[u8], extension: &[u8]) -> [u8; 11] {
    let mut short: [u8; 11] = padded(stem.get(..8).unwrap_or(stem));
    for (to, from) in short.iter_mut().skip(8).zip(extension) {
        *to = *from;
    }
    short
}

fn padded(bytes: &[u8]) -> [u8; 11] {
    let mut padded = [b' '; 11];
    for (to, from) in padded.iter_mut().zip(bytes) {
        *to = *from;
    }
    padded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_that_every_system_can_read() {
        for good in ["a", "EFI/BOOT/BOOTX64.EFI", "grub.cfg", ".hidden", "ä/ö ü", &"x".repeat(255)] {
            assert_eq!(good.parse::<FatPath>().unwrap().as_str(), good);
        }
        let deep = ["d"; 17].join("/");
        for bad in ["", "/a", "a/", "a//b", "a.", "..", "a ", " a", "a:b", "a\\b", "a\n", &"x".repeat(256), &deep] {
            assert!(bad.parse::<FatPath>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn labels_are_in_upper_case() {
        assert_eq!(&"config-2".parse::<VolumeLabel>().unwrap().0, b"CONFIG-2   ");
        for bad in ["", "twelve chars", "a.b", "ä", " a", "a*"] {
            assert!(bad.parse::<VolumeLabel>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn short_names_are_unique_and_long_ones_are_kept_where_anything_is_lost() {
        let mut taken = BTreeSet::new();
        let mut short = |name: &str| {
            let (short, long) = short_name(name, &taken).unwrap();
            taken.insert(short);
            (String::from_utf8(short.to_vec()).unwrap(), long)
        };
        for (name, expected, long) in [
            ("BOOTX64.EFI", "BOOTX64 EFI", false),
            ("grub.cfg", "GRUB    CFG", true),
            ("initrd.img.xz", "INITRD~1XZ ", true),
            ("initrd.img.XZ2", "INITRD~1XZ2", true),
            ("initrd.im.xz", "INITRD~2XZ ", true),
            ("GRUB CFG", "GRUBCF~1   ", true),
            (".disk", "DISK~1     ", true),
            ("ä", "_~1        ", true),
            ("a.conf", "A~1     CON", true),
        ] {
            assert_eq!(short(name), (expected.to_owned(), long), "{name}");
        }
    }
}
