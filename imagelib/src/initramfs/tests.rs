mod kernel_settings;
mod properties;

use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::compression::Compression;
use crate::cpio::{CpioError, MemberPath};
use crate::source::Source;

const XZ: Compression = Compression::Xz;
const GZIP: Compression = Compression::Gzip;
const ZSTD: Compression = Compression::Zstd;

fn path(text: &str) -> MemberPath {
    text.parse().unwrap()
}

/// An archive from lines: `d etc`, `l lib -> usr/lib`, `f etc/file content`.
fn archive(lines: &[&str]) -> Archive {
    let mut archive = Archive::new();
    for line in lines {
        match line.split_once(' ').unwrap() {
            ("d", name) => archive.directory(path(name), 0o755).unwrap(),
            ("l", link) => {
                let (name, target) = link.split_once(" -> ").unwrap();
                archive.symlink(path(name), target).unwrap();
            }
            (_, file) => {
                let (name, content) = file.split_once(' ').unwrap();
                archive.file(path(name), 0o600, content.to_owned()).unwrap();
            }
        }
    }
    archive
}

fn raw(lines: &[&str]) -> Vec<u8> {
    archive(lines).to_bytes()
}

fn packed(compression: Compression, lines: &[&str]) -> Vec<u8> {
    compression.compress(&raw(lines)).unwrap()
}

/// A base as dracut makes them: an uncompressed member that comes first, and a compressed one.
fn base() -> Vec<u8> {
    let early = raw(&["d kernel", "f kernel/microcode.bin MMMM"]);
    let main = packed(
        ZSTD,
        &[
            "d etc",
            "d usr",
            "d usr/lib",
            "l lib -> usr/lib",
            "l usr/lib64 -> /lib",
            "l loop -> loop2/x",
            "l loop2 -> loop",
            "l gone -> var/gone",
            "f init #!/bin/sh",
            "f etc/os-release ID=test",
        ],
    );
    [early, vec![0; 512], main].concat()
}

fn stop(image: &[u8]) -> (u64, StopReason) {
    match walk(&image, |_, _| Ok(())).unwrap().outcome {
        ReadOutcome::Stopped { offset, reason } => (offset, reason),
        ReadOutcome::Complete => panic!("read to the end"),
    }
}

fn names(image: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    walk(&image, |visit, _| {
        names.push(format!("{} {}", visit.member, String::from_utf8_lossy(&visit.entry.name)));
        Ok(())
    })
    .unwrap();
    names
}

#[test]
fn members_of_all_kinds_are_found_at_the_offsets_that_the_kernel_takes() {
    let gzip = packed(GZIP, &["f b 2"]);
    let xz = packed(XZ, &["f c 3"]);
    assert_eq!(xz.len() % 4, 0, "an xz stream is a multiple of 4");
    let mut image = [raw(&["f a 1"]), gzip.clone(), vec![0; 3], xz, packed(ZSTD, &["f d 4"])].concat();
    image.resize(image.len().next_multiple_of(4) + 256, 0);
    image.extend(raw(&["f e 5"]));
    image.extend([0; 1000]);
    assert_eq!(names(&image), ["0 a", "1 b", "2 c", "3 d", "4 e"]);
    let walked = walk(&image, |_, _| Ok(())).unwrap();
    assert!(matches!(walked.outcome, ReadOutcome::Complete));
    let found: Vec<_> = walked.members.iter().map(|member| (member.compression, member.entries)).collect();
    assert_eq!(found, [(None, 1), (Some(GZIP), 1), (Some(XZ), 1), (Some(ZSTD), 1), (None, 1)]);
    assert_eq!(walked.members[2].offset, walked.members[1].offset + gzip.len() as u64 + 3);
}

