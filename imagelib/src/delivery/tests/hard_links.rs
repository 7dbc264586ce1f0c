//! A file of the base with several names is read under all of them, and replaced under one of them only.

use super::*;

/// The kinds of the members of an archive that have this name, in their order.
fn kinds(archive: &Archive, name: &str) -> Vec<FileKind> {
    let mut kinds = Vec::new();
    walk(&archive.to_bytes(), |visit, _| {
        if visit.entry.name == name.as_bytes() {
            kinds.push(visit.entry.kind());
        }
        Ok(())
    })
    .unwrap();
    kinds
}

/// An archive in which these two files have become names of one file.
fn linked(apart: &[u8], names: [&str; 2]) -> Vec<u8> {
    let mut linked = apart.to_vec();
    for name in names.map(|name| format!("{name}\0")) {
        let header = apart.windows(name.len()).position(|window| window == name.as_bytes()).unwrap() - 110;
        linked[header + 6..header + 14].copy_from_slice(b"00000007");
        linked[header + 38..header + 46].copy_from_slice(b"00000002");
    }
    linked
}

#[test]
fn the_kernel_removes_a_hard_link_before_it_unpacks_a_file_in_its_place() {
    let mut base = Archive::new();
    for name in ["etc/hostname", "etc/mailname"] {
        base.file(path(name), 0o644, "localhost\n").unwrap();
    }
    base.file(path("usr/sbin/NetworkManager"), 0o755, "").unwrap();
    base.add_parents(0o755).unwrap();
    let apart = base.to_bytes();
    let linked = linked(&apart, ["etc/hostname", "etc/mailname"]);
    let archive = |base: &[u8]| {
        let tree = surveyed(base).tree;
        members(DeliveryProfile::RootInInitramfs, &additions(), None, &tree).unwrap().archive
    };
    let (over_apart, over_linked) = (archive(&apart), archive(&linked));
    assert_eq!(kinds(&over_apart, "etc/hostname"), [FileKind::File]);
    assert_eq!(kinds(&over_linked, "etc/hostname"), [FileKind::Symlink, FileKind::File]);
    assert_eq!(kinds(&over_linked, "srv/it's here"), [FileKind::File]);
    assert_eq!(unpacked(&over_linked), unpacked(&over_apart));
    assert_eq!(over_linked.to_bytes().capacity(), over_linked.to_bytes().len());
}

#[test]
fn a_unit_is_read_although_its_content_comes_with_a_name_elsewhere() {
    let names = ["etc/systemd/network/05-x.network", "usr/share/x.network"];
    let mut base = Archive::new();
    base.file(path(names[0]), 0o644, "").unwrap();
    base.file(path(names[1]), 0o644, "[Match]\nName=eth0\n").unwrap();
    base.add_parents(0o755).unwrap();
    let tree = surveyed(&linked(&base.to_bytes(), names)).tree;
    let report = members(DeliveryProfile::Networkd, &with_units(), None, &tree).unwrap().report;
    let messages: Vec<&str> = report.findings().iter().map(|finding| finding.message.as_str()).collect();
    assert!(matches!(messages.as_slice(), [message] if message.ends_with("05-x.network (Name=eth0)")), "{messages:?}");
}
