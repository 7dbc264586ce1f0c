use std::io::{BufReader, Cursor, Read};

use proptest::prelude::*;

use super::*;

fn path(text: &str) -> MemberPath {
    text.parse().unwrap()
}

fn sample() -> Archive {
    let mut archive = Archive::new();
    archive.file(path("etc/coreos-firstboot-network/eth0.nmconnection"), 0o600, "[connection]\nid=eth0\n").unwrap();
    archive.symlink(path("etc/systemd/system/glean@.service"), "/dev/null").unwrap();
    archive.directory(path("etc"), 0o755).unwrap();
    archive.file(path("config.ign"), 0o600, "{}").unwrap();
    archive
}

/// Name, mode and content of each member.
fn read(bytes: &[u8]) -> Result<Vec<(String, u32, Vec<u8>)>, CpioError> {
    let mut reader = Reader::new(BufReader::new(bytes));
    let mut members = Vec::new();
    while let Some(entry) = reader.next_entry()? {
        let content = reader.content(1 << 20)?;
        members.push((String::from_utf8(entry.name).unwrap(), entry.mode, content));
    }
    Ok(members)
}

/// A member with the right checksum if it is one with a checksum.
fn member(magic: &str, name: &[u8], size: u32, content: &[u8]) -> Vec<u8> {
    let sum: u32 = if magic == "070702" { content.iter().map(|byte| u32::from(*byte)).sum() } else { 0xfeed };
    let mut bytes = format!(
        "{magic}{:08X}{:08X}{}{size:08X}{}{:08X}{sum:08x}",
        7,
        0o100_600,
        "00000000".repeat(4),
        "00000000".repeat(4),
        name.len()
    )
    .into_bytes();
    for part in [name, content] {
        bytes.extend_from_slice(part);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    bytes
}

#[test]
fn an_archive_is_the_same_whatever_the_order_of_its_members() {
    let mut other = Archive::new();
    other.file(path("config.ign"), 0o600, "{}").unwrap();
    other.directory(path("etc"), 0o755).unwrap();
    other.symlink(path("etc/systemd/system/glean@.service"), "/dev/null").unwrap();
    other.file(path("etc/coreos-firstboot-network/eth0.nmconnection"), 0o600, "[connection]\nid=eth0\n").unwrap();
    assert_eq!(other.to_bytes(), sample().to_bytes());
}

#[test]
fn a_file_can_be_somebody_elses() {
    let mut archive = Archive::new();
    archive.owned_file(path("srv"), 0o640, Owner { user: 1000, group: 0x64 }, "x").unwrap();
    assert_eq!(archive.to_bytes()[14..38], *b"000081a0000003e800000064");
}

#[test]
fn the_bytes_are_those_of_the_format() {
    let mut archive = Archive::new();
    archive.file(path("a"), 0o640, "hello").unwrap();
    let zero = "00000000";
    let expected = [
        format!("070701{:08x}{:08x}{zero}{zero}{:08x}{zero}{:08x}", 1, 0o100_640, 1, 5),
        format!("{zero}{zero}{zero}{zero}{:08x}{zero}a\0hello\0\0\0", 2),
        format!("070701{zero}{zero}{zero}{zero}{:08x}{zero}{zero}", 1),
        format!("{zero}{zero}{zero}{zero}{:08x}{zero}TRAILER!!!\0\0\0\0", 11),
    ]
    .concat();
    assert_eq!(String::from_utf8(archive.to_bytes()).unwrap(), expected);
}

#[test]
fn the_cpio_crate_reads_what_we_write() {
    let mut members = Vec::new();
    let mut rest = Cursor::new(sample().to_bytes());
    let mut inodes = Vec::new();
    loop {
        let mut reader = ::cpio::NewcReader::new(rest).unwrap();
        if reader.entry().is_trailer() {
            break;
        }
        let mut content = Vec::new();
        reader.read_to_end(&mut content).unwrap();
        let entry = reader.entry();
        assert_eq!((entry.uid(), entry.gid(), entry.mtime(), entry.nlink()), (0, 0, 0, 1));
        inodes.push(entry.ino());
        members.push((entry.name().to_owned(), entry.mode(), content));
        rest = reader.finish().unwrap();
    }
    assert_eq!(inodes, [1, 2, 3, 4]);
    assert_eq!(members, read(&sample().to_bytes()).unwrap());
    assert_eq!(
        members.iter().map(|(name, mode, _)| (name.as_str(), *mode)).collect::<Vec<_>>(),
        [
            ("config.ign", 0o100_600),
            ("etc", 0o040_755),
            ("etc/coreos-firstboot-network/eth0.nmconnection", 0o100_600),
            ("etc/systemd/system/glean@.service", 0o120_777),
        ]
    );
}

#[test]
fn parents_are_added_on_demand_and_stand_before_their_children() {
    let mut archive = Archive::new();
    archive.file(path("etc/coreos-firstboot-network/b"), 0o600, "").unwrap();
    archive.file(path("etc-x"), 0o600, "").unwrap();
    archive.directory(path("etc"), 0o700).unwrap();
    archive.add_parents(0o755).unwrap();
    let members: Vec<_> = read(&archive.to_bytes()).unwrap().into_iter().map(|(name, mode, _)| (name, mode)).collect();
    let expected = [
        ("etc", 0o040_700),
        ("etc-x", 0o100_600),
        ("etc/coreos-firstboot-network", 0o040_755),
        ("etc/coreos-firstboot-network/b", 0o100_600),
    ];
    assert_eq!(members, expected.map(|(name, mode)| (name.to_owned(), mode)));
}

#[test]
fn contradictory_members_are_refused() {
    let mut archive = sample();
    assert_eq!(
        archive.file(path("etc"), 0o600, ""),
        Err(ArchiveError::ParentNotDirectory {
            path: path("etc/coreos-firstboot-network/eth0.nmconnection"),
            parent: path("etc"),
        })
    );
    assert_eq!(archive.directory(path("etc"), 0o755), Err(ArchiveError::Duplicate(path("etc"))));
    assert_eq!(archive.symlink(path("config.ign"), "x"), Err(ArchiveError::Duplicate(path("config.ign"))));
    assert_eq!(
        archive.file(path("config.ign/a/b"), 0o600, ""),
        Err(ArchiveError::ParentNotDirectory { path: path("config.ign/a/b"), parent: path("config.ign") })
    );
    assert!(matches!(archive.file(path("m"), 0o100_600, ""), Err(ArchiveError::Mode { mode: 0o100_600, .. })));
    for target in ["", "a\0b", "a\nb", &"a".repeat(4096)] {
        assert_eq!(archive.symlink(path("l"), target), Err(ArchiveError::LinkTarget(path("l"))));
    }
    assert_eq!(archive, sample());
}

#[test]
fn paths_that_leave_their_directory_or_end_the_archive_are_refused() {
    let component = "a".repeat(255);
    let longest = [component.as_str(); 16].join("/");
    for good in ["a", "etc/a b/ü", "..a/b..", &longest, "x/TRAILER!!!"] {
        assert_eq!(good.parse::<MemberPath>().unwrap().as_str(), good);
    }
    let too_long = format!("{longest}/a");
    for bad in
        ["", "/etc", "a//b", "a/", "./a", "a/../b", "..", "a\0", "a\nb", "TRAILER!!!", &too_long, &"a".repeat(256)]
    {
        assert!(bad.parse::<MemberPath>().is_err(), "{bad:?}");
    }
    let ancestors: Vec<_> = path("a/b/c").ancestors().map(String::from).collect();
    assert_eq!(ancestors, ["a", "a/b"]);
}

#[test]
fn a_debug_print_shows_no_content() {
    let shown = format!("{:?}", sample());
    assert!(shown.contains("config.ign") && !shown.contains("connection]"), "{shown}");
}

#[test]
fn oddities_that_the_kernel_accepts_are_accepted() {
    let padded = [b"dir/hello".as_slice(), &[0; 500]].concat();
    let huge_name = [vec![b'n'; 5000], vec![0]].concat();
    let bytes = [
        member("070702", b"sum\0", 3, b"abc"),
        member("070701", &padded, 2, b"xy"),
        member("070701", &huge_name, 2, b"no"),
        member("070701", b"last\0", 1, b"z"),
    ]
    .concat();
    let names = |bytes| read(bytes).unwrap().into_iter().map(|(name, _, content)| (name, content)).collect::<Vec<_>>();
    let expected = [("sum", "abc"), ("dir/hello", "xy"), ("last", "z")];
    assert_eq!(names(&bytes), expected.map(|(name, content)| (name.to_owned(), content.as_bytes().to_vec())));
    // Without the padding behind the last content, too.
    assert_eq!(names(&bytes[..bytes.len() - 3]), names(&bytes));
}

#[test]
fn only_files_and_links_have_content() {
    let with_mode = |mode: u32, name: &[u8], content: &[u8]| {
        let mut bytes = member("070701", name, u32::try_from(content.len()).unwrap(), content);
        bytes[14..22].copy_from_slice(format!("{mode:08x}").as_bytes());
        bytes
    };
    let bytes = [
        with_mode(0o040_755, b"etc\0", b""),
        with_mode(0o040_755, b"etc/skipped\0", b"abcd"),
        with_mode(0o020_600, b"dev/null\0", b"x"),
        with_mode(0o040_755, b"TRAILER!!!\0", b"x"),
        with_mode(0o120_777, b"TRAILER!!!\0", b"to"),
        with_mode(0o120_777, b"long\0", &[b'x'; 5000]),
        with_mode(0o100_600, b"etc/file\0", b"z"),
    ]
    .concat();
    let names: Vec<String> = read(&bytes).unwrap().into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["etc", "TRAILER!!!", "etc/file"]);
}

