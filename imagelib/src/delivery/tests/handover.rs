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
            (files(profile, entries, RootFileSystem::AsMounted), files(profile, entries, RootFileSystem::MadeWritable));
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
    use RootFileSystem::{AsMounted, MadeWritable};
    for (line, expected) in [
        ("", AsMounted),
        ("quiet ro", AsMounted),
        ("root=/dev/vda2", MadeWritable),
        ("root=/dev/mapper/vg-root ro quiet", MadeWritable),
        ("rw root=UUID=7d2c ro", MadeWritable),
        ("root=PARTUUID=7d2c rw=x", MadeWritable),
        ("root=LABEL=root ro rw", AsMounted),
        ("root=live:CDLABEL=X ro", AsMounted),
        ("root=/dev/vda2 root=live:http://192.0.2.1/rootfs.img", AsMounted),
        ("root=/dev/ram0 boot=casper", AsMounted),
        ("root=/dev/nfs nfsroot=192.0.2.1:/srv/root ro", AsMounted),
    ] {
        assert_eq!(RootFileSystem::named_in(line.split(' ')), expected, "{line}");
    }
}