#[test]
fn what_is_appended_is_found_behind_a_base_of_any_length() {
    for extra in 0..8 {
        let mut gzip = base();
        gzip.extend(vec![0; extra]);
        let appended = appendix(gzip.len() as u64, &archive(&["f etc/x y"]));
        let padding = appended.iter().position(|byte| *byte != 0).unwrap();
        assert!(padding <= 3);
        let image = [gzip, appended].concat();
        assert_eq!(names(&image).last().unwrap(), "2 etc/x", "{extra}");
    }
}

#[test]
fn a_misaligned_raw_archive_is_not_seen_and_told() {
    let gzip = packed(GZIP, &["f a 1"]);
    for extra in 0..4 {
        let start = gzip.len() + extra;
        let image = [gzip.clone(), vec![0; extra], raw(&["f b 2"])].concat();
        if start.is_multiple_of(4) {
            assert_eq!(names(&image), ["0 a", "1 b"]);
        } else {
            assert!(matches!(stop(&image), (at, StopReason::Misaligned) if at == start as u64));
            assert_eq!(names(&image), ["0 a"]);
        }
    }
    // Behind a raw archive this holds for a compressed one, too.
    let behind_raw = [raw(&["f a 1"]), vec![0; 2], gzip].concat();
    assert!(matches!(stop(&behind_raw), (_, StopReason::Misaligned)));
}

#[test]
fn several_archives_in_one_stream_are_one_member() {
    let image = GZIP.compress(&[raw(&["f a 1"]), vec![0; 512], raw(&["f b 2"]), vec![0; 5]].concat()).unwrap();
    assert_eq!(names(&image), ["0 a", "0 b"]);
    let junk = GZIP.compress(&[raw(&["f a 1"]), b"junk".to_vec()].concat()).unwrap();
    assert!(matches!(stop(&junk), (0, StopReason::Damaged(CpioError::Magic { .. }))));
}

#[test]
fn an_image_is_read_as_far_as_it_goes() {
    let start = base();
    let offset = start.len() as u64;
    let with = |rest: &[u8]| [start.clone(), rest.to_vec()].concat();
    let bzip2 = with(b"BZh91AY");
    assert!(matches!(stop(&bzip2), (at, StopReason::Unsupported("bzip2")) if at == offset));
    assert!(!walk(&bzip2, |_, _| Ok(())).unwrap().outcome.stops_the_kernel());
    let signed = with(b"~Module signature appended~\n");
    assert!(matches!(stop(&signed), (at, StopReason::UnknownMagic) if at == offset));
    assert!(walk(&signed, |_, _| Ok(())).unwrap().outcome.stops_the_kernel());
    assert_eq!(names(&bzip2), names(&start));
    let gzip = packed(GZIP, &["f a 1", "f b 2"]);
    for cut in [5, gzip.len() / 2, gzip.len() - 1] {
        assert!(matches!(stop(&with(&gzip[..cut])), (at, StopReason::Damaged(CpioError::Io(_))) if at == offset));
    }
}

#[test]
fn what_is_no_initramfs_is_refused() {
    for image in [&b"hello"[..], &[0, 0, 0, b'x'], &[0, b'0', b'7', b'0', b'7', b'0', b'1']] {
        assert!(matches!(walk(&image, |_, _| Ok(())), Err(InitramfsError::NotAnInitramfs { .. })), "{image:?}");
    }
    for image in [&[][..], &[0; 1000]] {
        assert!(walk(&image, |_, _| Ok(())).unwrap().members.is_empty());
        assert!(matches!(survey(&image, &[], 0), Err(InitramfsError::Empty)));
    }
    assert!(matches!(survey(&Archive::new().to_bytes(), &[], 0), Err(InitramfsError::Empty)));
    let disk = [vec![0; 448], b"disk".to_vec(), vec![0; 1000]].concat();
    for compression in [GZIP, XZ, ZSTD] {
        let error = survey(&compression.compress(&disk).unwrap(), &[], 0).unwrap_err();
        assert!(matches!(error, InitramfsError::OtherContent(found) if found == compression), "{error}");
    }
}

