//! What dayone says about Secure Boot, against real signed programs, and against sbsigntool as another reader of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use acceptance::peers::{run, run_text};
use acceptance::secure_boot::{
    FALLBACK, GRUB, MOK_MANAGER, SHIM, SYSTEMD_BOOT, SiteKey, changed_kernel, esp, kernel, live_iso, unsigned,
};
use acceptance::server::dayone;
use acceptance::small_system::initramfs;
use imagelib::base::{Base, BaseIdentity, Format};
use imagelib::ignition::Additions;
use imagelib::image::Image;
use imagelib::recipe::Recipe;
use imagelib::secure_boot::{ProgramRole, SecureBoot, SignatureState, Survey, Verdict, examine};
use imagelib::source::Role;
use proptest::prelude::*;
use serde_json::Value;

/// The signers and the authorities in a program: dayone's reading.
fn names(program: &[u8]) -> Vec<(String, String)> {
    let signatures = examine(&program).signatures.into_iter();
    signatures.map(|signature| (signature.signer.unwrap(), signature.issuer.unwrap())).collect()
}

/// The same as sbverify reads them. The first certificate of each signature is the signer's.
fn listed(program: &Path) -> Vec<(String, String)> {
    let text = run_text(Command::new("sbverify").arg("--list").arg(program));
    let name = |line: &str| line.rsplit_once("/CN=").unwrap().1.trim().to_owned();
    let lines: Vec<&str> = text.lines().collect();
    let firsts = lines.iter().enumerate().filter(|(_, line)| line.starts_with("image signature certificates"));
    firsts.map(|(index, _)| (name(lines[index + 1]), name(lines[index + 2]))).collect()
}

#[test]
fn signers_are_those_that_sbverify_lists() {
    for program in [Path::new(SHIM), GRUB.as_ref(), MOK_MANAGER.as_ref(), FALLBACK.as_ref(), &kernel()] {
        let bytes = fs::read(program).unwrap();
        assert_eq!(names(&bytes), listed(program), "{}", program.display());
        let examined = examine(&bytes);
        assert!(
            examined.signatures.iter().all(|signature| signature.state == SignatureState::Good),
            "{}: {:#?}",
            program.display(),
            examined.signatures
        );
    }
    assert_eq!(names(&fs::read(SYSTEMD_BOOT).unwrap()), []);
    let shim = examine(&fs::read(SHIM).unwrap());
    assert!(shim.sbat.iter().any(|sbat| sbat.component == "shim" && sbat.generation >= 3), "{:?}", shim.sbat);
}

/// Whether sbverify finds the signature of the site good.
fn verifies(key: &SiteKey, program: &Path) -> bool {
    let mut verify = Command::new("sbverify");
    verify.arg("--cert").arg(&key.certificate).arg(program).output().unwrap().status.success()
}

#[test]
fn a_signature_is_good_where_sbverify_finds_it_good() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let key = SiteKey::new(directory);
    let signed = directory.join("signed.efi");
    for program in [SYSTEMD_BOOT, FALLBACK] {
        key.sign(program.as_ref(), &signed);
        assert!(verifies(&key, &signed));
        let bytes = fs::read(&signed).unwrap();
        let states: Vec<SignatureState> = examine(&bytes).signatures.iter().map(|signature| signature.state).collect();
        assert!(states.iter().all(|state| *state == SignatureState::Good), "{program}: {states:?}");

        let mut changed = bytes.clone();
        changed[0x2000] ^= 0x10;
        fs::write(&signed, &changed).unwrap();
        assert!(!verifies(&key, &signed));
        assert!(examine(&changed).signatures.iter().all(|signature| signature.state == SignatureState::OtherBytes));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Every bit counts, but for those of the checksum, of the certificate table, and of its place.
    #[test]
    fn one_bit_decides(at in any::<prop::sample::Index>(), bit in 0..8_u32) {
        let mut bytes = fs::read(FALLBACK).unwrap();
        let digest = examine(&bytes).digest;
        let at = at.index(bytes.len());
        let header = u32::from_le_bytes(bytes[0x3c..0x40].try_into().unwrap()) as usize;
        let checksum = header + 24 + 64;
        let entry = header + 24 + 112 + 4 * 8;
        let table = u32::from_le_bytes(bytes[entry..entry + 4].try_into().unwrap()) as usize;
        bytes[at] ^= 1 << bit;
        let found = examine(&bytes);
        let good = found.signatures.iter().any(|signature| signature.state == SignatureState::Good);
        if (checksum..checksum + 4).contains(&at) {
            prop_assert!(good && found.digest == digest);
        } else if at >= table {
            prop_assert_eq!(found.digest, digest);
        } else {
            prop_assert!(!good, "byte {} of {}", at, bytes.len());
        }
    }
}

