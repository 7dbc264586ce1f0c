//! Root file systems that may be read-only when the files are copied there.

use super::*;

#[test]
fn the_root_file_system_of_a_disk_is_made_writable() {
    let path = DocumentPath::document("initrd");
    let files = |profile, entries: &[&str], root| {
        let tree = tree(entries);
        unpacked(&members_with_network(profile, &additions(), None, None, &tree, root, &path).unwrap().archive)
    };
    for (profile, entries) in
        [(DeliveryProfile::Dracut, DRACUT.as_slice()), (DeliveryProfile::InitramfsTools, &INITRAMFS_TOOLS)]
    {
        let (mut live, mut disk) =
            (files(profile, entries, RootFileSystem::Live), files(profile, entries, RootFileSystem::Disk));
        let script = live.remove("usr/lib/dayone/deliver").unwrap();
        assert!(!script.1.contains("remount"), "{profile}");
        assert_eq!(disk.remove("usr/lib/dayone/copy"), Some(script), "{profile}");
        let (mode, script) = disk.remove("usr/lib/dayone/deliver").unwrap();
        assert!(mode == "f 755" && script.contains("mount -o remount,rw none"), "{profile}: {script}");
        assert_eq!(disk, live, "{profile}");
    }
}

#[test]
fn kernel_arguments_tell_where_the_root_file_system_is() {
    use RootFileSystem::{Disk, Live};
    for (line, expected) in [
        ("", Live),
        ("quiet ro", Live),
        ("root=/dev/vda2", Disk),
        ("root=/dev/mapper/vg-root ro quiet", Disk),
        ("rw root=UUID=7d2c ro", Disk),
        ("root=PARTUUID=7d2c rw=x", Disk),
        ("root=LABEL=root ro rw", Live),
        ("root=live:CDLABEL=X ro", Live),
        ("root=/dev/vda2 root=live:http://192.0.2.1/rootfs.img", Live),
        ("root=/dev/ram0 boot=casper", Live),
    ] {
        assert_eq!(RootFileSystem::named_in(line.split(' ')), expected, "{line}");
    }
}