struct Failing(Vec<u8>, u64);

impl Source for Failing {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if offset + buffer.len() as u64 > self.1 {
            return Err(io::Error::other("the disk is broken"));
        }
        self.0.read_at(offset, buffer)
    }
}

#[test]
fn a_source_that_fails_is_not_taken_for_a_damaged_image() {
    for start in [packed(GZIP, &["f a 1"]), raw(&["f a 1"])] {
        let image = [start, vec![0; 1 << 18], packed(XZ, &["f b 2"])].concat();
        for limit in [0, 1 << 16, 1 << 17] {
            let error = walk(&Failing(image.clone(), limit), |_, _| Ok(())).unwrap_err();
            assert!(error.to_string().contains("the disk is broken"), "{error}");
        }
    }
}

/// An archive with one file of 4 GiB minus 1 byte, which nobody stores, and one behind it.
struct Huge {
    head: Vec<u8>,
    tail: Vec<u8>,
    read: AtomicU64,
}

const HUGE: u64 = u32::MAX as u64;

impl Source for Huge {
    fn size(&self) -> u64 {
        self.head.size() + HUGE + 1 + self.tail.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.read.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        let tail = self.size() - self.tail.size();
        if offset >= tail {
            return self.tail.read_at(offset - tail, buffer);
        }
        buffer.fill(b'h');
        let head = self.head.read_at(offset, buffer)?;
        Ok(buffer.len().min(usize::try_from(tail - offset).unwrap()).max(head))
    }
}

#[test]
fn large_raw_files_are_passed_over_unread() {
    let mut head = raw(&["f root.squashfs h"]);
    let end = head.windows(6).rposition(|bytes| bytes == b"070701").unwrap();
    head.truncate(end - 4);
    head[54..62].copy_from_slice(b"ffffffff");
    let huge = Huge { head, tail: raw(&["f last x"]), read: AtomicU64::new(0) };
    let mut names = Vec::new();
    walk(&huge, |visit, _| {
        names.push((String::from_utf8_lossy(&visit.entry.name).into_owned(), visit.entry.size));
        Ok(())
    })
    .unwrap();
    assert_eq!(names, [("root.squashfs".to_owned(), HUGE), ("last".to_owned(), 1)]);
    assert!(huge.read.into_inner() < 1 << 20);
}

#[test]
fn the_last_copy_of_a_path_counts() {
    let image = [
        raw(&["d etc", "f etc/a first", "f etc/b first", "f etc/c first"]),
        packed(XZ, &["f etc/a second"]),
        packed(GZIP, &["f etc/a third", "l etc/b -> a"]),
    ]
    .concat();
    let survey = survey(&image, &["etc/a", "etc/b", "etc/c", "etc/d"].map(path), 100).unwrap();
    let files: Vec<_> = survey.files.iter().map(|(path, content)| (path.as_str(), content.as_slice())).collect();
    assert_eq!(files, [("etc/a", &b"third"[..]), ("etc/c", b"first")]);
    assert_eq!(read_embed_area(&image, 100).unwrap()["etc/a"], b"third");
}

#[test]
fn files_are_found_through_links_and_in_bounds() {
    let image = [base(), packed(GZIP, &["f lib/release x"])].concat();
    let wanted = ["lib/release", "usr/lib/release", "etc/os-release"].map(path);
    let found = survey(&image, &wanted, 7).unwrap();
    assert_eq!(found.files.len(), 3);
    assert_eq!(found.files[&path("usr/lib/release")], b"x");
    let error = survey(&image, &wanted, 6).unwrap_err();
    assert!(matches!(&error, InitramfsError::TooLarge { path, size: 7, limit: 6 } if path == "etc/os-release"));
}

