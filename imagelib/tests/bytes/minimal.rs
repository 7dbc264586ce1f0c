//! Minimal ISOs of live systems: the root file system is beside the medium and not on it, and the menus lead to it.

use crate::live_media;

use std::collections::BTreeMap;

use imagelib::base::{Base, BaseIdentity, Format, Role};
use imagelib::cpio::Archive;
use imagelib::digest::Digest;
use imagelib::image::{FileName, Image, ImageError};
use imagelib::iso::{TreeKind, Volume};
use imagelib::medium_reads::MediumReads;
use imagelib::minimal_iso::{MinimalIso, MinimalIsoVerdict};
use imagelib::overlay::OverlaySource;
use imagelib::recipe::{Recipe, RootfsLocation};
use live_media::{additions, file_in, file_of, grub, iso, kernel};

const URL: &str = "http://192.0.2.1:8081/i/token/rootfs.img";
const PARTS: [&str; 6] = [
    "init",
    "usr/lib/dracut/hooks/pre-pivot/10-x.sh",
    "usr/sbin/livenetroot",
    "usr/bin/curl",
    "usr/sbin/NetworkManager",
    "usr/lib/nm-lib.sh",
];

fn initrd(parts: &[&str]) -> Vec<u8> {
    let mut archive = Archive::new();
    for path in parts {
        archive.file(path.parse().unwrap(), 0o755, (*path).to_owned()).unwrap();
    }
    archive.add_parents(0o755).unwrap();
    archive.to_bytes()
}

fn entry(title: &str, arguments: &str, initrd: &str) -> String {
    format!("menuentry '{title}' {{\n linux /vmlinuz {arguments}\n initrd {initrd}\n}}\n")
}

fn rootfs() -> Vec<u8> {
    (0..=u8::MAX).flat_map(|byte| [byte; 7]).cycle().take(300_000).collect()
}

/// A live ISO with this menu, and with another initramfs that cannot fetch anything.
fn base(menu: &str, parts: &[&str]) -> (Base, Vec<u8>, BaseIdentity) {
    let files = [
        ("boot/grub/grub.cfg", menu.as_bytes().to_vec()),
        ("isolinux/isolinux.bin", vec![7; 4096]),
        ("live/squashfs.img", rootfs()),
        ("before.img", vec![3; 5000]),
        ("initrd.img", initrd(parts)),
        ("rescue.img", initrd(&PARTS[..2])),
        ("vmlinuz", kernel()),
    ];
    let bytes = iso(&files, &[]);
    let base = Base::probe(&(Role::Iso, &bytes)).unwrap();
    let identity = BaseIdentity::of(&BTreeMap::from([(Role::Iso, Digest::of(&bytes))]));
    (base, bytes, identity)
}

fn recipe(identity: BaseIdentity) -> Recipe {
    let rootfs = Some(RootfsLocation::MediaPlane("http://192.0.2.1:8081".to_owned()));
    Recipe { rootfs, ..Recipe::new(identity, Format::MinimalIso, additions()) }
}

const LIVE: &str = "root=live:CDLABEL=LIVE rd.live.image rd.live.dir=live quiet";

