//! Live ISOs of the layouts that distributions publish, customised by the binary: everybody who reads ISOs sees the
//! changes that were asked for, and nothing else has changed.

#[allow(dead_code)]
use crate::iso_edit::layouts;
use crate::iso_edit::readers;
#[allow(dead_code)]
use crate::iso_edit::structures;

mod checksum_lists;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use acceptance::bases::fixtures;
use acceptance::fat::{clean, content_of};
use acceptance::peers::{run, run_text};
use acceptance::server::{Server, dayone};
use imagelib::compression::Compression;
use imagelib::cpio::Archive;
use layouts::{LAYOUTS, Layout, Random};
use readers::{READERS, Tree};
use serde_json::Value;
use tempfile::TempDir;

/// The arguments of every entry that is to be changed; of the others, `boot=rescue`.
const ARGUMENTS: &str = "boot=live components";
const APPENDED: &str = "net.ifnames=0";
const INITRD: &str = "/live/initrd.img";
/// Another name of the same file, which GRUB's menu has, as on the ISOs that live-build makes.
const SAME_INITRD: &str = "/live/initrd.img-6.1";

/// A live medium of a layout, before and after.
struct Customised {
    layout: &'static Layout,
    base: PathBuf,
    image: PathBuf,
    directory: TempDir,
}

fn layout(name: &str) -> &'static Layout {
    LAYOUTS.iter().find(|layout| layout.name == name).unwrap()
}

/// An initramfs as initramfs-tools makes it for live-boot, cut short.
fn initramfs() -> Vec<u8> {
    let mut archive = Archive::new();
    for path in ["init", "conf/initramfs.conf", "scripts/live", "scripts/init-bottom/ORDER", "bin/cp"] {
        archive.file(path.parse().unwrap(), 0o755, path).unwrap();
    }
    archive.add_parents(0o755).unwrap();
    Compression::Gzip.compress(&archive.to_bytes()).unwrap()
}

fn grub(extra: &str, initrd: &str) -> String {
    let entry = |title: &str, arguments: &str, initrd: &str| {
        format!("menuentry '{title}' {{\n  linux /live/vmlinuz {arguments}\n  initrd {initrd}\n}}\n")
    };
    let live = entry("Live", ARGUMENTS, initrd);
    format!("set default=0\n{extra}{live}{}", entry("Rescue", "boot=rescue", "/live/rescue.img"))
}

const ISOLINUX: &str = "default live
label live
  menu label ^Live
  linux /live/vmlinuz
  initrd /live/initrd.img
  append boot=live components
label rescue
  menu label Rescue
  linux /live/vmlinuz
  append initrd=/live/rescue.img boot=rescue
";

/// Everything that live media have: menus of three loaders, a root file system, lists of checksums.
fn grow(tree: &Path) {
    let esp = tree.with_extension("esp");
    for directory in ["live", "isolinux", "boot/grub", "EFI/BOOT"] {
        fs::create_dir_all(tree.join(directory)).unwrap();
    }
    for directory in ["EFI/BOOT", "loader/entries"] {
        fs::create_dir_all(esp.join(directory)).unwrap();
    }
    let mut random = Random(7);
    for (name, content) in [
        ("live/vmlinuz", random.bytes(60_001)),
        ("live/initrd.img", initramfs()),
        ("live/rescue.img", initramfs()),
        ("live/filesystem.squashfs", random.bytes(100_003)),
        ("isolinux/isolinux.cfg", ISOLINUX.into()),
        ("boot/grub/grub.cfg", grub("", SAME_INITRD).into()),
    ] {
        fs::write(tree.join(name), content).unwrap();
    }
    fs::hard_link(tree.join("live/initrd.img"), tree.join(&SAME_INITRD[1..])).unwrap();
    fs::hard_link(tree.join("boot/grub/grub.cfg"), tree.join("EFI/BOOT/grub.cfg")).unwrap();
    fs::write(esp.join("EFI/BOOT/grub.cfg"), grub("search --file --set=root /live/vmlinuz\n", INITRD)).unwrap();
    let entry = format!("title Live\nlinux /live/vmlinuz\ninitrd {INITRD}\noptions {ARGUMENTS}\n");
    fs::write(esp.join("loader/entries/live.conf"), entry).unwrap();
    let sums = "find live boot -type f | LC_ALL=C sort | xargs";
    let md5 = run(Command::new("sh").args(["-c", &format!("{sums} md5sum")]).current_dir(tree));
    fs::write(tree.join("md5sum.txt"), String::from_utf8(md5).unwrap().replace("  ", "  ./")).unwrap();
    let sha256 = run_text(Command::new("sh").args(["-c", &format!("{sums} sha256sum")]).current_dir(tree));
    let lines = sha256.lines().map(|line| line.split_once("  ").unwrap());
    let lines: String = lines.map(|(digest, path)| format!("{path} = sha256:{digest}\n")).collect();
    fs::write(tree.join(".treeinfo"), format!("[general]\nname = Live\n\n[checksums]\n{lines}")).unwrap();
}