/// A medium with these programs, of which dayone says what it thinks.
fn survey(directory: &Path, files: &[(&str, &Path)], kernel: &Path) -> (PathBuf, SecureBoot) {
    let iso = live_iso(directory, &esp(directory, files), kernel, &initramfs(&[]), "console=ttyS0");
    let bytes = BTreeMap::from([(Role::Iso, fs::read(&iso).unwrap())]);
    let base = Base::probe(&bytes).unwrap();
    (iso, Survey::of_base(&base, &bytes).report().clone())
}

const DEBIAN: [(&str, &str); 3] =
    [("EFI/BOOT/BOOTX64.EFI", SHIM), ("EFI/BOOT/grubx64.efi", GRUB), ("EFI/BOOT/mmx64.efi", MOK_MANAGER)];

fn debian() -> Vec<(&'static str, &'static Path)> {
    DEBIAN.iter().map(|(path, file)| (*path, Path::new(*file))).collect()
}

#[test]
fn the_verdict_depends_on_every_program_of_the_chain() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let key = SiteKey::new(directory);
    let file = |name: &str| directory.join(name);
    unsigned(&kernel(), &file("unsigned"));
    key.sign(&file("unsigned"), &file("site"));
    changed_kernel(&kernel(), &file("changed"));
    key.sign(SYSTEMD_BOOT.as_ref(), &file("loader"));
    let mut damaged = fs::read(GRUB).unwrap();
    damaged[0x3000] ^= 1;
    fs::write(file("grub"), damaged).unwrap();
    let loader = |program: &'static str| vec![("EFI/BOOT/BOOTX64.EFI", Path::new(program))];
    let with_grub = [debian()[0], ("EFI/BOOT/grubx64.efi", &file("grub"))];
    let for_site = [("EFI/BOOT/BOOTX64.EFI", file("loader"))];
    let for_site: Vec<(&str, &Path)> = for_site.iter().map(|(path, file)| (*path, file.as_path())).collect();

    let with_fallback = |program| [debian(), vec![("EFI/BOOT/fbx64.efi", program)]].concat();

    for (files, kernel, verdict, reason) in [
        (with_fallback(FALLBACK.as_ref()), kernel(), Verdict::Impossible, "restarts the machine"),
        (
            with_fallback(SYSTEMD_BOOT.as_ref()),
            kernel(),
            Verdict::Impossible,
            "in place of the boot loader, and is not signed",
        ),
        (vec![("EFI/BOOT/BOOTAA64.EFI", SHIM.as_ref())], kernel(), Verdict::Impossible, "is a program for x64"),
        (debian(), kernel(), Verdict::Kept, "machines trust 'Microsoft"),
        (debian(), file("unsigned"), Verdict::Impossible, "/live/vmlinuz is not signed"),
        (debian(), file("changed"), Verdict::Impossible, "/live/vmlinuz is not what 'Debian Secure Boot Signer"),
        (debian(), file("site"), Verdict::NeedsSiteKey, "/live/vmlinuz is signed by 'Site'"),
        (with_grub.to_vec(), kernel(), Verdict::Impossible, "/EFI/BOOT/grubx64.efi in /boot/efi.img is not what"),
        (debian()[..1].to_vec(), kernel(), Verdict::Unknown, "did not find the boot loader"),
        (loader(GRUB), kernel(), Verdict::NeedsSiteKey, "is signed by 'Debian Secure Boot Signer"),
        (loader(SYSTEMD_BOOT), kernel(), Verdict::NeedsSiteKey, "/EFI/BOOT/BOOTX64.EFI in /boot/efi.img is not signed"),
        (for_site.clone(), file("site"), Verdict::NeedsSiteKey, "is signed by 'Site'"),
        (for_site, file("changed"), Verdict::Impossible, "/live/vmlinuz is not what"),
        (vec![], kernel(), Verdict::Impossible, "no boot loader for UEFI"),
    ] {
        let (_, found) = survey(directory, &files, &kernel);
        assert_eq!(found.verdict, verdict, "{found:#?}");
        assert!(found.reason.contains(reason), "{reason}: {}", found.reason);
    }
}

#[test]
fn what_is_verified_and_what_is_not_is_listed() {
    let directory = tempfile::tempdir().unwrap();
    let (_, found) = survey(directory.path(), &debian(), &kernel());
    let programs: Vec<(&str, ProgramRole, bool)> =
        found.programs.iter().map(|program| (program.path.as_str(), program.role, program.counts)).collect();
    assert_eq!(
        programs,
        [
            ("/live/vmlinuz", ProgramRole::Kernel, true),
            ("/EFI/BOOT/BOOTX64.EFI in /boot/efi.img", ProgramRole::Shim, true),
            ("/EFI/BOOT/grubx64.efi in /boot/efi.img", ProgramRole::BootLoader, true),
            ("/EFI/BOOT/mmx64.efi in /boot/efi.img", ProgramRole::MokManager, false),
        ]
    );
    assert!(found.programs.iter().all(|program| program.verdict == Verdict::Kept), "{found:#?}");
    let unsigned: Vec<&str> = found.unsigned.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(unsigned, ["/boot/grub/grub.cfg", "/live/initrd.img"]);
}

