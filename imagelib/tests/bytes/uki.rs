//! Unified kernel images: what dayone says of them, and the addons that it puts beside them. What firmware and systemd-stub make of
//! the addons is in the acceptance tests.

use imagelib::base::live::NotCustomisable;
use imagelib::base::{DeliveryProfile, Format};
use imagelib::cpio::Archive;
use imagelib::disk::fat::FatImage;
use imagelib::image::{FileName, ImageError};
use imagelib::iso::TreeKind;
use imagelib::ram_disk::{RamDisk, RamDiskVerdict};
use imagelib::recipe::Recipe;
use imagelib::uki::Carrier;
use proptest::prelude::*;

use crate::image::file;
use crate::live_media::{
    self, Files, additions, file_in, identity, live, live_boot, output, planned, probe, recipe, shim, systemd_boot,
    unified, unified_by, unified_of,
};

pub(crate) const LOADER: &str = "EFI/BOOT/BOOTX64.EFI";
pub(crate) const ADDON: &str = "EFI/BOOT/BOOTX64.EFI.extra.d/host.addon.efi";
pub(crate) const NEW: &str = "257.13-1~deb13u1";

pub(crate) fn iso(in_esp: Files<'_>) -> Vec<u8> {
    live_media::iso(&[("readme", b"hello".to_vec())], in_esp)
}

/// A file in the EFI system partition of an ISO.
pub(crate) fn in_esp(iso: &[u8], path: &str) -> Option<Vec<u8>> {
    let esp = file_in(iso, TreeKind::Primary, "/boot/efi.img");
    let fat = FatImage::open(&esp, 0..esp.len() as u64).unwrap();
    let file = fat.file(path)?;
    let ranges = file.extents.iter().map(|range| {
        let (start, end) = (usize::try_from(range.start).unwrap(), usize::try_from(range.end).unwrap());
        esp[start..end].to_vec()
    });
    Some(ranges.collect::<Vec<_>>().concat())
}

/// The content of a section, as its table has it.
pub(crate) fn section(program: &[u8], name: &str) -> Option<Vec<u8>> {
    let number = |at: usize| u32::from_le_bytes(program[at..at + 4].try_into().unwrap()) as usize;
    let header = number(0x3c);
    let count = usize::from(u16::from_le_bytes(program[header + 6..header + 8].try_into().unwrap()));
    let mut records = (0..count).map(|index| header + 24 + 240 + 40 * index);
    let record = records.find(|at| program[*at..*at + 8].starts_with(name.as_bytes()))?;
    Some(program[number(record + 20)..][..number(record + 8)].to_vec())
}

#[test]
fn an_image_is_described_with_what_its_stub_takes() {
    let iso = iso(&[(LOADER, unified_by(NEW, "live"))]);
    let found = live(&iso).unwrap();
    let described = found.describe();
    assert!(described.boot_entries.is_empty() && described.initrds.is_empty());
    let [uki] = described.unified_kernel_images.as_slice() else { panic!("{described:?}") };
    assert_eq!((uki.path.as_str(), uki.title.as_str()), ("/EFI/BOOT/BOOTX64.EFI", "Live system 1"));
    assert_eq!((uki.stub.as_deref(), uki.carrier), (Some(NEW), Carrier::Addon));
    assert_eq!((uki.kernel.as_deref(), uki.kernel_arguments.as_str()), (Some("6.12.0-amd64"), "console=ttyS0 quiet"));
    assert_eq!((uki.profile, uki.problem.as_deref()), (DeliveryProfile::RootInInitramfs, None));
    assert_eq!(found.profile(), DeliveryProfile::RootInInitramfs);
    assert_eq!(probe(&iso).formats(), [Format::Iso, Format::Usb]);
    assert!(found.unreached_paths().is_empty());
}

/// No menu names what a unified kernel image starts, and its system may need the medium all the same.
#[test]
fn http_boot_counts_the_systems_in_unified_kernel_images() {
    let verdict = |base: &[u8]| {
        let found = RamDisk::of(&probe(base), Format::Iso).unwrap();
        (found.verdict, found.reason)
    };
    assert_eq!(verdict(&iso(&[(LOADER, unified_by(NEW, "live"))])).0, RamDiskVerdict::Possible);
    let needs_medium = ["init", "conf/initramfs.conf", "scripts/live", "bin/cp"];
    let rescue = b"title Rescue\nlinux /rescue/vmlinuz\ninitrd /rescue/initrd.img\n".to_vec();
    let mut whole = Archive::new();
    for path in ["init", "usr/bin/true"] {
        whole.file(path.parse().unwrap(), 0o755, "x").unwrap();
    }
    whole.add_parents(0o755).unwrap();
    let (verdict, reason) = verdict(&iso(&[
        (LOADER, systemd_boot()),
        ("EFI/Linux/live.efi", unified_of(NEW, "live", &needs_medium)),
        ("loader/entries/rescue.conf", rescue),
        ("rescue/vmlinuz", live_media::kernel()),
        ("rescue/initrd.img", whole.to_bytes()),
    ]));
    assert_eq!(verdict, RamDiskVerdict::Unknown);
    assert!(reason.starts_with("EFI/Linux/live.efi: dayone cannot tell"), "{reason}");
}