fn host() -> PathBuf {
    fixtures("nmstate/bond-vlan/nmstate.yaml")
}

fn build(base: &Path, image: &Path, extra: &[&str]) -> Output {
    let mut command = dayone();
    command.arg("build").arg("--host").arg(host()).arg("--base").arg(base).arg("-o").arg(image).args(extra);
    command.output().unwrap()
}

impl Customised {
    fn base(name: &str) -> (&'static Layout, TempDir, PathBuf) {
        let layout = layout(name);
        let directory = TempDir::new().unwrap();
        let tree = directory.path().join("tree");
        grow(&tree);
        let base = directory.path().join("base.iso");
        fs::copy(layout.make_of(&tree).path(), &base).unwrap();
        (layout, directory, base)
    }

    fn of(name: &str, prepare: impl FnOnce(&Path), extra: &[&str]) -> Self {
        let (layout, directory, base) = Self::base(name);
        prepare(&base);
        let image = directory.path().join("image.iso");
        let built = build(&base, &image, &[&["--karg-append", APPENDED], extra].concat());
        assert!(built.status.success(), "{name}: {}", String::from_utf8_lossy(&built.stderr));
        Self { layout, base, image, directory }
    }

    fn trees(&self, reader: &readers::Reader) -> [Tree; 2] {
        [&self.base, &self.image].map(|iso| (reader.read)(iso, self.directory.path()))
    }

    /// The file system of the EFI system partition, of the base and of the image.
    fn esps(&self) -> Option<[PathBuf; 2]> {
        let esp = |iso: &PathBuf| {
            let tree = (READERS[0].read)(iso, self.directory.path());
            let bytes = tree.get("/boot/grub/efi.img").cloned().or_else(|| partition(iso))?;
            let path = iso.with_extension("esp.img");
            fs::write(&path, bytes).unwrap();
            Some(path)
        };
        Some([esp(&self.base)?, esp(&self.image)?])
    }
}

/// The EFI system partition, where the partition table names one, as sfdisk sees it.
fn partition(iso: &Path) -> Option<Vec<u8>> {
    let output = Command::new("sfdisk").arg("-J").arg(iso).output().unwrap();
    let table: Value = serde_json::from_slice(&output.stdout).ok()?;
    let partitions = table["partitiontable"]["partitions"].as_array()?.iter();
    let mut esps = partitions
        .filter(|partition| partition["type"] == "ef" || partition["type"] == "C12A7328-F81F-11D2-BA4B-00A0C93EC93B");
    let esp = esps.next()?;
    let at = |key: &str| usize::try_from(esp[key].as_u64().unwrap()).unwrap() * 512;
    let image = fs::read(iso).unwrap();
    Some(image[at("start")..at("start") + at("size")].to_vec())
}

/// Paths and contents that differ.
fn differences(before: &Tree, after: &Tree) -> BTreeSet<String> {
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    before.iter().filter(|(path, content)| after[*path] != **content).map(|(path, _)| path.clone()).collect()
}

fn text(tree: &Tree, path: &str) -> String {
    String::from_utf8(tree[path].clone()).unwrap()
}

/// What the configuration should say once the live entry has been changed.
fn with_argument(configuration: &str) -> String {
    configuration.replace(ARGUMENTS, &format!("{ARGUMENTS} {APPENDED}"))
}

