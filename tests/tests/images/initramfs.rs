//! What dayone writes and appends, read by coreos-installer, GNU cpio, libarchive and the kernel itself.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use acceptance::peers::{peer, run, run_text};
use acceptance::qemu::boot_initramfs;
use acceptance::server::dayone;
use imagelib::compression::Compression;
use imagelib::cpio::{Archive, MemberPath};
use imagelib::delivery::{DeliveryProfile, members};
use imagelib::ignition::Additions;
use imagelib::initramfs::{appendix, read_embed_area, survey};
use serde_json::json;

const KEYFILE: &str = "[connection]\nid=eth0\ntype=ethernet\n";
const KEYFILE_PATH: &str = "etc/coreos-firstboot-network/eth0.nmconnection";
const CONFIG: &str = r#"{"ignition":{"version":"3.2.0"}}"#;
const COMPRESSIONS: [Compression; 3] = [Compression::Gzip, Compression::Xz, Compression::Zstd];

fn path(text: &str) -> MemberPath {
    text.parse().unwrap()
}

/// The content of an embed area.
fn customisation() -> Archive {
    let mut archive = Archive::new();
    archive.file(path("config.ign"), 0o600, CONFIG).unwrap();
    archive.file(path(KEYFILE_PATH), 0o600, KEYFILE).unwrap();
    archive.add_parents(0o755).unwrap();
    archive
}

#[test]
fn coreos_installer_reads_our_archives() {
    let directory = tempfile::tempdir().unwrap();
    let raw = customisation().to_bytes();
    let mut images = vec![raw.clone(), [raw.clone(), vec![0; 4096]].concat()];
    images.extend(COMPRESSIONS.map(|compression| compression.compress(&raw).unwrap()));
    let gzip = &images[2];
    images.push([gzip.clone(), appendix(gzip.len() as u64, &customisation())].concat());
    for (number, image) in images.iter().enumerate() {
        let file = directory.path().join(format!("{number}.img"));
        fs::write(&file, image).unwrap();
        let shown = run_text(peer("coreos-installer").args(["dev", "show", "initrd"]).arg(&file));
        assert_eq!(shown, format!("config.ign\n{KEYFILE_PATH}\n"), "{number}");
        let network = directory.path().join(number.to_string());
        fs::create_dir(&network).unwrap();
        run(peer("coreos-installer").args(["pxe", "network", "unwrap", "-C"]).arg(&network).arg(&file));
        assert_eq!(fs::read_to_string(network.join("eth0.nmconnection")).unwrap(), KEYFILE, "{number}");
        let ignition = run_text(peer("coreos-installer").args(["pxe", "ignition", "unwrap"]).arg(&file));
        assert_eq!(ignition, CONFIG, "{number}");
    }
}

#[test]
fn we_read_what_coreos_installer_writes() {
    let directory = tempfile::tempdir().unwrap();
    let keyfile = directory.path().join("eth0.nmconnection");
    fs::write(&keyfile, KEYFILE).unwrap();
    let image = run(peer("coreos-installer").args(["pxe", "network", "wrap", "-k"]).arg(&keyfile));
    let files = read_embed_area(&image, 1 << 20).unwrap();
    assert_eq!(files.into_iter().collect::<Vec<_>>(), [(KEYFILE_PATH.to_owned(), KEYFILE.as_bytes().to_vec())]);
}