#[test]
fn behind_lz4_come_zeros() {
    let mut addition = Archive::new();
    addition.file(path("added"), 0o600, "x").unwrap();
    for compression in [Compression::Lz4, Compression::Lzma, ZSTD] {
        let base = packed(compression, &["d etc", "f etc/os-release ID=test"]);
        let tree = survey(&base, &[], 0).unwrap().tree;
        assert_eq!(tree.is_open(), compression == Compression::Lz4);
        let added = |addition: &Archive| [base.clone(), appendix(base.len() as u64, addition)].concat();
        let found = |image: &[u8]| survey(&image, &[], 0).unwrap().tree.node(&path("added")).is_some();
        assert_eq!(found(&added(&addition)), compression != Compression::Lz4);
        let mut behind_zeros = addition.clone();
        behind_zeros.put_behind_zeros();
        assert!(found(&added(&behind_zeros)), "{compression}");
        let again = survey(&added(&behind_zeros), &[], 0).unwrap().tree;
        assert!(!again.is_open());
    }
}

#[test]
fn hard_links_share_the_content_that_comes_last() {
    let mut bytes = raw(&["f a x", "f b x", "f c content", "f d other"]);
    let headers: Vec<_> = bytes.windows(6).enumerate().filter(|(_, w)| w == b"070701").map(|(at, _)| at).collect();
    for at in &headers[..3] {
        bytes[at + 6..at + 14].copy_from_slice(b"00000001");
        bytes[at + 38..at + 46].copy_from_slice(b"00000003");
    }
    let found = survey(&bytes, &["a", "c", "d"].map(path), 100).unwrap();
    let files: Vec<_> = found.files.values().map(Vec::as_slice).collect();
    assert_eq!(files, [&b"content"[..], b"content", b"other"]);
    assert_eq!(["a", "b", "c", "d"].map(|name| found.tree.is_linked(&path(name))), [true, true, true, false]);
}

#[test]
fn hard_links_are_forgotten_at_each_trailer() {
    let linked = |lines: &[&str]| {
        let mut bytes = raw(lines);
        let headers: Vec<_> = bytes.windows(6).enumerate().filter(|(_, w)| w == b"070701").map(|(at, _)| at).collect();
        for at in &headers[..2] {
            bytes[at + 6..at + 14].copy_from_slice(b"00000005");
            bytes[at + 38..at + 46].copy_from_slice(b"00000002");
        }
        bytes
    };
    let (first, second) = (linked(&["f a first", "f b first"]), linked(&["f x second", "f y second"]));
    let both = [first.clone(), second.clone()].concat();
    let apart = [GZIP.compress(&first).unwrap(), GZIP.compress(&second).unwrap()].concat();
    for image in [both.clone(), GZIP.compress(&both).unwrap(), apart] {
        let found = survey(&image, &["a", "b", "x"].map(path), 100).unwrap();
        let files: Vec<_> = found.files.values().map(Vec::as_slice).collect();
        assert_eq!(files, [&b"first"[..], b"first", b"second"]);
    }
}