fn everybody_sees_the_changes(name: &str) {
    let customised = Customised::of(name, |_| {}, &["--boot-entry", "Live"]);
    structures::compare(customised.layout, &customised.base, &customised.image);

    let [before, after] = customised.trees(&READERS[0]);
    let mut changed = vec![INITRD, SAME_INITRD, "/isolinux/isolinux.cfg", "/boot/grub/grub.cfg", "/EFI/BOOT/grub.cfg"];
    changed.extend(["/md5sum.txt", "/.treeinfo"]);
    if before.contains_key("/boot/grub/efi.img") {
        changed.push("/boot/grub/efi.img");
    }
    let changed: BTreeSet<String> = changed.into_iter().map(str::to_owned).collect();
    assert_eq!(differences(&before, &after), changed, "{name}");
    assert!(after[INITRD].starts_with(&before[INITRD]) && after[SAME_INITRD] == after[INITRD], "{name}");
    assert_eq!(text(&after, "/isolinux/isolinux.cfg"), with_argument(ISOLINUX), "{name}");
    for menu in ["/boot/grub/grub.cfg", "/EFI/BOOT/grub.cfg"] {
        assert_eq!(text(&after, menu), with_argument(&grub("", SAME_INITRD)), "{name}: {menu}");
    }

    // The others, with the names that they see: the same contents have become the same others.
    let pairs: BTreeSet<(&Vec<u8>, &Vec<u8>)> = changed.iter().map(|path| (&before[path], &after[path])).collect();
    for reader in READERS.iter().filter(|reader| customised.layout.has(reader)) {
        let [old, new] = customised.trees(reader);
        let differing = differences(&old, &new);
        let seen: BTreeSet<_> = differing.iter().map(|path| (&old[path], &new[path])).collect();
        assert!(seen == pairs, "{name}: {} sees others: {differing:?}", reader.name);
    }
    checksums_hold(&customised);
    let esps = customised.esps();
    assert_eq!(esps.is_some(), !matches!(name, "xorriso" | "genisoimage"), "{name}");
    if let Some([old, new]) = esps {
        clean(&new);
        for path in ["EFI/BOOT/grub.cfg", "loader/entries/live.conf", "grub.cfg"] {
            let [old, new] = [&old, &new].map(|esp| String::from_utf8(content_of(esp, path)).unwrap());
            assert_eq!(new, with_argument(&old), "{name}: {path}");
        }
    }
    the_changes_are_listed(&customised, &changed);
}

/// The lists of checksums on the medium hold, checked by those who check them.
fn checksums_hold(customised: &Customised) {
    let to = customised.directory.path().join("extracted");
    run(Command::new("xorriso")
        .args(["-osirrox", "on:auto_chmod_on", "-indev"])
        .arg(&customised.image)
        .args(["-extract", "/"])
        .arg(&to));
    let checked = run_text(Command::new("md5sum").args(["-c", "--strict", "md5sum.txt"]).current_dir(&to));
    for path in [INITRD, SAME_INITRD, "/boot/grub/grub.cfg"] {
        assert!(checked.contains(&format!(".{path}: OK")), "{path}: {checked}");
    }
    let treeinfo = fs::read_to_string(to.join(".treeinfo")).unwrap();
    let sums = treeinfo.lines().filter_map(|line| line.split_once(" = sha256:"));
    let sums: String = sums.map(|(path, digest)| format!("{digest}  {path}\n")).collect();
    fs::write(to.join("treeinfo.sums"), sums).unwrap();
    let checked = run_text(Command::new("sha256sum").args(["-c", "--strict", "treeinfo.sums"]).current_dir(&to));
    assert!(checked.contains("live/initrd.img: OK"), "{checked}");
    run(Command::new("chmod").args(["-R", "u+rwX"]).arg(&to));
}

/// The library gives the same bytes, and names every file that has changed.
fn the_changes_are_listed(customised: &Customised, changed: &BTreeSet<String>) {
    let server = Server::start("live", &customised.base);
    let client = reqwest::blocking::Client::new();
    let url =
        format!("{}/v1/images?base=live&format=iso&karg_append={}&boot_entry=Live", server.api, "net.ifnames%3D0");
    let order = client.post(url).header("content-type", "application/yaml").body(fs::read(host()).unwrap());
    let image: Value = order.send().unwrap().json().unwrap();
    let url = image["files"]["boot.iso"]["url"].as_str().unwrap_or_else(|| panic!("{image}"));
    let served = client.get(url).send().unwrap().bytes().unwrap();
    assert!(served == fs::read(&customised.image).unwrap(), "{}", customised.layout.name);

    let url = format!("{}/v1/images/{}/changes", server.api, image["id"].as_str().unwrap());
    let changes: Value = client.get(url).send().unwrap().json().unwrap();
    let listed = changes.to_string();
    // Of several names of one file, one.
    let names = [[INITRD, SAME_INITRD], ["/boot/grub/grub.cfg", "/EFI/BOOT/grub.cfg"]];
    let is_listed = |path: &str| listed.contains(&format!("\"{path}\""));
    for names in names {
        assert_eq!(names.iter().filter(|name| is_listed(name)).count(), 1, "{names:?}: {listed}");
    }
    for path in changed.iter().filter(|path| !names.as_flattened().contains(&path.as_str())) {
        assert!(listed.contains(&format!("{path}\"")), "{path}: {listed}");
    }
    assert!(!listed.contains("/live/vmlinuz\"") && !listed.contains("rescue"), "{listed}");
}