#[test]
fn what_takes_no_initrd_is_refused_with_the_reason() {
    let named = |stub: &str| vec![(LOADER, unified_by(stub, "live"))];
    let counted = vec![(LOADER, systemd_boot()), ("EFI/Linux/live+3.efi", unified_by(NEW, "live"))];
    let bare = live_media::program(&[
        (".sdmagic", format!("#### LoaderInfo: systemd-stub {NEW} ####").as_bytes()),
        (".linux", &live_media::kernel()),
    ]);
    for (in_esp, expected) in [
        (named("252.39-1~deb12u2"), "its stub is systemd-stub 252.39-1~deb12u2, which reads no addons"),
        (named("255"), "its stub is systemd-stub 255, which takes kernel arguments from an addon, but no initrd"),
        (vec![(LOADER, unified("live"))], "its stub is not systemd-stub"),
        (
            vec![(LOADER, shim()), ("EFI/BOOT/grubx64.efi", unified_by("252", "live"))],
            "/EFI/BOOT/grubx64.efi in /boot/efi.img is a unified kernel image",
        ),
        (counted, "its name has a counter of boots"),
        (vec![(LOADER, bare)], "it has no initrd"),
    ] {
        let iso = iso(&in_esp);
        let Err(reason @ NotCustomisable::Unreachable(_)) = live(&iso) else { panic!("{expected}") };
        assert!(reason.to_string().contains(expected), "{reason}, not {expected}");
        assert!(probe(&iso).formats().is_empty());
    }
}

#[test]
fn an_addon_beside_the_image_has_the_files_and_the_arguments() {
    let loader = unified_by(NEW, "live");
    let base = iso(&[(LOADER, loader.clone())]);
    let recipe = recipe(&base);
    let image = planned(&base, &recipe).unwrap();
    assert_eq!(image.kernel_arguments.as_deref(), Some("console=ttyS0 quiet x=y"));
    assert!(image.embedded.iter().any(|file| file.path.ends_with("eth0.nmconnection")), "{:?}", image.embedded);
    let made = output(&base, &image);
    assert_eq!(made.len(), base.len(), "nothing moves");
    assert_eq!(in_esp(&made, LOADER).unwrap(), loader, "the signed program is as it was");
    let addon = in_esp(&made, ADDON).unwrap();
    assert_eq!(section(&addon, ".cmdline").unwrap(), b"x=y");
    assert!(section(&addon, ".sbat").unwrap().starts_with(b"sbat,1,"));
    assert!(section(&addon, ".linux").is_none() && section(&addon, ".uname").is_none());
    let archive = section(&addon, ".initrd").unwrap();
    let text = String::from_utf8_lossy(&archive);
    assert!(text.contains("etc/NetworkManager/system-connections/eth0.nmconnection") && text.contains("id=eth0"));
    let changes: Vec<&str> = image.changes.iter().map(|change| change.subject.as_str()).collect();
    assert!(changes.contains(&"/boot/efi.img"), "{changes:?}");
    assert!(image.report.findings().iter().any(|finding| finding.code == "addon-unsigned"));
    assert_eq!(output(&base, &planned(&base, &recipe).unwrap()), made, "the same inputs, the same bytes");
    assert!(live(&made).unwrap().is_customised());
}

#[test]
fn a_file_that_a_mount_hides_is_named() {
    let base = iso(&[(LOADER, unified_by(NEW, "live"))]);
    let mut recipe = recipe(&base);
    recipe.additions.files = vec![file("/run/hello", b"hello".to_vec())];
    let image = planned(&base, &recipe).unwrap();
    let hidden = image.report.findings().iter().filter(|finding| finding.code == "files-behind-mounts");
    let found: Vec<String> = hidden.map(ToString::to_string).collect();
    assert!(found.len() == 1 && found[0].contains("/run/hello") && found[0].contains("BOOTX64.EFI"), "{found:?}");
}

#[test]
fn what_systemd_boot_lists_and_names_gets_its_own_addon() {
    let entry = b"title Tools\nefi /EFI/tools/tools.efi\n".to_vec();
    let base = iso(&[
        (LOADER, systemd_boot()),
        ("EFI/Linux/live.efi", unified_by(NEW, "live")),
        ("EFI/tools/tools.efi", unified_by("258", "tools")),
        ("loader/entries/tools.conf", entry),
    ]);
    let image = planned(&base, &recipe(&base)).unwrap();
    let made = output(&base, &image);
    for path in ["EFI/Linux/live.efi.extra.d/host.addon.efi", "EFI/tools/tools.efi.extra.d/host.addon.efi"] {
        assert!(in_esp(&made, path).is_some(), "{path}");
    }
    assert!(in_esp(&made, ADDON).is_none());
    assert!(live_media::warnings(&image).is_empty());
}