const HOST: &str = "
interfaces:
- {name: eth0, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 192.0.2.7, prefix-length: 24}]}}
";

/// What dayone says of the image that it makes.
fn of_image(iso: &Path, format: Format) -> SecureBoot {
    let bytes = BTreeMap::from([(Role::Iso, fs::read(iso).unwrap())]);
    let base = Base::probe(&bytes).unwrap();
    let identity = BaseIdentity::of(&BTreeMap::new());
    let hostname = Some("node-7".parse().unwrap());
    let recipe = Recipe::new(identity, format, Additions { hostname, ..Additions::default() });
    let image = Image::plan(&recipe, &base, identity).unwrap();
    Survey::of_base(&base, &bytes).of_image(&image, &base, &bytes).unwrap()
}

#[test]
fn an_image_keeps_the_signatures_of_its_base() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let (iso, _) = survey(directory, &debian(), &kernel());
    for format in [Format::Iso, Format::Usb] {
        let found = of_image(&iso, format);
        assert_eq!(found.verdict, Verdict::Kept, "{format}: {found:#?}");
        assert!(found.programs.iter().all(|program| program.unchanged == Some(true)), "{format}: {found:#?}");
        assert!(found.reason.ends_with("dayone has changed none of them"), "{}", found.reason);
    }
    changed_kernel(&kernel(), &directory.join("changed"));
    let (iso, _) = survey(directory, &debian(), &directory.join("changed"));
    assert_eq!(of_image(&iso, Format::Iso).verdict, Verdict::Impossible);
}

#[test]
fn a_medium_around_a_kernel_keeps_the_signatures_of_its_parts() {
    let directory = tempfile::tempdir().unwrap();
    let esp = fs::read(esp(directory.path(), &debian())).unwrap();
    let kernel = fs::read(kernel()).unwrap();
    let files = BTreeMap::from([(Role::Kernel, kernel), (Role::Initrd, initramfs(&[]).to_bytes()), (Role::Esp, esp)]);
    let base = Base::probe(&files).unwrap();
    let survey = Survey::of_base(&base, &files);
    assert_eq!(survey.report().verdict, Verdict::Kept, "{:#?}", survey.report());
    let identity = BaseIdentity::of(&BTreeMap::new());
    let of_image = |format| {
        let hostname = Some("node-7".parse().unwrap());
        let recipe = Recipe::new(identity, format, Additions { hostname, ..Additions::default() });
        survey.of_image(&Image::plan(&recipe, &base, identity).unwrap(), &base, &files).unwrap()
    };
    for format in [Format::Iso, Format::Usb] {
        let found = of_image(format);
        assert_eq!(found.verdict, Verdict::Kept, "{format}: {found:#?}");
        assert!(found.programs.iter().all(|program| program.unchanged == Some(true)), "{format}: {found:#?}");
        assert!(found.unsigned.iter().any(|file| file.path.starts_with("/boot/grub/grub.cfg")), "{found:#?}");
    }
    let found = of_image(Format::Initrd);
    assert_eq!((found.verdict, found.programs.len()), (Verdict::Unknown, 1));
    assert_eq!(found.programs[0].unchanged, Some(true), "{found:#?}");
}

fn inspected(image: &Path) -> Value {
    let text = run_text(dayone().args(["inspect", "--format", "json"]).arg(image));
    serde_json::from_str(&text).unwrap()
}

#[test]
fn inspect_says_the_same_of_a_base_and_of_the_image_that_build_makes() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let (iso, _) = survey(directory, &debian(), &kernel());
    let (host, image) = (directory.join("host.yaml"), directory.join("image.iso"));
    fs::write(&host, HOST).unwrap();
    run(dayone().arg("build").arg("--base").arg(&iso).arg("--host").arg(&host).arg("--output").arg(&image));
    let (base, image) = (inspected(&iso), inspected(&image));
    assert_eq!(base["secure_boot"]["verdict"], "kept", "{base:#}");
    let digests = |inspected: &Value| -> Vec<Value> {
        let programs = inspected["secure_boot"]["programs"].as_array().unwrap().iter();
        programs.map(|program| program["authenticode_sha256"].clone()).collect()
    };
    assert_eq!(digests(&base), digests(&image));
    assert_eq!(image["secure_boot"]["verdict"], "kept", "{image:#}");
    let text = run_text(dayone().arg("inspect").arg(&iso));
    assert!(text.contains("Secure Boot        kept: /EFI/BOOT/BOOTX64.EFI in /boot/efi.img is signed by"), "{text}");
}
