//! Unified kernel images by `ukify`, and the addons that dayone puts beside them: pefile, sbverify, mtools and fsck.fat read what
//! comes out, and an addon of `ukify` with the same content is the measure. Machines boot them in `machines::uki`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use acceptance::fat::{clean, content_of};
use acceptance::peers::{run, run_text};
use acceptance::secure_boot::{SiteKey, kernel};
use acceptance::server::{Server, dayone, free_address};
use acceptance::small_system::initramfs;
use acceptance::uki::{OLD_STUB, esp, iso, python, trixie, ukify, unified};
use serde_json::{Value, json};

const HOST: &str = "
interfaces:
- {name: eth0, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 192.0.2.7, prefix-length: 24}]}}
";
const ARGUMENTS: &str = "console=ttyS0 panic=-1";
const LOADER: &str = "EFI/BOOT/BOOTX64.EFI";
const ADDON: &str = "EFI/BOOT/BOOTX64.EFI.extra.d/host.addon.efi";

/// What firmware and stubs look at, as pefile reads it.
const FACTS: &str = r#"
import json, pefile, sys
program = pefile.PE(sys.argv[1])
header, optional = program.FILE_HEADER, program.OPTIONAL_HEADER
sections = {}
for section in program.sections:
    name = section.Name.rstrip(b"\0").decode()
    # What no linker needs, and systemd's own mark.
    if name in (".text", ".sdmagic", ".reloc"):
        continue
    content = section.get_data()[:section.Misc_VirtualSize]
    # ukify ends SBAT data with an empty line and a zero.
    if name == ".sbat":
        content = content.rstrip(b"\n\0")
    sections[name] = [content.hex(), section.Characteristics & 0xe0000000, section.VirtualAddress % 4096]
print(json.dumps({
    "machine": header.Machine, "characteristics": header.Characteristics, "magic": optional.Magic,
    "subsystem": optional.Subsystem, "dll": optional.DllCharacteristics, "alignment": optional.SectionAlignment,
    "directories": optional.NumberOfRvaAndSizes, "sections": sections,
    # It finds zeros suspicious.
    "warnings": [warning for warning in program.get_warnings() if not warning.startswith("Byte ")],
}))
"#;

fn facts(program: &Path) -> Value {
    serde_json::from_str(&run_text(python("python").args(["-c", FACTS]).arg(program))).unwrap()
}

fn inspected(image: &Path) -> Value {
    serde_json::from_str(&run_text(dayone().args(["inspect", "--format", "json"]).arg(image))).unwrap()
}

/// An ISO that starts a unified kernel image with this stub.
fn base(directory: &Path, stub: &Path) -> PathBuf {
    let uki = directory.join("uki.efi");
    unified(stub, &kernel(), &initramfs(&[]), ARGUMENTS, &uki);
    iso(directory, &[(LOADER, &uki)])
}

fn build(directory: &Path, base: &Path, key: Option<&SiteKey>) -> Command {
    let host = directory.join("host.yaml");
    fs::write(&host, HOST).unwrap();
    let mut build = dayone();
    build.arg("build").arg(&host).args(["--force", "--karg-append", "x=y", "--base"]).arg(base);
    if let Some(key) = key {
        build.arg("--site-key").arg(&key.key).arg("--site-certificate").arg(&key.certificate);
    }
    build.arg("--output").arg(directory.join("image.iso"));
    build
}

#[test]
fn inspect_says_what_a_stub_takes() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let found = inspected(&base(directory, &trixie("linuxx64.efi.stub")));
    assert_eq!((&found["kind"], &found["formats"]), (&json!("live-iso"), &json!(["iso", "usb"])), "{found:#}");
    let uki = &found["unified_kernel_images"][0];
    assert!(uki["stub"].as_str().unwrap().starts_with("257"), "{uki:#}");
    assert_eq!((&uki["carrier"], &uki["title"]), (&json!("addon"), &json!("Live system")), "{uki:#}");
    assert_eq!((&uki["kernel_arguments"], &uki["kernel"]), (&json!(ARGUMENTS), &json!("6.1")), "{uki:#}");
    assert_eq!((&uki["profile"], &uki["path"]), (&json!("root-in-initramfs"), &json!("/EFI/BOOT/BOOTX64.EFI")));

    let old = base(directory, Path::new(OLD_STUB));
    let found = inspected(&old);
    assert_eq!((&found["kind"], &found["formats"]), (&json!("iso"), &json!([])), "{found:#}");
    assert!(found["problem"].as_str().unwrap().contains("systemd-stub 252"), "{found:#}");
    let refused = build(directory, &old, None).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("which reads no addons"), "{refused:?}");
}