#[test]
fn the_medium_has_no_root_file_system_and_the_menu_says_where_it_is() {
    let menu = entry("Live", LIVE, "/initrd.img") + &entry("Check", &format!("{LIVE} rd.live.check"), "/initrd.img");
    let (base, bytes, identity) = base(&menu, &PARTS);
    assert_eq!(base.formats(), [Format::Iso, Format::MinimalIso]);
    assert_eq!(MinimalIso::of(&base).unwrap().verdict, MinimalIsoVerdict::Possible);
    assert!(base.fetches_rootfs(Format::MinimalIso) && base.has_rootfs_to_fetch(Format::MinimalIso));
    assert!(!base.fetches_rootfs(Format::Iso));

    let recipe = recipe(identity);
    let image = Image::plan_at(&recipe, &base, identity, Some(&URL.parse().unwrap())).unwrap();
    assert_eq!(file_of(&image, FileName::Rootfs, &bytes), rootfs());
    let medium = file_of(&image, FileName::BootIso, &bytes);
    assert!(medium.len() + 200_000 < bytes.len(), "{} of {}", medium.len(), bytes.len());
    let volume = Volume::open(&medium).unwrap();
    assert!(volume.find(&medium, "/live/squashfs.img").unwrap().is_none());
    assert_eq!(file_in(&medium, TreeKind::Primary, "/vmlinuz"), kernel());
    let menu = String::from_utf8(file_in(&medium, TreeKind::Primary, "/boot/grub/grub.cfg")).unwrap();
    assert_eq!(menu.matches(&format!("root=live:{URL}\n")).count(), 2, "{menu}");
    assert!(!menu.contains("CDLABEL") && !menu.contains("rd.live.check"), "{menu}");
    let grown = file_in(&medium, TreeKind::Primary, "/initrd.img");
    assert!(grown.starts_with(&initrd(&PARTS)) && grown.len() > initrd(&PARTS).len());
    // The initramfs has no such directories, without which the kernel would drop the keyfile.
    for directory in ["etc/NetworkManager\0", "etc/NetworkManager/system-connections\0"] {
        assert!(grown.windows(directory.len()).any(|window| window == directory.as_bytes()), "{directory}");
    }
    let left_out = image.changes.iter().find(|change| change.subject == "/live/squashfs.img").unwrap();
    assert_eq!((left_out.old_size, left_out.new_size), (Some(300_000), None));
    assert_eq!(left_out.why, "the system fetches it over the network");

    let reads = MediumReads::of(&base);
    let formats: Vec<Format> = reads.iter().map(|reads| reads.format).collect();
    assert_eq!(formats, [Format::Iso, Format::MinimalIso]);
    let needed = (kernel().len() + initrd(&PARTS).len()) as u64;
    for (reads, with_root) in reads.iter().zip([true, false]) {
        assert_eq!(reads.at_least, needed, "{reads:?}");
        assert_eq!(reads.at_most > rootfs().len() as u64, with_root, "{reads:?}");
        let mut recipe = recipe.clone();
        (recipe.format, recipe.rootfs) = (reads.format, recipe.rootfs.filter(|_| !with_root));
        let image = Image::plan_at(&recipe, &base, identity, Some(&URL.parse().unwrap())).unwrap();
        // The host's own files come on top.
        let (size, own) = (image.files[&FileName::BootIso].size(), 16 << 10);
        assert!(size <= reads.at_most + own && size + own >= reads.at_most, "{size}: {reads:?}");
    }

    // It is an image like any other: the same again, and no base.
    assert_eq!(Image::plan_at(&recipe, &base, identity, Some(&URL.parse().unwrap())).unwrap().files, image.files);
    let made = OverlaySource::new(&image.files[&FileName::BootIso], (Role::Iso, &bytes));
    assert_eq!(Base::probe(&(Role::Iso, &made)).unwrap().formats(), []);
}

#[test]
fn the_url_is_the_users_own_or_missing() {
    let (base, _, identity) = base(&entry("Live", LIVE, "/initrd.img"), &PARTS);
    let with = |rootfs: Option<&str>, append: &[&str]| {
        let mut recipe = recipe(identity);
        recipe.rootfs = rootfs.map(|url| RootfsLocation::Url(url.parse().unwrap()));
        recipe.kernel_arguments.append = append.iter().map(|argument| argument.parse().unwrap()).collect();
        Image::plan(&recipe, &base, identity)
    };
    let image = with(Some("http://mirror.example/root.img"), &[]).unwrap();
    assert!(!image.files.contains_key(&FileName::Rootfs));
    assert!(image.kernel_arguments.unwrap().ends_with("root=live:http://mirror.example/root.img"));
    let image = with(None, &["root=live:http://other.example/r"]).unwrap();
    assert!(image.kernel_arguments.unwrap().ends_with("quiet root=live:http://other.example/r"));
    assert!(matches!(with(None, &[]), Err(ImageError::NoRootfsUrl)));
    let error = with(Some("https://mirror.example/root.img"), &[]).unwrap_err().to_string();
    assert!(error.contains("has no certificates of authorities"), "{error}");
    with(Some("https://mirror.example/root.img"), &["rd.noverifyssl"]).unwrap();
}

/// The layout of Fedora's and RHEL's installation media.
fn anaconda(arguments: &str, more: &[(&str, Vec<u8>)]) -> (Base, Vec<u8>, BaseIdentity) {
    let parts = [PARTS.as_slice(), &["lib/anaconda-lib.sh"]].concat();
    let mut files = vec![
        ("boot/grub/grub.cfg", entry("Install", arguments, "/initrd.img").into_bytes()),
        ("images/install.img", rootfs()),
        ("initrd.img", initrd(&parts)),
        ("vmlinuz", kernel()),
    ];
    files.extend_from_slice(more);
    let menu = entry("Install", arguments, "/initrd.img").into_bytes();
    let bytes = iso(&files, &[("EFI/BOOT/BOOTX64.EFI", grub()), ("EFI/BOOT/grub.cfg", menu)]);
    let base = Base::probe(&(Role::Iso, &bytes)).unwrap();
    let identity = BaseIdentity::of(&BTreeMap::from([(Role::Iso, Digest::of(&bytes))]));
    (base, bytes, identity)
}