/// What is appended to an initramfs removes nothing from it: the keyfiles of both hosts would be active.
#[test]
fn an_initramfs_with_keyfiles_is_no_base_and_an_ignition_config_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let mut archive = Archive::new();
    for (name, content) in [
        ("etc/coreos-live-initramfs", ""),
        ("etc/coreos/features.json", r#"{"live-initrd-network":true}"#),
        ("init", "#!/bin/sh\n"),
        ("usr/sbin/NetworkManager", "elf"),
    ] {
        archive.file(path(name), 0o755, content).unwrap();
    }
    archive.add_parents(0o755).unwrap();
    fs::write(at("base"), archive.to_bytes()).unwrap();
    let build = |base: &str, nic: &str, output: &str, more: &[&str]| {
        let document =
            format!("interfaces: [{{name: {nic}, type: ethernet, state: up, ipv4: {{enabled: true, dhcp: true}}}}]\n");
        fs::write(at("host.yaml"), document).unwrap();
        let mut build = dayone();
        build.arg("build").arg(at("host.yaml")).args(["--format", "initrd", "--base"]).arg(at(base));
        build.arg("-o").arg(at(output)).args(more).output().unwrap()
    };
    assert!(build("base", "eno7", "by-dayone", &[]).status.success());
    fs::write(at("eno7.nmconnection"), KEYFILE).unwrap();
    fs::write(at("live.ign"), CONFIG).unwrap();
    for (option, file, output) in
        [("--network-keyfile", "eno7.nmconnection", "by-others"), ("--live-ignition", "live.ign", "config-alone")]
    {
        let mut customize = peer("coreos-installer");
        run(customize.args(["pxe", "customize", option]).arg(at(file)).arg("-o").args([at(output), at("base")]));
    }
    for base in ["by-dayone", "by-others"] {
        for force in [[].as_slice(), &["--force"]] {
            let refused = build(base, "eno1", "refused", force);
            let errors = String::from_utf8(refused.stderr).unwrap();
            assert!(refused.status.code() == Some(1) && !at("refused").exists(), "{base}: {errors}");
            assert!(errors.contains("the configuration of a host") && !errors.contains("--force"), "{base}: {errors}");
        }
    }
    let refused = build("config-alone", "eno1", "refused", &[]);
    assert!(!refused.status.success() && String::from_utf8(refused.stderr).unwrap().contains("--force"));
    assert!(build("config-alone", "eno1", "replaced", &["--force"]).status.success());
    fs::create_dir(at("network")).unwrap();
    run(peer("coreos-installer").args(["pxe", "network", "unwrap", "-C"]).args([at("network"), at("replaced")]));
    let keyfiles = fs::read_dir(at("network")).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(keyfiles.collect::<Vec<_>>(), ["eno1.nmconnection"]);
    let ignition = run_text(peer("coreos-installer").args(["pxe", "ignition", "unwrap"]).arg(at("replaced")));
    assert!(ignition != CONFIG && ignition.contains("eno1.nmconnection"), "{ignition}");
}

#[test]
fn other_archivers_read_our_archives() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("archive.cpio");
    let mut archive = customisation();
    archive.symlink(path("etc/glean@.service"), "/dev/null").unwrap();
    fs::write(&file, archive.to_bytes()).unwrap();
    let lines = [
        "-rw------- root root 32 config.ign",
        "drwxr-xr-x root root 0 etc",
        "drwxr-xr-x root root 0 etc/coreos-firstboot-network",
        "-rw------- root root 35 etc/coreos-firstboot-network/eth0.nmconnection",
        "lrwxrwxrwx root root 9 etc/glean@.service -> /dev/null",
    ];
    // Kind and mode, links, owner, group, size, three words of time, name.
    let listed = |text: &str| -> Vec<String> {
        let columns = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        text.lines().map(columns).map(|c| format!("{} {} {} {} {}", c[0], c[2], c[3], c[4], c[8..].join(" "))).collect()
    };
    let cpio = Command::new("cpio").args(["-itv", "--quiet"]).stdin(fs::File::open(&file).unwrap()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&cpio.stderr), "");
    assert_eq!(listed(&String::from_utf8_lossy(&cpio.stdout)), lines);
    let bsdtar = run_text(Command::new("bsdtar").args(["-tvf"]).arg(&file));
    assert_eq!(listed(&bsdtar), lines.map(|line| line.replace("root root", "0 0")));
}