#[test]
fn an_addon_is_what_ukify_would_make_of_the_same_content() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let base = base(directory, &trixie("linuxx64.efi.stub"));
    run(&mut build(directory, &base, None));
    let partition = esp(&directory.join("image.iso"), directory);
    clean(&partition);
    assert!(content_of(&partition, LOADER) == fs::read(directory.join("uki.efi")).unwrap());
    let ours = directory.join("ours.addon.efi");
    fs::write(&ours, content_of(&partition, ADDON)).unwrap();
    let ours = facts(&ours);
    assert_eq!(ours["warnings"], json!([]), "{ours:#}");
    let initrd = ours["sections"][".initrd"][0].as_str().unwrap().to_owned();
    let archive = directory.join("archive");
    fs::write(&archive, data_encoding::HEXLOWER.decode(initrd.as_bytes()).unwrap()).unwrap();
    let listed = run_text(Command::new("sh").arg("-c").arg("cpio -t --quiet < \"$0\"").arg(&archive));
    assert!(listed.lines().any(|line| line == "etc/NetworkManager/system-connections/eth0.nmconnection"), "{listed}");
    let theirs = directory.join("theirs.addon.efi");
    let stub = trixie("addonx64.efi.stub");
    let parts = ["--stub", stub.to_str().unwrap(), "--initrd", archive.to_str().unwrap(), "--cmdline", "x=y"];
    ukify(&parts, &theirs);
    assert_eq!(ours, facts(&theirs));
}

#[test]
fn a_signature_is_one_that_sbverify_finds_good_and_always_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let key = SiteKey::new(directory);
    let base = base(directory, &trixie("linuxx64.efi.stub"));
    let mut images = Vec::new();
    for _ in 0..2 {
        run(&mut build(directory, &base, Some(&key)));
        images.push(fs::read(directory.join("image.iso")).unwrap());
    }
    assert!(images[0] == images[1]);
    let addon = content_of(&esp(&directory.join("image.iso"), directory), ADDON);
    let program = directory.join("addon.efi");
    let verifies = |bytes: &[u8]| {
        fs::write(&program, bytes).unwrap();
        let mut verify = Command::new("sbverify");
        verify.arg("--cert").arg(&key.certificate).arg(&program).output().unwrap().status.success()
    };
    assert!(verifies(&addon));
    let address = addon.windows(12).position(|window| window == b"192.0.2.7/24").unwrap();
    for at in [0x10, 0x44, 0x100, 0x400, 0x600, address] {
        let mut changed = addon.clone();
        changed[at] ^= 1;
        assert!(!verifies(&changed), "byte {at}");
    }
    let found = inspected(&directory.join("image.iso"));
    assert_eq!(found["secure_boot"]["verdict"], "needs-site-key", "{found:#}");
}

#[test]
fn an_unsigned_addon_is_said_to_be_of_no_use_with_secure_boot() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let key = SiteKey::new(directory);
    let base = base(directory, &trixie("linuxx64.efi.stub"));
    let output = build(directory, &base, None).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("addon-unsigned"), "{output:?}");
    let found = inspected(&directory.join("image.iso"));
    assert_eq!(found["secure_boot"]["verdict"], "impossible", "{found:#}");
    for (key, certificate, expected) in [
        (Some(&key.certificate), Some(&key.certificate), "site key"),
        (Some(&key.key), Some(&key.key), "site certificate"),
        (Some(&key.key), None, "go together"),
    ] {
        let mut refused = build(directory, &base, None);
        refused.args(key.iter().flat_map(|file| ["--site-key".as_ref(), file.as_os_str()]));
        refused.args(certificate.iter().flat_map(|file| ["--site-certificate".as_ref(), file.as_os_str()]));
        let refused = refused.output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains(expected), "{refused:?}");
    }
}

/// An image needs no key once it is there, and another key makes another image.
#[test]
fn a_server_serves_what_it_has_signed_whatever_becomes_of_the_key() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let key = SiteKey::new(directory);
    let base = base(directory, &trixie("linuxx64.efi.stub"));
    let host = directory.join("host.yaml");
    fs::write(&host, HOST).unwrap();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let (key_file, certificate) = (text(&key.key), text(&key.certificate));
    let more = ["--site-key", &key_file, "--site-certificate", &certificate];
    let mut server = Server::start_at(&free_address(), &free_address(), "uki", &base, &more);
    let get = |url: &str| reqwest::blocking::get(url).unwrap().error_for_status().unwrap().bytes().unwrap();
    let image = server.image("uki", &host);
    let url = image["url"].as_str().unwrap().to_owned();
    let served = get(&url);
    let verdict = format!("{}/v1/images/{}/secure-boot", server.api, image["id"].as_str().unwrap());
    let verdict: Value = serde_json::from_slice(&get(&verdict)).unwrap();
    assert_eq!(verdict["verdict"], "needs-site-key", "{verdict:#}");
    let shown: Value = serde_json::from_slice(&get(&format!("{}/v1/bases/uki", server.api))).unwrap();
    assert_eq!(shown["unified_kernel_images"][0]["carrier"], "addon", "{shown:#}");

    // Over the files of the first one.
    SiteKey::new(directory);
    server.kill_and_start_again();
    assert!(get(&url) == served);
    assert_ne!(server.image("uki", &host)["id"], image["id"]);
    let key = fs::read_to_string(&key.key).unwrap();
    let secret = key.lines().nth(1).unwrap();
    assert!(!server.log().contains(secret) && !format!("{image}").contains(secret));
}
