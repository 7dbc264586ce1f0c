//! Live ISOs, from probing to the bytes of an image: on ISOs of a few blocks that are made here.
use std::collections::BTreeMap;

use imagelib::base::live::NotCustomisable;
use imagelib::base::{Base, BaseIdentity, DeliveryProfile, Format, IsoSystem, Role};
use imagelib::boot_config::BootConfigError;
use imagelib::cpio::Archive;
use imagelib::delivery::DeliveryError;
use imagelib::digest::Digest;
use imagelib::disk::fat::{FatImage, NewFat};
use imagelib::ignition::Additions;
use imagelib::image::{FileName, Image, ImageError};
use imagelib::initramfs::{Survey, survey};
use imagelib::iso::author::{ElTorito, NewFile, NewIso};
use imagelib::iso::{TreeKind, Volume};
use imagelib::kernel_arguments::KernelArgumentEdits;
use imagelib::overlay::{Content, Overlay, Segment, Sizes};
use imagelib::recipe::Recipe;
use vocabulary::network_files::Keyfile;

/// An initramfs with these files.
fn initramfs(paths: &[&str]) -> Vec<u8> {
    let mut archive = Archive::new();
    for path in paths {
        archive.file(path.parse().unwrap(), 0o755, "x").unwrap();
    }
    archive.add_parents(0o755).unwrap();
    archive.to_bytes()
}

/// Of a live system with live-boot.
fn live_boot() -> Vec<u8> {
    initramfs(&["init", "conf/initramfs.conf", "scripts/live", "bin/cp"])
}

/// A bootable ISO with these files.
fn iso(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let loader = ("isolinux/isolinux.bin", vec![7; 4096]);
    let files = files.iter().cloned().chain([loader]);
    let iso = NewIso {
        volume_id: "LIVE".to_owned(),
        files: files.map(|(path, bytes)| (path.parse().unwrap(), NewFile::literal(0o644, bytes))).collect(),
        boot: Some(ElTorito { bios: Some("isolinux/isolinux.bin".parse().unwrap()), uefi: None }),
        ..NewIso::default()
    };
    bytes_of(&Overlay::concatenated(&Sizes::new(), iso.layout().unwrap()).unwrap(), &[])
}

fn bytes_of(overlay: &Overlay, base: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0xAA; usize::try_from(overlay.size()).unwrap()];
    assert_eq!(overlay.read_at(&(Role::Iso, base.to_vec()), 0, &mut bytes).unwrap(), bytes.len());
    bytes
}

fn probe(iso: &[u8]) -> Base {
    Base::probe(&(Role::Iso, iso.to_vec())).unwrap()
}

fn refusal(iso: &[u8]) -> NotCustomisable {
    match probe(iso) {
        Base::Iso(base) => match base.system {
            IsoSystem::Other(reason) => reason,
            other => panic!("{other:?}"),
        },
        Base::Disk(_) | Base::KernelInitrd(_) | Base::Nothing => panic!("an ISO"),
    }
}

fn additions() -> Additions {
    Additions {
        keyfiles: vec![Keyfile {
            name: "eth0.nmconnection".parse().unwrap(),
            content: "[connection]\nid=eth0\n".to_owned(),
        }],
        ..Additions::default()
    }
}

fn identity(iso: &[u8]) -> BaseIdentity {
    BaseIdentity::of(&BTreeMap::from([(Role::Iso, Digest::of(iso))]))
}

fn recipe(iso: &[u8]) -> Recipe {
    Recipe::new(identity(iso), Format::Iso, additions())
}

fn planned(iso: &[u8], recipe: &Recipe) -> Result<Image, ImageError> {
    Image::plan(recipe, &probe(iso), identity(iso))
}

fn output(iso: &[u8], image: &Image) -> Vec<u8> {
    bytes_of(&image.files[&FileName::BootIso], iso)
}

fn file(iso: &[u8], path: &str) -> Vec<u8> {
    let source = iso.to_vec();
    let volume = Volume::open(&source).unwrap();
    volume.find_in(&source, TreeKind::Primary, path).unwrap().unwrap().read(&source, 1 << 20).unwrap()
}

fn surveyed(iso: &[u8], path: &str) -> Survey {
    let keyfile = "usr/lib/dayone/root/etc/NetworkManager/system-connections/eth0.nmconnection";
    survey(&file(iso, path), &[keyfile.parse().unwrap()], 1 << 20).unwrap()
}

