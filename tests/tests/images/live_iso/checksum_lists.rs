//! Lists of checksums whose lines are not in the spelling of the medium.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use acceptance::peers::{run, run_text};
use tempfile::TempDir;

use super::readers::{READERS, Tree};
use super::{APPENDED, Customised, INITRD, build, checksums_hold, grow, grub, initramfs, layout, text};

/// As `find -follow` makes lists for the Debian installer.
#[test]
fn a_list_may_have_a_file_under_symbolic_links_too() {
    let directory = TempDir::new().unwrap();
    let tree = directory.path().join("tree");
    grow(&tree);
    symlink("initrd.img", tree.join("live/initrd")).unwrap();
    symlink("live", tree.join("casper")).unwrap();
    let list = "find -L live casper boot -type f | LC_ALL=C sort | xargs md5sum | sed 's,  ,  ./,'";
    let sums = run(Command::new("sh").args(["-c", list]).current_dir(&tree));
    fs::write(tree.join("md5sum.txt"), sums).unwrap();
    let layout = layout("debian");
    let [base, image] = ["base.iso", "image.iso"].map(|name| directory.path().join(name));
    fs::copy(layout.make_of(&tree).path(), &base).unwrap();
    let built = build(&base, &image, &[]);
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let customised = Customised { layout, base, image, directory };
    checksums_hold(&customised);
    let [before, after] = customised.trees(&READERS[0]);
    let listed = |tree: &Tree| text(tree, "/md5sum.txt").lines().filter(|line| line.contains("initrd")).count();
    assert_eq!((listed(&before), listed(&after)), (6, 6));
}

/// Linux shows names without Rock Ridge and Joliet in lower case, and lists of checksums have them so.
#[test]
fn a_list_may_have_names_in_lower_case_that_the_medium_has_in_upper_case() {
    let directory = TempDir::new().unwrap();
    let tree = directory.path().join("tree");
    for (name, content) in [
        ("live/vmlinuz", b"kernel".to_vec()),
        ("live/initrd.img", initramfs()),
        ("live/rescue.img", initramfs()),
        ("boot/grub/grub.cfg", grub("", INITRD).into()),
    ] {
        fs::create_dir_all(tree.join(name).parent().unwrap()).unwrap();
        fs::write(tree.join(name), content).unwrap();
    }
    let list = "find live boot -type f | LC_ALL=C sort | xargs md5sum | sed 's,  ,  ./,' > md5sum.txt";
    run(Command::new("sh").args(["-c", list]).current_dir(&tree));
    let base = layout("genisoimage-plain").make_of(&tree);
    let image = directory.path().join("image.iso");
    let built = build(base.path(), &image, &["--karg-append", APPENDED, "--boot-entry", "Live"]);
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));

    let read = |path: &str| run(Command::new("isoinfo").arg("-i").arg(&image).args(["-x", path]));
    let list = String::from_utf8(read("/MD5SUM.TXT;1")).unwrap();
    assert_eq!(list.lines().count(), 4, "{list}");
    for (name, path) in [
        ("live/initrd.img", "/LIVE/INITRD.IMG;1"),
        ("live/rescue.img", "/LIVE/RESCUE.IMG;1"),
        ("boot/grub/grub.cfg", "/BOOT/GRUB/GRUB.CFG;1"),
    ] {
        let file = directory.path().join("file");
        fs::write(&file, read(path)).unwrap();
        let sum = run_text(Command::new("md5sum").arg(&file));
        let sum = sum.split_whitespace().next().unwrap();
        assert!(list.contains(&format!("{sum}  ./{name}\n")), "{name}: {list}");
    }
}