#[test]
fn wrong_checksums_are_told_where_the_kernel_verifies_them() {
    let with = |magic: &str, mode: u32, name: &[u8], content: &[u8]| {
        let mut bytes = member(magic, name, u32::try_from(content.len()).unwrap(), content);
        bytes[14..22].copy_from_slice(format!("{mode:08x}").as_bytes());
        bytes[102..110].copy_from_slice(b"0000abcd");
        bytes
    };
    let unverified = [
        member("070702", b"good\0", 3, b"abc"),
        with("070701", 0o100_600, b"newc\0", b"abc"),
        with("070702", 0o040_755, b"etc\0", b""),
        with("070702", 0o120_777, b"link\0", b"good"),
        with("070702", 0o100_600, &[vec![b'n'; 5000], vec![0]].concat(), b"no"),
    ]
    .concat();
    let end = with("070702", 0o100_600, b"TRAILER!!!\0", b"");
    assert_eq!(read(&[unverified.clone(), end].concat()).unwrap().len(), 4);
    let bad = unverified.len() as u64;
    let wrong = |error: &CpioError| matches!(error, CpioError::Checksum(offset) if *offset == bad);
    for content in [&b"abc"[..], b""] {
        let bytes = [unverified.clone(), with("070702", 0o100_600, b"bad\0", content)].concat();
        assert!(wrong(&read(&bytes).unwrap_err()));
        // Without its content, too.
        let mut reader = Reader::new(bytes.as_slice());
        let error = (0..9).find_map(|_| reader.next_entry().err()).unwrap();
        assert!(wrong(&error) && error.to_string().contains("bad data checksum"), "{error}");
    }
    let cut = member("070702", b"a\0", 9, b"12345678");
    assert!(matches!(read(&cut), Err(CpioError::Truncated(_))));
    let mut reader = Reader::new(cut.as_slice());
    assert!(reader.next_entry().is_ok() && matches!(reader.next_entry(), Err(CpioError::Truncated(_))));
}