/// `root=` makes Anaconda's part of the initramfs look for nothing. What the other argument says of the packages stays true.
#[test]
fn an_installer_of_anaconda_fetches_its_system() {
    let (base, bytes, identity) = anaconda("inst.stage2=hd:LABEL=RHEL-9-4 quiet", &[]);
    assert_eq!(MinimalIso::of(&base).unwrap().verdict, MinimalIsoVerdict::Possible);
    let image = Image::plan_at(&recipe(identity), &base, identity, Some(&URL.parse().unwrap())).unwrap();
    assert_eq!(file_of(&image, FileName::Rootfs, &bytes), rootfs());
    assert_eq!(
        image.kernel_arguments.as_deref().unwrap(),
        format!("inst.stage2=hd:LABEL=RHEL-9-4 quiet root=live:{URL}")
    );
    let medium = file_of(&image, FileName::BootIso, &bytes);
    assert!(Volume::open(&medium).unwrap().find(&medium, "/images/install.img").unwrap().is_none());

    // With `root=`, the medium starts a live system, and not Anaconda.
    let (base, _, _) = anaconda("root=live:CDLABEL=x", &[]);
    assert!(MinimalIso::of(&base).unwrap().reason.contains("not on the medium as /LiveOS/squashfs.img"));
}

#[test]
fn an_installer_with_updates_beside_it_is_refused() {
    for path in ["images/updates.img", "images/product.img", "images/RHupdates/anaconda.py"] {
        let (base, _, _) = anaconda("inst.stage2=hd:LABEL=RHEL-9-4", &[(path, vec![1; 100])]);
        let found = MinimalIso::of(&base).unwrap();
        assert_eq!(found.verdict, MinimalIsoVerdict::Impossible, "{path}");
        let named = path.split("/anaconda.py").next().unwrap();
        assert!(
            found.reason.contains(&format!("it has \"/{named}\", which Anaconda applies only")),
            "{}",
            found.reason
        );
    }
}

#[test]
fn every_chosen_entry_must_fetch_it() {
    let menu = entry("Live", LIVE, "/initrd.img") + &entry("Rescue", LIVE, "/rescue.img");
    let (base, _, identity) = base(&menu, &PARTS);
    let mut recipe = recipe(identity);
    let url = URL.parse().unwrap();
    let error = Image::plan_at(&recipe, &base, identity, Some(&url)).unwrap_err().to_string();
    assert!(error.contains("boot entry \"Rescue\": its initramfs lacks dracut's module livenet"), "{error}");
    recipe.boot_entries.insert("Live".to_owned());
    let image = Image::plan_at(&recipe, &base, identity, Some(&url)).unwrap();
    let codes: Vec<_> = image.report.findings().iter().map(|finding| finding.code).collect();
    assert!(codes.contains(&"root-left-out"), "{codes:?}");
}

#[test]
fn a_base_says_why_it_has_none() {
    for (menu, parts, reason) in [
        (entry("Live", LIVE, "/initrd.img"), &PARTS[..3], "its initramfs lacks the program curl"),
        (entry("Live", "root=/dev/sda1", "/initrd.img"), &PARTS[..], "have no root=live:"),
        (
            entry("Live", &format!("{LIVE} rd.live.dir= rd.live.squashimg=before.img"), "/initrd.img"),
            &PARTS[..],
            "\"/before.img\" in the ISO image cannot be edited: it stands before directories",
        ),
        (
            entry("Live", &format!("{LIVE} rd.live.dir=x"), "/initrd.img"),
            &PARTS[..],
            "not on the medium as /x/squashfs.img or /x/rootfs.img",
        ),
    ] {
        let (base, _, identity) = base(&menu, parts);
        assert!(!base.formats().contains(&Format::MinimalIso), "{reason}");
        let found = MinimalIso::of(&base).unwrap();
        assert_eq!(found.verdict, MinimalIsoVerdict::Impossible);
        assert!(found.reason.contains(reason), "{}", found.reason);
        let error = Image::plan_at(&recipe(identity), &base, identity, Some(&URL.parse().unwrap())).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
    }
}