macro_rules! layout_tests {
    ($($test:ident: $name:literal,)*) => {
        $(#[test] fn $test() { everybody_sees_the_changes($name); })*
    };
}

layout_tests! {
    as_debian_makes_it: "debian",
    as_fedora_makes_it: "lorax",
    as_isohybrid_makes_it: "isohybrid",
    with_an_appended_partition: "appended",
    as_ironic_makes_it: "uefi",
    with_xorriso_and_no_boot_loader: "xorriso",
    with_genisoimage_and_no_boot_loader: "genisoimage",
}

#[test]
fn an_image_is_no_base() {
    let customised = Customised::of("debian", |_| {}, &[]);
    let inspect = |iso: &Path| -> Value {
        serde_json::from_slice(&run(dayone().arg("inspect").arg(iso).args(["--format", "json"]))).unwrap()
    };
    let found = inspect(&customised.base);
    assert_eq!((&found["kind"], &found["customised"]), (&"live-iso".into(), &false.into()), "{found}");
    let found = inspect(&customised.image);
    assert_eq!((&found["kind"], &found["customised"]), (&"live-iso".into(), &true.into()), "{found}");
    assert_eq!(found["formats"], Value::Array(vec![]), "{found}");

    let again = customised.directory.path().join("again.iso");
    for force in [[].as_slice(), &["--force"]] {
        let refused = build(&customised.image, &again, force);
        let errors = String::from_utf8(refused.stderr).unwrap();
        assert!(refused.status.code() == Some(1) && !again.exists(), "{errors}");
        assert!(errors.contains("dayone has already changed this image") && !errors.contains("--force"), "{errors}");
    }
    let server = Server::start("image", &customised.image);
    let base: Value = reqwest::blocking::get(format!("{}/v1/bases/image", server.api)).unwrap().json().unwrap();
    assert_eq!((&base["customised"], &base["formats"]), (&true.into(), &Value::Array(vec![])), "{base}");
    assert!(base["not_customisable"].as_str().unwrap().contains("as it was published"), "{base}");
}

/// What firmware loads from the EFI system partition is not the file of the same path on the ISO file system.
#[test]
fn an_initramfs_on_the_efi_system_partition_is_not_mistaken() {
    let directory = TempDir::new().unwrap();
    let tree = directory.path().join("tree");
    grow(&tree);
    let beside = tree.with_extension("esp").join("live");
    fs::create_dir(&beside).unwrap();
    fs::copy(tree.join("live/initrd.img"), beside.join("INITRD.IMG")).unwrap();
    let base = layout("debian").make_of(&tree);
    let found: Value =
        serde_json::from_slice(&run(dayone().arg("inspect").arg(base.path()).args(["--format", "json"]))).unwrap();
    let entries = found["boot_entries"].as_array().unwrap();
    // On the ISO file system and in the EFI system partition there may be one of the same path.
    let initrds = |configuration: &str| -> Vec<&Value> {
        let live = entries.iter().filter(|entry| entry["configuration"] == configuration && entry["title"] == "Live");
        live.map(|entry| &entry["initrd"]).collect()
    };
    // Of two names, the one that a menu gives it first.
    assert_eq!(initrds("/boot/grub/grub.cfg"), [SAME_INITRD]);
    assert_eq!(initrds("/isolinux/isolinux.cfg"), [SAME_INITRD]);
    let beside = found["initrds"].as_array().unwrap().iter().find(|initrd| initrd["in_esp"] == true).expect("one");
    assert_eq!(initrds("/EFI/BOOT/grub.cfg"), [&SAME_INITRD.into(), &beside["path"]]);
    assert_eq!(initrds("/loader/entries/live.conf"), [&beside["path"]]);
    assert!(beside["path"].as_str().unwrap().eq_ignore_ascii_case(INITRD), "{beside}");
}

#[test]
fn nobody_is_told_that_the_medium_is_damaged() {
    for name in ["lorax", "debian"] {
        let implant = |iso: &Path| {
            run(Command::new("implantisomd5").arg("--force").arg(iso));
        };
        let customised = Customised::of(name, implant, &[]);
        let check = |iso: &Path| {
            let output = Command::new("checkisomd5").arg("--verbose").arg(iso).output().unwrap();
            (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
        };
        let (passed, says) = check(&customised.base);
        assert!(passed && says.contains("PASS"), "{name}: {says}");
        let (passed, says) = check(&customised.image);
        assert!(!passed && !says.contains("FAIL") && says.to_lowercase().contains("no checksum"), "{name}: {says}");
    }
}