fn codes(image: &Image) -> Vec<String> {
    let findings = image.report.findings().iter();
    findings.filter(|finding| finding.code != "not-hybrid").map(ToString::to_string).collect()
}

const MENU: &str = "default live
label live
  linux /live/vmlinuz
  append initrd=/live/initrd.img boot=live quiet
label memory
  linux /live/memtest
label rescue
  linux /live/vmlinuz
  append initrd=/live/rescue.img boot=live
label gone
  linux /live/vmlinuz
  append initrd=/live/gone.img boot=live
";

fn menu_iso(menu: &str, initrds: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut files = vec![("isolinux/isolinux.cfg", menu.as_bytes().to_vec()), ("live/vmlinuz", b"kernel".to_vec())];
    files.extend(initrds.iter().cloned());
    iso(&files)
}

#[test]
fn a_good_initramfs_grows_beside_one_that_cannot_be_read_and_one_that_is_not_there() {
    let garbage = vec![0x42; 5000];
    let base = menu_iso(MENU, &[("live/initrd.img", live_boot()), ("live/rescue.img", garbage.clone())]);
    let Base::Iso(probed) = probe(&base) else { panic!("an ISO") };
    let IsoSystem::Live(live) = &probed.system else { panic!("{:?}", probed.system) };
    assert_eq!((live.profile(), live.is_customised()), (DeliveryProfile::InitramfsTools, false));
    let description = live.describe();
    assert_eq!(
        description.boot_entries.iter().map(|entry| (&*entry.title, entry.initrd.as_deref())).collect::<Vec<_>>(),
        [("live", Some("/live/initrd.img")), ("rescue", Some("/live/rescue.img")), ("gone", None)]
    );
    assert!(description.initrds[1].problem.as_ref().unwrap().contains("not an initramfs"));

    let image = planned(&base, &recipe(&base)).unwrap();
    let warnings = codes(&image);
    let expected =
        ["and assumes that it has", "/live/rescue.img: gets no network configuration", "\"gone\" of /isolinux"];
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    for text in expected {
        assert!(warnings.iter().any(|warning| warning.contains(text)), "{text}: {warnings:?}");
    }
    let output = output(&base, &image);
    assert_eq!(surveyed(&output, "/live/initrd.img").files.len(), 1);
    assert_eq!(file(&output, "/live/rescue.img"), garbage);
    assert_eq!(file(&output, "/isolinux/isolinux.cfg"), MENU.as_bytes());
}

#[test]
fn what_two_initramfs_images_bring_is_shown_once() {
    let base = menu_iso(MENU, &[("live/initrd.img", live_boot()), ("live/rescue.img", live_boot())]);
    let image = planned(&base, &recipe(&base)).unwrap();
    let paths: Vec<&str> = image.embedded.iter().map(|file| &*file.path).collect();
    assert_eq!(paths.len(), paths.iter().collect::<std::collections::BTreeSet<_>>().len(), "{paths:?}");
    for initrd in ["/live/initrd.img", "/live/rescue.img"] {
        assert_eq!(surveyed(&output(&base, &image), initrd).files.len(), 1);
        assert!(codes(&image).iter().any(|warning| warning.starts_with(initrd)), "{:?}", codes(&image));
    }
}