#[test]
fn names_come_to_one_path() {
    let entry = |name: &str| Entry { name: name.into(), mode: 0, size: 0, links: 1, inode: (0, 0, 0) };
    for name in ["a/b", "/a/b", "./a//b", "x/../a/b/", "../a/b", "a/./b"] {
        assert_eq!(entry(name).path(), b"a/b", "{name}");
    }
    for name in ["", ".", "/", "a/.."] {
        assert_eq!(entry(name).path(), b"", "{name}");
    }
}

#[test]
fn damage_is_told_with_its_place() {
    let good = member("070701", b"a\0", 1, b"z");
    let second = good.len() as u64;
    let after = |bytes: Vec<u8>| read(&[good.clone(), bytes].concat()).unwrap_err();
    assert!(matches!(after(member("070707", b"a\0", 0, b"")), CpioError::Magic(offset) if offset == second));
    assert!(matches!(after(vec![0; 512]), CpioError::Magic(offset) if offset == second));
    assert!(matches!(after(member("070701", b"abc", 0, b"")), CpioError::Name(offset) if offset == second));
    let mut number = member("070701", b"a\0", 0, b"");
    number[20] = b'+';
    assert!(matches!(after(number), CpioError::Number(offset) if offset == second));
    for cut in [1, 109, 111] {
        let part = member("070701", b"a\0", 0, b"")[..cut].to_vec();
        assert!(matches!(after(part), CpioError::Truncated(offset) if offset == second), "{cut}");
    }
    assert!(matches!(after(member("070701", b"a\0", 9, b"12345678")), CpioError::Truncated { .. }));
    // A claim of 4 GiB is refused before anything is allocated for it.
    assert!(matches!(after(member("070701", b"a\0", u32::MAX, b"")), CpioError::TooLarge { .. }));
}

