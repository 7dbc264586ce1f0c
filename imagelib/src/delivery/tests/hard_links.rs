//! A file of the base with several names is replaced under one of them only.

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

#[test]
fn the_kernel_removes_a_hard_link_before_it_unpacks_a_file_in_its_place() {
    let mut base = Archive::new();
    for name in ["etc/hostname", "etc/mailname"] {
        base.file(path(name), 0o644, "localhost\n").unwrap();
    }
    base.file(path("usr/sbin/NetworkManager"), 0o755, "").unwrap();
    base.add_parents(0o755).unwrap();
    let apart = base.to_bytes();
    let mut linked = apart.clone();
    for name in [b"etc/hostname\0", b"etc/mailname\0"] {
        let header = apart.windows(name.len()).position(|window| window == name).unwrap() - 110;
        linked[header + 6..header + 14].copy_from_slice(b"00000007");
        linked[header + 38..header + 46].copy_from_slice(b"00000002");
    }
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