#[test]
fn an_image_of_ours_is_no_base() {
    let base = menu_iso(MENU, &[("live/initrd.img", live_boot()), ("live/rescue.img", live_boot())]);
    let ramdisk = menu_iso(MENU, &[("live/initrd.img", initramfs(&["init", "usr/sbin/NetworkManager"]))]);
    let argument: Recipe = Recipe {
        kernel_arguments: serde_json::from_str(r#"{"append": ["a=b"]}"#).unwrap(),
        ..Recipe::new(identity(&ramdisk), Format::Iso, Additions::default())
    };
    // Files to be copied, files in their places, and nothing but a kernel argument.
    for (base, recipe) in [(&base, recipe(&base)), (&ramdisk, recipe(&ramdisk)), (&ramdisk, argument)] {
        let image = planned(base, &recipe).unwrap();
        assert!(image.changes.iter().any(|change| change.action.contains("note that dayone")), "{:?}", image.changes);
        let output = output(base, &image);
        let probed = probe(&output);
        let Base::Iso(iso) = &probed else { panic!("an ISO") };
        let IsoSystem::Live(live) = &iso.system else { panic!("{:?}", iso.system) };
        assert!(live.is_customised() && probed.formats().is_empty());
        assert!(live.report().findings().iter().any(|finding| finding.code == "customised"));
        for replace_embedded in [false, true] {
            let again = Recipe { replace_embedded, ..self::recipe(&output) };
            let error = planned(&output, &again).unwrap_err();
            assert!(matches!(error, ImageError::NotCustomisable(NotCustomisable::Customised)), "{error}");
            assert!(error.to_string().contains("use the ISO as it was published"), "{error}");
        }
    }
    // Without the note, which others may write over, the files still tell.
    let mut output = output(&base, &planned(&base, &recipe(&base)).unwrap());
    output[16 * 2048 + 883..16 * 2048 + 1395].fill(b' ');
    assert!(matches!(planned(&output, &recipe(&output)), Err(ImageError::NotCustomisable(_))));
}

#[test]
fn an_image_that_changes_nothing_is_the_base() {
    let base = menu_iso(&MENU.replace("quiet", "verify-checksums"), &[("live/initrd.img", live_boot())]);
    let image = planned(&base, &Recipe::new(identity(&base), Format::Iso, Additions::default())).unwrap();
    assert!(output(&base, &image) == base && image.changes.is_empty());
}

#[test]
fn only_chosen_entries_change_and_what_they_share_is_said() {
    let menu = "label one\n linux /live/vmlinuz\n append initrd=/live/initrd.img a\n\
                label two\n linux /live/vmlinuz\n append initrd=/live/initrd.img b\n\
                label three\n linux /live/vmlinuz\n append initrd=/live/rescue.img c\n";
    let base = menu_iso(menu, &[("live/initrd.img", live_boot()), ("live/rescue.img", live_boot())]);
    let choose = |title: &str| Recipe {
        boot_entries: [title.to_owned()].into(),
        kernel_arguments: serde_json::from_str(r#"{"append": ["x=y"]}"#).unwrap(),
        ..recipe(&base)
    };
    let image = planned(&base, &choose("two")).unwrap();
    assert!(codes(&image).iter().any(|warning| warning.ends_with("same additions: \"one\"")), "{:?}", codes(&image));
    assert_eq!(image.kernel_arguments.as_deref(), Some("b x=y"));
    let output = output(&base, &image);
    assert_eq!(file(&output, "/isolinux/isolinux.cfg"), menu.replace("img b", "img b x=y").as_bytes());
    assert_eq!(file(&output, "/live/rescue.img"), live_boot());
    assert_eq!(surveyed(&output, "/live/initrd.img").files.len(), 1);

    for recipe in [choose("four"), Recipe { kernel_arguments: KernelArgumentEdits::default(), ..choose("four") }] {
        let error = planned(&base, &recipe).unwrap_err();
        assert!(matches!(error, ImageError::BootConfig(BootConfigError::UnknownTitle { .. })), "{error}");
    }
    // Nothing would get the network: an error, and not an image without it.
    let base = menu_iso(MENU, &[("live/initrd.img", live_boot())]);
    let error = planned(&base, &Recipe { boot_entries: ["gone".to_owned()].into(), ..recipe(&base) }).unwrap_err();
    assert_eq!(
        error.to_string(),
        "this base cannot be customised: dayone did not find the initrds that its boot menus load: /live/gone.img"
    );
}

#[test]
fn the_last_of_several_initrds_grows_and_is_read_with_those_before_it() {
    let menu = "menuentry 'Live' {\n linux /live/vmlinuz quiet\n initrd /live/ucode.img /live/a.img /live/b.img\n}\n";
    let ucode = initramfs(&["kernel/x86/microcode/GenuineIntel.bin"]);
    // Only both together are an initramfs of live-boot.
    let (a, b) = (initramfs(&["init", "conf/initramfs.conf"]), initramfs(&["scripts/live", "bin/cp"]));
    let base = iso(&[
        ("boot/grub/grub.cfg", menu.as_bytes().to_vec()),
        ("live/vmlinuz", b"kernel".to_vec()),
        ("live/ucode.img", ucode.clone()),
        ("live/a.img", a.clone()),
        ("live/b.img", b.clone()),
    ]);
    assert_eq!(probe(&base).profile(), DeliveryProfile::InitramfsTools);
    let output = output(&base, &planned(&base, &recipe(&base)).unwrap());
    assert!(file(&output, "/live/ucode.img") == ucode && file(&output, "/live/a.img") == a);
    assert!(file(&output, "/live/b.img").starts_with(&b));
    assert_eq!(surveyed(&output, "/live/b.img").files.len(), 1);
}

#[test]
fn who_knows_better_chooses_the_profile() {
    let mkinitcpio = initramfs(&["init", "init_functions", "hooks/base", "usr/sbin/NetworkManager"]);
    let menu = MENU.split("label rescue").next().unwrap();
    let base = menu_iso(menu, &[("live/initrd.img", mkinitcpio)]);
    let error = planned(&base, &recipe(&base)).unwrap_err();
    assert!(matches!(error, ImageError::Delivery(DeliveryError::UnknownSystem)), "{error}");
    let chosen = Recipe { delivery: Some(DeliveryProfile::RootInInitramfs), ..recipe(&base) };
    let image = planned(&base, &chosen).unwrap();
    assert_eq!(image.embedded[0].path, "/etc/NetworkManager/system-connections/eth0.nmconnection");
    let other = Recipe { delivery: Some(DeliveryProfile::Dracut), ..recipe(&base) };
    let error = planned(&base, &other).unwrap_err();
    assert!(matches!(error, ImageError::Delivery(DeliveryError::OtherSystem { .. })), "{error}");
}

#[test]
fn arguments_that_verify_the_medium_are_removed_with_a_warning() {
    let menu = "label check\n linux /live/vmlinuz\n append initrd=/live/initrd.img rd.live.check mediacheck=1 quiet\n";
    let dracut = initramfs(&["init", "usr/lib/dracut/hooks/pre-pivot/a.sh"]);
    let base = menu_iso(menu, &[("live/initrd.img", dracut)]);
    let image = planned(&base, &recipe(&base)).unwrap();
    for check in ["rd.live.check", "mediacheck=1"] {
        let lost = format!("boot entries: lose {check}:");
        assert!(codes(&image).iter().any(|warning| warning.starts_with(&lost)), "{:?}", codes(&image));
    }
    assert_eq!(image.kernel_arguments.as_deref(), Some("quiet"));
    let changed = |change: &imagelib::image::Change| change.subject == "/isolinux/isolinux.cfg";
    assert!(image.changes.iter().any(changed), "{:?}", image.changes);
    assert!(!String::from_utf8(file(&output(&base, &image), "/isolinux/isolinux.cfg")).unwrap().contains("check "));
}

#[test]
fn what_cannot_be_customised_is_refused_with_its_reason() {
    let no_menu = iso(&[("readme", b"nothing".to_vec())]);
    assert!(matches!(refusal(&no_menu), NotCustomisable::NoLinux));
    let gone = menu_iso(MENU, &[]);
    assert_eq!(
        refusal(&gone).to_string(),
        "dayone did not find the initrds that its boot menus load: /live/initrd.img (entry \"live\" of \
         /isolinux/isolinux.cfg), /live/rescue.img (entry \"rescue\" of /isolinux/isolinux.cfg), /live/gone.img (entry \
         \"gone\" of /isolinux/isolinux.cfg)"
    );
    let garbage = menu_iso(MENU, &[("live/initrd.img", vec![0x42; 100])]);
    let reason = refusal(&garbage).to_string();
    assert!(reason.starts_with("its initrd /live/initrd.img cannot be extended: this is not an initramfs"), "{reason}");
    let mut cut = initramfs(&["init"]);
    cut.extend([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x42]);
    let reason = refusal(&menu_iso(MENU, &[("live/initrd.img", cut)])).to_string();
    assert!(reason.contains("/live/initrd.img cannot be extended: it can be read only up to offset"), "{reason}");
}

#[test]
fn the_debian_installer_reads_no_keyfiles() {
    let installer = initramfs(&["init", "bin/netcfg", "lib/debian-installer-startup.d/S10syslog"]);
    let base = menu_iso(MENU, &[("live/initrd.img", installer)]);
    assert_eq!(probe(&base).profile(), DeliveryProfile::RootInInitramfs);
    let image = planned(&base, &recipe(&base)).unwrap();
    assert!(codes(&image)[0].contains("is the Debian installer, which does not read keyfiles"), "{:?}", codes(&image));
}

#[test]
fn lists_of_checksums_stay_right() {
    let (initrd, squashfs) = (live_boot(), vec![9; 3000]);
    let sums = |initrd: &[u8]| {
        format!("{}  ./live/initrd.img\n{}  ./live/filesystem.squashfs\n", Digest::of(initrd), Digest::of(&squashfs))
    };
    let base = menu_iso(
        MENU,
        &[
            ("live/initrd.img", initrd.clone()),
            ("live/filesystem.squashfs", squashfs.clone()),
            ("sha256sum.txt", sums(&initrd).into_bytes()),
        ],
    );
    let output = output(&base, &planned(&base, &recipe(&base)).unwrap());
    let grown = file(&output, "/live/initrd.img");
    assert!(grown.len() > initrd.len());
    assert_eq!(String::from_utf8(file(&output, "/sha256sum.txt")).unwrap(), sums(&grown));
}

/// An ISO whose EFI system partition has systemd-boot's entry, and the initramfs beside it; another one, of the same path,
/// is on the ISO file system.
fn systemd_boot_iso() -> Vec<u8> {
    let entry = "title Live\nlinux /vmlinuz\ninitrd /initrd.img\noptions quiet\n";
    let content = |bytes: Vec<u8>| vec![Segment::Own(Content::Bytes(bytes.into()))];
    let files = BTreeMap::from([
        ("EFI/BOOT/BOOTX64.EFI".parse().unwrap(), content(vec![1; 3000])),
        ("loader/entries/live.conf".parse().unwrap(), content(entry.into())),
        ("vmlinuz".parse().unwrap(), content(vec![2; 3000])),
        ("initrd.img".parse().unwrap(), content(live_boot())),
    ]);
    let fat = NewFat { label: "ESP".parse().unwrap(), id: 7, files: &files }.data_drive().unwrap();
    let esp = bytes_of(&Overlay::concatenated(&Sizes::new(), fat).unwrap(), &[]);
    let file = |bytes| NewFile::literal(0o644, bytes);
    let iso = NewIso {
        volume_id: "LIVE".to_owned(),
        files: BTreeMap::from([
            ("boot/efi.img".parse().unwrap(), file(esp)),
            ("initrd.img".parse().unwrap(), file(live_boot())),
        ]),
        boot: Some(ElTorito { bios: None, uefi: Some("boot/efi.img".parse().unwrap()) }),
        ..NewIso::default()
    };
    bytes_of(&Overlay::concatenated(&Sizes::new(), iso.layout().unwrap()).unwrap(), &[])
}

#[test]
fn what_systemd_boot_loads_from_its_own_partition_grows_there() {
    let base = systemd_boot_iso();
    let arguments = serde_json::from_str::<KernelArgumentEdits>(r#"{"append": ["console=ttyS0"]}"#).unwrap();
    let image = planned(&base, &Recipe { kernel_arguments: arguments, ..recipe(&base) }).unwrap();
    assert_eq!(codes(&image), codes(&planned(&base, &recipe(&base)).unwrap()));
    let made = output(&base, &image);
    // What the loader does not read stays as it is.
    assert!(file(&made, "/initrd.img") == live_boot());
    let esp = file(&made, "/boot/efi.img");
    let fat = FatImage::open(&esp, 0..esp.len() as u64).unwrap();
    let entry = String::from_utf8(fat.read("loader/entries/live.conf").unwrap()).unwrap();
    assert!(entry.contains("options quiet console=ttyS0"), "{entry}");
    let initrd: Vec<u8> = fat
        .file("initrd.img")
        .unwrap()
        .extents
        .iter()
        .flat_map(|range| esp[usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()].to_vec())
        .collect();
    assert!(initrd.starts_with(&live_boot()));
    let keyfile = "usr/lib/dayone/root/etc/NetworkManager/system-connections/eth0.nmconnection".parse().unwrap();
    assert!(survey(&initrd, &[], 0).unwrap().tree.node(&keyfile).is_some());
    let subjects: Vec<&str> = image.changes.iter().map(|change| change.subject.as_str()).collect();
    assert!(subjects.contains(&"/boot/efi.img"), "{subjects:?}");
}
