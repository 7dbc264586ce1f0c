//! Credentials for unified kernel images: `systemd-creds` reads them, and `systemd-tmpfiles` writes the files in them. Machines boot with
//! them in `machines::uki_credential`.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use acceptance::fat::content_of;
use acceptance::peers::{run, run_text};
use acceptance::secure_boot::kernel;
use acceptance::server::dayone;
use acceptance::uki::{esp, iso, stub_without_initrd, unified};
use data_encoding::BASE64;
use imagelib::cpio::Archive;
use serde_json::{Value, json};

const LOADER: &str = "EFI/BOOT/BOOTX64.EFI";
const CREDENTIAL: &str = "EFI/BOOT/BOOTX64.EFI.extra.d/tmpfiles.extra.cred";
const HOST: &str = "
interfaces:
- {name: eth0, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 192.0.2.7, prefix-length: 24}]}}
";

/// An ISO with a unified kernel image of systemd-stub 254 and of an initramfs with the files by which dayone knows dracut's.
fn base(directory: &Path) -> PathBuf {
    let mut initramfs = Archive::new();
    for (path, content) in [
        ("init", ""),
        ("etc/initrd-release", "ID=fedora\n"),
        ("usr/lib/dracut/hooks/pre-pivot/x.sh", ""),
        ("usr/lib/systemd/system/systemd-tmpfiles-setup.service", "[Service]\nImportCredential=tmpfiles.*\n"),
    ] {
        initramfs.file(path.parse().unwrap(), 0o755, content).unwrap();
    }
    initramfs.add_parents(0o755).unwrap();
    let uki = directory.join("uki.efi");
    unified(&stub_without_initrd(), &kernel(), &initramfs, "console=ttyS0", &uki);
    iso(directory, &[(LOADER, &uki)])
}

fn build(directory: &Path, base: &Path, more: &[&str]) -> PathBuf {
    let (host, image) = (directory.join("host.yaml"), directory.join("image.iso"));
    fs::write(&host, HOST).unwrap();
    let mut build = dayone();
    build.arg("build").arg(&host).args(["--force", "--hostname", "worker-0"]).args(more).arg("--base").arg(base);
    run(build.arg("--output").arg(&image));
    image
}

/// What systemd-tmpfiles makes of these lines, in this directory.
fn written(lines: &[u8], root: &Path) {
    let file = root.with_extension("conf");
    fs::write(&file, lines).unwrap();
    fs::create_dir_all(root.join("etc")).unwrap();
    // What is in the place of a file is no obstacle.
    std::os::unix::fs::symlink("/run/hostname", root.join("etc/hostname")).unwrap();
    fs::write(root.join("etc/empty"), "not yet").unwrap();
    fs::create_dir(root.join("etc/app")).unwrap();
    for name in ["x1y", "x", "y"] {
        fs::write(root.join("etc/app").join(name), "of others").unwrap();
    }
    // As its unit calls it.
    let mut tmpfiles = Command::new("systemd-tmpfiles");
    tmpfiles.args(["--create", "--remove", "--boot", "--exclude-prefix=/dev"]);
    run(tmpfiles.arg(format!("--root={}", root.display())).arg(&file));
    assert!(!fs::symlink_metadata(root.join("etc/hostname")).unwrap().is_symlink());
}