#[test]
fn the_tree_tells_which_directories_are_missing_and_where_links_lead() {
    let tree = survey(&base(), &[], 0).unwrap().tree;
    let place = |text: &str| {
        tree.place(&path(text)).map(|Placement { path, missing }| {
            (path.to_string(), missing.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
        })
    };
    let placed = |path: &str, missing: &str| Ok((path.to_owned(), missing.to_owned()));
    assert_eq!(place("etc/hostname"), placed("etc/hostname", ""));
    assert_eq!(
        place("etc/NetworkManager/s/x"),
        placed("etc/NetworkManager/s/x", "etc/NetworkManager etc/NetworkManager/s")
    );
    assert_eq!(place("lib/a/x"), placed("usr/lib/a/x", "usr/lib/a"));
    assert_eq!(place("usr/lib64/x"), placed("usr/lib/x", ""));
    assert_eq!(place("gone/x"), placed("var/gone/x", "var var/gone"));
    assert_eq!(place("root/x"), placed("root/x", ""));
    assert_eq!(place("gone"), placed("gone", ""), "a file may take a link's place");
    assert_eq!(place("lib"), Err(PlacementError::Directory(path("lib"))), "but not hide what is behind the link");
    let (loop_x, etc, init_x) = (path("loop/x"), path("etc"), path("init/x/y"));
    assert_eq!(place("loop/x"), Err(PlacementError::Links(loop_x)));
    assert_eq!(place("etc"), Err(PlacementError::Directory(etc)));
    assert_eq!(place("init/x/y"), Err(PlacementError::ParentNotDirectory { path: init_x, parent: "init".into() }));
    assert_eq!(tree.node(&path("lib")), Some(&Node::Symlink { target: b"usr/lib".to_vec() }));
    assert_eq!(tree.resolve(&path("lib")), Some(&Node::Directory { mode: 0o755 }));
    assert_eq!(tree.resolve(&path("init")), Some(&Node::File));
    assert_eq!(tree.resolve(&path("var/x")), None);
}

#[test]
fn entries_replace_each_other_as_in_the_kernel() {
    let image = [
        raw(&["d a", "f a/file x", "d b", "l c -> a", "f lost/file x", "f d x"]),
        raw(&["l a -> b", "l b -> a", "d c", "d d"]),
    ]
    .concat();
    let tree = survey(&image, &[], 0).unwrap().tree;
    let node = |name| tree.node(&path(name));
    assert_eq!(node("a"), Some(&Node::Directory { mode: 0o755 }), "a directory with files in it stays");
    assert_eq!(node("b"), Some(&Node::Symlink { target: b"a".to_vec() }), "an empty one does not");
    assert_eq!(node("c"), Some(&Node::Directory { mode: 0o755 }), "a directory takes a link's place");
    assert_eq!(node("d"), Some(&Node::Directory { mode: 0o755 }));
    assert_eq!(node("lost/file"), None, "without its directory a file is not unpacked");
    assert!(tree.nodes().any(|(path, node)| path == b"dev" && matches!(node, Node::Directory { .. })));
}

#[test]
fn embed_areas_are_read_whole_or_refused() {
    assert!(read_embed_area(&vec![0; 262_144], 1000).unwrap().is_empty());
    let mut customised = archive(&["f config.ign {}", "f etc/coreos-firstboot-network/a.nmconnection [c]"]);
    customised.add_parents(0o755).unwrap();
    for area in [customised.to_bytes(), XZ.compress(&customised.to_bytes()).unwrap()] {
        let padded = [area.clone(), vec![0; 5000]].concat();
        let files = read_embed_area(&padded, 5).unwrap();
        assert_eq!(files.keys().collect::<Vec<_>>(), ["config.ign", "etc/coreos-firstboot-network/a.nmconnection"]);
        assert!(matches!(read_embed_area(&padded, 4), Err(InitramfsError::TooLarge { .. })));
        let junk = [area, b"junk".to_vec()].concat();
        assert!(matches!(read_embed_area(&junk, 5), Err(InitramfsError::Unreadable { .. })));
    }
    let mut bytes = raw(&["f a x"]);
    let name = bytes.iter().position(|byte| *byte == b'a').unwrap();
    bytes[name] = 0xff;
    assert!(matches!(read_embed_area(&bytes, 5), Err(InitramfsError::Name(_))));
}

#[test]
fn a_stream_that_unpacks_to_too_many_entries_is_left() {
    let one = &raw(&["f a x"])[..116];
    let bomb = zstd::bulk::compress(&one.repeat(1_000_001), 1).unwrap();
    assert!(bomb.len() < 100_000);
    assert!(matches!(stop(&bomb), (0, StopReason::TooLarge)));
    let many = packed(GZIP, &["f a x"]).repeat(1001);
    assert!(matches!(stop(&many), (_, StopReason::TooLarge)));
}