#[test]
fn menus_and_unified_kernel_images_on_one_medium_are_both_customised() {
    let menu = "default live\nlabel live\n  linux /live/vmlinuz\n  append initrd=/live/initrd.img quiet\n";
    let base = live_media::iso(
        &[
            live_media::isolinux(),
            ("isolinux/isolinux.cfg", menu.into()),
            ("live/vmlinuz", live_media::kernel()),
            ("live/initrd.img", live_boot("a")),
        ],
        &[(LOADER, unified_by(NEW, "live"))],
    );
    let made = output(&base, &planned(&base, &recipe(&base)).unwrap());
    assert!(in_esp(&made, ADDON).is_some());
    assert!(file_in(&made, TreeKind::Primary, "/live/initrd.img").len() > live_boot("a").len());
    // An order that names an entry of the menu changes no unified kernel image.
    let named = Recipe { boot_entries: ["live".to_owned()].into(), ..recipe(&base) };
    let image = planned(&base, &named).unwrap();
    assert!(in_esp(&output(&base, &image), ADDON).is_none());
    assert!(image.report.findings().iter().any(|finding| finding.code == "uki-unchanged"));
}

#[test]
fn what_shim_starts_gets_its_addon() {
    // SUSE's shim starts the second one.
    for started in ["EFI/BOOT/grubx64.efi", "EFI/BOOT/grub.efi"] {
        let addon = format!("{started}.extra.d/host.addon.efi");
        let base = iso(&[(LOADER, shim()), (started, unified_by(NEW, "live"))]);
        let image = planned(&base, &recipe(&base)).unwrap();
        assert!(in_esp(&output(&base, &image), &addon).is_some());
        assert!(live_media::warnings(&image).is_empty());
        // Without shim, nothing starts it.
        let unused = iso(&[(LOADER, unified_by(NEW, "live")), (started, unified_by(NEW, "other"))]);
        let made = output(&unused, &planned(&unused, &recipe(&unused)).unwrap());
        assert!(in_esp(&made, ADDON).is_some() && in_esp(&made, &addon).is_none());
    }
}

#[test]
fn signed_arguments_can_only_grow() {
    let base = iso(&[(LOADER, unified_by(NEW, "live"))]);
    let with = |edits: &str| {
        let kernel_arguments = serde_json::from_str(edits).unwrap();
        planned(&base, &Recipe { kernel_arguments, ..recipe(&base) })
    };
    for edits in [r#"{"delete": ["quiet"]}"#, r#"{"replace": ["console=ttyS0=ttyS1"]}"#] {
        let error = with(edits).unwrap_err();
        assert!(matches!(error, ImageError::UnifiedKernelImage { .. }), "{error}");
        assert!(error.to_string().contains("an addon can only append"), "{error}");
    }
    let room = 2047 - "console=ttyS0 quiet ".len();
    let argument = |length: usize| format!(r#"{{"append": ["{}"]}}"#, "x".repeat(length));
    assert!(with(&argument(room)).is_ok());
    assert!(with(&argument(room + 1)).unwrap_err().to_string().contains("2048 bytes"));
    // Without anything to add there is no addon.
    let nothing = Recipe::new(identity(&base), Format::Iso, imagelib::ignition::Additions::default());
    assert!(in_esp(&output(&base, &planned(&base, &nothing).unwrap()), ADDON).is_none());
}

#[test]
fn a_partition_without_room_grows() {
    let program = unified_by(NEW, "live");
    let base = iso(&[(LOADER, program.clone())]);
    let file = imagelib::ignition::ExtraFile {
        path: "/etc/large".parse().unwrap(),
        mode: "0644".parse().unwrap(),
        user: 0,
        group: 0,
        contents: vec![7; 3 << 20].into(),
    };
    let large =
        Recipe { additions: imagelib::ignition::Additions { files: vec![file], ..additions() }, ..recipe(&base) };
    let image = planned(&base, &large).unwrap();
    let made = output(&base, &image);
    assert!(in_esp(&made, LOADER) == Some(program));
    assert!(section(&in_esp(&made, ADDON).unwrap(), ".initrd").is_some_and(|initrd| initrd.len() > 3 << 20));
    // The base's bytes are not copied: the image has the addon and two allocation tables of its own.
    let own = image.files[&FileName::BootIso].patch_size();
    assert!(own < (3 << 20) + (200 << 10), "{own}");
    let change = image.changes.iter().find(|change| change.subject == "/boot/efi.img").unwrap();
    assert_eq!(change.action, "new content at the end of the image");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    /// Whatever a unified kernel image says of itself, there is an answer, and an image does not change it.
    #[test]
    fn a_changed_program_has_an_answer(
        changes in prop::collection::vec((0..0x900_usize, any::<u8>()), 1..6),
    ) {
        let mut loader = unified_by(NEW, "live");
        for (at, value) in changes {
            let at = at % loader.len();
            loader[at] = value;
        }
        let base = iso(&[(LOADER, loader.clone())]);
        if live(&base).is_ok() && let Ok(image) = planned(&base, &recipe(&base)) {
            prop_assert_eq!(in_esp(&output(&base, &image), LOADER).unwrap(), loader);
        }
    }
}