/// Prints owner, mode and content of everything that was appended, with marks that the kernel's own messages lack.
const INIT: &str = r#"#!/bin/busybox sh
cd /
for file in etc/NetworkManager/system-connections/*.nmconnection usr/lib/dracut/hooks/*; do
  [ -e "$file" ] || continue
  /bin/busybox stat -c 'FOUND %u:%g %a %n' "$file"
  /bin/busybox sed 's/^/LINE /' "$file"
done
echo "LIB $(/bin/busybox readlink lib)"
echo END
/bin/busybox poweroff -f
"#;

/// A base as IPA's are made (`cpio -H newc | gzip`), of a length that is no multiple of 4.
fn base(directory: &Path) -> Vec<u8> {
    let root = directory.join("root");
    for name in ["bin", "dev", "etc", "usr/lib"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    symlink("usr/lib", root.join("lib")).unwrap();
    fs::copy("/bin/busybox", root.join("bin/busybox")).unwrap();
    fs::write(root.join("init"), INIT).unwrap();
    fs::set_permissions(root.join("init"), fs::Permissions::from_mode(0o755)).unwrap();
    let archiver = "find . | LC_ALL=C sort | cpio -o -H newc --owner 0:0 --quiet";
    let archive = run(Command::new("sh").args(["-c", archiver]).current_dir(&root).stdin(Stdio::null()));
    // Zeros behind the trailer are allowed, and change the length of the stream.
    (0..)
        .map(|zeros| Compression::Gzip.compress(&[archive.clone(), vec![0; zeros * 4]].concat()).unwrap())
        .find(|stream| stream.len() % 4 == 1)
        .unwrap()
}

fn keyfile(name: &str) -> MemberPath {
    path(&format!("etc/NetworkManager/system-connections/{name}.nmconnection"))
}

/// Files with the directories that the base is known to lack.
fn addition(base: &[u8], files: &[MemberPath]) -> Archive {
    let tree = survey(&base, &[], 0).unwrap().tree;
    let mut archive = Archive::new();
    for file in files {
        let placement = tree.place(file).unwrap();
        for directory in placement.missing {
            archive.directory(directory, 0o755).unwrap();
        }
        archive.file(placement.path, 0o600, KEYFILE).unwrap();
    }
    archive
}

fn boot(directory: &Path, image: &[u8]) -> String {
    let file = directory.join("initramfs.img");
    fs::write(&file, image).unwrap();
    let console = boot_initramfs(&file);
    assert!(console.contains("\nEND\n"), "{console}");
    console
}

fn found(name: &str) -> String {
    let lines: String = KEYFILE.lines().map(|line| format!("LINE {line}\n")).collect();
    format!("FOUND 0:0 600 {name}\n{lines}")
}

#[test]
fn the_kernel_unpacks_what_is_appended() {
    let directory = tempfile::tempdir().unwrap();
    let base = base(directory.path());
    let first = addition(&base, &[keyfile("raw"), path("lib/dracut/hooks/hook.sh")]);
    let mut image = base.clone();
    image.extend(appendix(base.len() as u64, &first));
    for compression in COMPRESSIONS {
        let mut archive = Archive::new();
        archive.file(keyfile(&compression.to_string()), 0o600, KEYFILE).unwrap();
        image.extend(compression.compress(&archive.to_bytes()).unwrap());
    }
    let mut last = Archive::new();
    last.file(keyfile("last"), 0o600, KEYFILE).unwrap();
    image.extend(appendix(image.len() as u64, &last));

    let console = boot(directory.path(), &image);
    for name in ["raw", "gzip", "xz", "zstd", "last"] {
        assert!(console.contains(&found(keyfile(name).as_str())), "{name}: {console}");
    }
    assert!(console.contains(&found("usr/lib/dracut/hooks/hook.sh")), "{console}");
    assert!(console.lines().any(|line| line == "LIB usr/lib"), "the link must stay a link: {console}");
    assert!(!console.contains("Initramfs unpacking failed"), "{console}");
}

#[test]
fn the_kernel_reads_on_behind_lz4_where_zeros_mark_its_end() {
    let directory = tempfile::tempdir().unwrap();
    let gzip = base(directory.path());
    let base = Compression::Lz4.compress(&Compression::Gzip.decompress(&gzip, 64 << 20).unwrap()).unwrap();
    let plain = addition(&base, &[keyfile("raw")]);
    let mut behind_zeros = plain.clone();
    behind_zeros.put_behind_zeros();
    for (archive, is_read) in [(behind_zeros, true), (plain, false)] {
        let image = [base.clone(), appendix(base.len() as u64, &archive)].concat();
        let console = boot(directory.path(), &image);
        assert_eq!(console.contains(&found(keyfile("raw").as_str())), is_read, "{console}");
        assert_eq!(survey(&image, &[keyfile("raw")], 1 << 20).unwrap().files.len(), usize::from(is_read));
    }
}

#[test]
fn the_kernel_does_not_see_a_misaligned_archive_and_neither_do_we() {
    let directory = tempfile::tempdir().unwrap();
    let base = base(directory.path());
    let archive = addition(&base, &[keyfile("raw")]).to_bytes();
    let image = [base, archive].concat();
    let console = boot(directory.path(), &image);
    assert!(!console.contains("FOUND"), "{console}");
    let survey = survey(&image, &[keyfile("raw")], 1 << 20).unwrap();
    assert!(survey.files.is_empty() && survey.outcome.stops_the_kernel());
}

#[test]
fn the_kernel_replaces_one_name_of_a_file_and_leaves_the_others_alone() {
    let directory = tempfile::tempdir().unwrap();
    let mut image = base(directory.path());
    let root = directory.path().join("linked");
    let keyfiles = root.join("etc/NetworkManager/system-connections");
    fs::create_dir_all(&keyfiles).unwrap();
    fs::write(keyfiles.join("raw.nmconnection"), "[other]\n").unwrap();
    fs::hard_link(keyfiles.join("raw.nmconnection"), keyfiles.join("kept.nmconnection")).unwrap();
    // With checksums, of which the kernel and dayone read the same.
    let archiver = "find etc | LC_ALL=C sort | cpio -o -H crc --owner 0:0 --quiet";
    image.resize(image.len().next_multiple_of(4), 0);
    image.extend(run(Command::new("sh").args(["-c", archiver]).current_dir(&root).stdin(Stdio::null())));
    let keyfile_of_host = json!({"keyfiles": [{"name": "raw.nmconnection", "content": KEYFILE}]});
    let additions: Additions = serde_json::from_value(keyfile_of_host).unwrap();
    let survey = survey(&image, &[], 0).unwrap();
    survey.outcome.complete().unwrap();
    let archive = members(DeliveryProfile::RootInInitramfs, &additions, None, &survey.tree).unwrap().archive;
    image.extend(appendix(image.len() as u64, &archive));
    let console = boot(directory.path(), &image);
    assert!(console.contains(&found(keyfile("raw").as_str())), "{console}");
    assert!(console.contains("kept.nmconnection\nLINE [other]\n"), "{console}");
}

#[test]
fn the_kernel_stops_at_a_wrong_checksum_and_so_do_we() {
    let directory = tempfile::tempdir().unwrap();
    let base = base(directory.path());
    let mut image = base.clone();
    image.resize(image.len().next_multiple_of(4), 0);
    // Every checksum is 0.
    let wrong = String::from_utf8(addition(&base, &[keyfile("raw")]).to_bytes()).unwrap().replace("070701", "070702");
    image.extend(wrong.into_bytes());
    image.extend(appendix(image.len() as u64, &addition(&base, &[keyfile("last")])));
    let console = boot(directory.path(), &image);
    assert!(console.contains("bad data checksum") && !console.contains("last.nmconnection"), "{console}");
    let error = survey(&image, &[], 0).unwrap().outcome.complete().unwrap_err().to_string();
    assert!(error.contains("bad data checksum"), "{error}");
}

#[test]
fn the_kernel_does_not_unpack_what_other_programs_do_and_we_know() {
    let directory = tempfile::tempdir().unwrap();
    let base = base(directory.path());
    let archive = addition(&base, &[keyfile("raw")]).to_bytes();
    let file = directory.path().join("archive");
    fs::write(&file, &archive).unwrap();
    // The default of xz, and an extra field of four bytes in a gzip header (RFC 1952 §2.3.1).
    let crc64 = run(Command::new("xz").args(["--check=crc64", "--stdout"]).arg(&file));
    let mut gzip = Compression::Gzip.compress(&archive).unwrap();
    gzip[3] |= 4;
    gzip.splice(10..10, *b"\x04\0ABCD");
    for member in [crc64, gzip] {
        let image = [base.clone(), member].concat();
        let console = boot(directory.path(), &image);
        assert!(!console.contains("FOUND"), "{console}");
        let error = survey(&image, &[], 0).unwrap().outcome.complete().unwrap_err().to_string();
        assert!(error.contains("the kernel cannot unpack"), "{error}");
    }
}
