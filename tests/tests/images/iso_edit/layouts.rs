//! Bases in the layouts that distributions publish, with trees that nobody would think of.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use acceptance::bases::fixtures;
use acceptance::peers::run;
use tempfile::{NamedTempFile, TempDir};

use super::readers::{Names, Reader};

pub struct Layout {
    pub name: &'static str,
    pub rock_ridge: bool,
    joliet: bool,
    /// There is a second set of descriptors, for those who mount the partition.
    pub partition: bool,
}

const fn layout(name: &'static str, rock_ridge: bool, joliet: bool, partition: bool) -> Layout {
    Layout { name, rock_ridge, joliet, partition }
}

pub const LAYOUTS: [Layout; 12] = [
    layout("xorriso", true, true, false),
    layout("xorriso-level-1", true, true, false),
    layout("xorriso-level-2", true, false, false),
    layout("genisoimage", true, true, false),
    layout("genisoimage-plain", false, false, false),
    layout("genisoimage-joliet", false, true, false),
    layout("genisoimage-1999", true, false, false),
    layout("uefi", true, false, false),
    layout("debian", true, true, true),
    layout("lorax", true, true, true),
    layout("appended", true, true, false),
    layout("isohybrid", true, true, false),
];

impl Layout {
    pub fn has(&self, reader: &Reader) -> bool {
        match reader.names {
            Names::Iso => true,
            Names::RockRidge => self.rock_ridge,
            Names::Joliet => self.joliet,
        }
    }

    /// Whether names that ISO 9660 has no room for have their own form.
    pub fn has_long_names(&self) -> bool {
        self.rock_ridge || self.joliet
    }

    /// An ISO of a tree that follows from the seed.
    pub fn make(&self, seed: u64) -> NamedTempFile {
        let tree = TempDir::new().unwrap();
        grow(tree.path(), &mut Random(seed), self.rock_ridge);
        self.make_of(tree.path())
    }

    /// An ISO of a tree.
    pub fn make_of(&self, tree: &Path) -> NamedTempFile {
        let iso = NamedTempFile::new().unwrap();
        run(Command::new(fixtures("bases").join("make-layout-iso.sh")).arg(self.name).arg(tree).arg(iso.path()));
        iso
    }
}

/// Files of all sizes, two names of one file, links, directories with as many files as fit a block and with more.
fn grow(root: &Path, random: &mut Random, rock_ridge: bool) {
    let mut directories = vec![root.to_owned()];
    for index in 0..4 + random.below(4) {
        let parent = directories[random.below(directories.len())].clone();
        let directory = parent.join(format!("{}{index}", random.name(6)));
        fs::create_dir(&directory).unwrap();
        directories.push(directory);
    }
    let mut files = Vec::new();
    for index in 0..20 + random.below(60) {
        // Names that are still different, cut to eight characters.
        let name = if rock_ridge && random.below(3) == 0 {
            format!("{index}-{}.{}", random.name(40), random.name(4))
        } else {
            format!("{}{index}.{}", random.name(4), random.name(3))
        };
        let path = directories[random.below(directories.len())].join(name);
        let size = [0, 1, 100, 2047, 2048, 2049, 10_000][random.below(7)];
        let mut content = random.bytes(size);
        // No two alike, so that the content tells which file it is.
        if size >= 100 {
            content[..4].copy_from_slice(&(index as u32 + 1).to_le_bytes());
        } else if size == 1 {
            content = format!("file {index}").into_bytes();
        }
        fs::write(&path, content).unwrap();
        files.push(path);
    }
    fs::write(root.join("vmlinuz"), random.bytes(30_001)).unwrap();
    fs::write(root.join("initrd.img"), random.bytes(20_003)).unwrap();
    if rock_ridge {
        for index in 0..3 {
            let file = &files[random.below(files.len())];
            let directory = &directories[random.below(directories.len())];
            if fs::metadata(file).unwrap().len() > 0 {
                fs::hard_link(file, directory.join(format!("hard{index}"))).unwrap();
            }
            symlink("vmlinuz", directory.join(format!("soft{index}"))).unwrap();
        }
    }
}

/// Numbers that look random and follow from the seed (SplitMix64).
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }

    /// One to `longest` letters.
    pub fn name(&mut self, longest: usize) -> String {
        (0..=self.below(longest)).map(|_| char::from(b'a' + self.below(26) as u8)).collect()
    }
}