fn assert_file(root: &Path, path: &str, mode: u32, content: &[u8]) {
    let path = root.join(path);
    let metadata = fs::metadata(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(metadata.permissions().mode() & 0o7777, mode, "{}", path.display());
    assert!(fs::read(&path).unwrap() == content, "{}", path.display());
}

#[test]
fn inspect_says_that_files_are_in_a_credential() {
    let directory = tempfile::tempdir().unwrap();
    let base = base(directory.path());
    let found: Value =
        serde_json::from_str(&run_text(dayone().args(["inspect", "--format", "json"]).arg(&base))).unwrap();
    let uki = &found["unified_kernel_images"][0];
    assert!(uki["stub"].as_str().unwrap().starts_with("254"), "{uki:#}");
    assert_eq!((&uki["carrier"], &uki["profile"]), (&json!("credential"), &json!("dracut")), "{uki:#}");
}

#[test]
fn systemd_reads_a_credential_and_writes_the_files() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let (root, binary) = (directory.join("root"), directory.join("binary"));
    let bytes: Vec<u8> = (0..=255).cycle().take(5000).collect();
    fs::write(&binary, &bytes).unwrap();
    fs::write(directory.join("nothing"), "").unwrap();
    let files = [
        format!("/usr/local/bin/a \"b\" 100%h \\n={}:4755:7:8", binary.display()),
        format!("/etc/app/*={}", directory.join("nothing").display()),
        format!("/etc/app/x[1]?\\={}", directory.join("nothing").display()),
        format!("/etc/app/{{x,y}}={}", directory.join("nothing").display()),
        format!("/etc/empty={}", directory.join("nothing").display()),
    ];
    let paths: Vec<&str> = files.iter().flat_map(|file| ["--file", file.as_str()]).collect();
    let image = build(directory, &base(directory), &paths);
    let credential = directory.join("credential");
    fs::write(&credential, content_of(&esp(&image, directory), CREDENTIAL)).unwrap();
    let decrypt = |name: &str| {
        let mut decrypt = Command::new("systemd-creds");
        decrypt.args(["decrypt", &format!("--name={name}")]).arg(&credential).arg("-").output().unwrap()
    };
    let lines = decrypt("tmpfiles.extra");
    assert!(lines.status.success(), "{lines:?}");
    assert!(!decrypt("tmpfiles.other").status.success(), "the name is in it");
    written(&lines.stdout, &root);
    assert_file(&root, "etc/hostname", 0o644, b"worker-0\n");
    assert_file(&root, "etc/empty", 0o644, b"");
    assert_file(&root, "etc/app/*", 0o644, b"");
    assert_file(&root, "etc/app/x[1]?\\", 0o644, b"");
    assert_file(&root, "etc/app/{x,y}", 0o644, b"");
    for other in ["x1y", "x", "y"] {
        assert_file(&root, &format!("etc/app/{other}"), 0o644, b"of others");
    }
    let odd = "usr/local/bin/a \"b\" 100%h \\n";
    assert_file(&root, odd, 0o4755, &bytes);
    let owner = fs::metadata(root.join(odd)).unwrap();
    assert_eq!((owner.uid(), owner.gid()), (7, 8));
    let keyfile = fs::read_to_string(root.join("etc/NetworkManager/system-connections/eth0.nmconnection")).unwrap();
    assert!(keyfile.contains("192.0.2.7/24"), "{keyfile}");
    // One changed bit, and systemd refuses it.
    let mut changed = BASE64.decode(&fs::read(&credential).unwrap()).unwrap();
    let last = changed.len() - 1;
    changed[last] ^= 1;
    fs::write(&credential, BASE64.encode(&changed)).unwrap();
    assert!(!decrypt("tmpfiles.extra").status.success());
}

#[test]
fn systemd_writes_the_files_in_a_kernel_argument() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let image = build(directory, &base(directory), &[]);
    let addon = content_of(&esp(&image, directory), "EFI/BOOT/BOOTX64.EFI.extra.d/host.addon.efi");
    let addon = String::from_utf8_lossy(&addon).into_owned();
    let (_, value) = addon.split_once("systemd.set_credential_binary=tmpfiles.extra:").unwrap();
    let value: String = value.chars().take_while(|c| c.is_ascii_alphanumeric() || "+/=".contains(*c)).collect();
    let root = directory.join("root");
    written(&BASE64.decode(value.as_bytes()).unwrap(), &root);
    assert_file(&root, "etc/hostname", 0o644, b"worker-0\n");
    let keyfile = root.join("etc/NetworkManager/system-connections/eth0.nmconnection");
    assert_file(&root, "etc/NetworkManager/system-connections/eth0.nmconnection", 0o600, &fs::read(keyfile).unwrap());
}