#[test]
fn after_an_error_there_is_nothing_more() {
    let bytes = [member("070707", b"a\0", 0, b""), member("070701", b"a\0", 0, b"")].concat();
    let mut reader = Reader::new(bytes.as_slice());
    assert!(reader.next_entry().is_err());
    assert_eq!(reader.next_entry().unwrap(), None);
}

#[test]
fn the_reader_stops_behind_the_trailer() {
    let bytes = [sample().to_bytes(), b"rest".to_vec()].concat();
    let mut reader = Reader::new(bytes.as_slice());
    while reader.next_entry().unwrap().is_some() {}
    assert_eq!(reader.position(), bytes.len() as u64 - 4);
    assert_eq!(reader.into_inner(), b"rest");
}

fn read_to_the_end(bytes: &[u8]) {
    let mut reader = Reader::new(bytes);
    while let Ok(Some(entry)) = reader.next_entry() {
        entry.path();
        drop(reader.content(100));
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        files in prop::collection::btree_map("[a-zé]{1,9}(/[a-z0-9 ]{1,5}x){0,3}\\.f", (0_u32..0o10000, prop::collection::vec(any::<u8>(), 0..50)), 0..9),
    ) {
        let mut archive = Archive::new();
        for (name, (mode, content)) in &files {
            archive.file(path(name), *mode, content.clone()).unwrap();
        }
        let expected: Vec<_> = files.into_iter().map(|(name, (mode, content))| (name, mode | 0o100_000, content)).collect();
        prop_assert_eq!(archive.to_bytes().len() % 4, 0);
        prop_assert_eq!(archive.to_bytes().capacity(), archive.to_bytes().len());
        prop_assert_eq!(read(&archive.to_bytes()).unwrap(), expected);
    }

    #[test]
    fn arbitrary_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        read_to_the_end(&bytes);
    }

    #[test]
    fn mutated_archives_do_no_harm(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..9)) {
        let mut bytes = sample().to_bytes();
        for (index, value) in changes {
            let at = index.index(bytes.len());
            bytes[at] = value;
        }
        read_to_the_end(&bytes);
    }
}
