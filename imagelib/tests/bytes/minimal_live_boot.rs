//! Minimal ISOs of live-boot: the root file system is beside the medium, and the initramfs has the network by which it is fetched.

use crate::live_media;

use std::collections::BTreeMap;

use imagelib::base::{Base, BaseIdentity, Format, Role};
use imagelib::cpio::Archive;
use imagelib::digest::Digest;
use imagelib::image::{self, FileName, Image, ImageError};
use imagelib::initramfs::survey;
use imagelib::iso::TreeKind;
use imagelib::minimal_iso::{MinimalIso, MinimalIsoVerdict};
use imagelib::recipe::{Recipe, RecipeError, RootfsLocation, SealedRecipe};
use live_media::{additions, file_in, file_of, iso, kernel};
use vocabulary::network_files::InitramfsNetwork;

const URL: &str = "http://192.0.2.1:8081/i/token/rootfs.squashfs";
const ARGUMENTS: &str = "boot=live components toram quiet";
const PARTS: [&str; 8] = [
    "init",
    "conf/initramfs.conf",
    "bin/cp",
    "bin/wget",
    "sbin/ip",
    "scripts/live",
    "usr/lib/live/boot/9990-netboot.sh",
    "usr/lib/live/boot/9990-mount-http.sh",
];

fn initrd(parts: &[&str]) -> Vec<u8> {
    let mut archive = Archive::new();
    archive.symlink("lib".parse().unwrap(), "usr/lib").unwrap();
    for path in parts {
        archive.file(path.parse().unwrap(), 0o755, (*path).to_owned()).unwrap();
    }
    archive.add_parents(0o755).unwrap();
    archive.to_bytes()
}

fn rootfs() -> Vec<u8> {
    (0..=u8::MAX).flat_map(|byte| [byte; 7]).cycle().take(300_000).collect()
}

/// A live ISO with these arguments and parts of the initramfs, and with more files.
fn base(arguments: &str, parts: &[&str], more: &[(&str, Vec<u8>)]) -> (Base, Vec<u8>, BaseIdentity) {
    let menu = format!("menuentry 'Live' {{\n linux /vmlinuz {arguments}\n initrd /initrd.img\n}}\n");
    let mut files = vec![
        ("boot/grub/grub.cfg", menu.into_bytes()),
        ("isolinux/isolinux.bin", vec![7; 4096]),
        ("live/filesystem.squashfs", rootfs()),
        ("live/filesystem.packages", b"bash 5.2\n".to_vec()),
        ("initrd.img", initrd(parts)),
        ("vmlinuz", kernel()),
    ];
    files.extend_from_slice(more);
    let bytes = iso(&files, &[]);
    let base = Base::probe(&(Role::Iso, &bytes)).unwrap();
    let identity = BaseIdentity::of(&BTreeMap::from([(Role::Iso, Digest::of(&bytes))]));
    (base, bytes, identity)
}

fn network() -> InitramfsNetwork {
    serde_yaml::from_str("{nics: [{mac: '52:54:00:12:34:01'}], addresses: [192.0.2.10/24], server: 192.0.2.1}").unwrap()
}

fn recipe(identity: BaseIdentity) -> Recipe {
    let rootfs = Some(RootfsLocation::MediaPlane("http://192.0.2.1:8081".to_owned()));
    let initramfs_network = Some(network());
    Recipe { rootfs, initramfs_network, ..Recipe::new(identity, Format::MinimalIso, additions()) }
}

fn planned(recipe: &Recipe, base: &Base) -> Result<Image, ImageError> {
    Image::plan_at(recipe, base, recipe.base, Some(&URL.parse().unwrap()))
}

#[test]
fn the_initramfs_has_the_network_and_the_menu_the_url() {
    let (base, bytes, identity) = base(ARGUMENTS, &PARTS, &[]);
    assert_eq!(base.formats(), [Format::Iso, Format::MinimalIso]);
    let found = MinimalIso::of(&base).unwrap();
    assert_eq!(found.verdict, MinimalIsoVerdict::Possible);
    assert!(found.reason.starts_with("live-boot fetches the root file system, 300000 bytes"), "{}", found.reason);

    let recipe = recipe(identity);
    assert_eq!(image::rootfs_name(&recipe, &base), FileName::RootSquashfs);
    assert_eq!(image::initramfs_server(&recipe, &base), Some([192, 0, 2, 1].into()));
    let image = planned(&recipe, &base).unwrap();
    assert_eq!(file_of(&image, FileName::RootSquashfs, &bytes), rootfs());
    assert!(!image.files.contains_key(&FileName::Rootfs));
    let medium = file_of(&image, FileName::BootIso, &bytes);
    assert!(medium.len() + 200_000 < bytes.len(), "{} of {}", medium.len(), bytes.len());
    let menu = String::from_utf8(file_in(&medium, TreeKind::Primary, "/boot/grub/grub.cfg")).unwrap();
    assert!(menu.contains(&format!("boot=live components quiet fetch={URL}\n")), "{menu}");

    let grown = file_in(&medium, TreeKind::Primary, "/initrd.img");
    // Where the link leads to, and not in its place.
    let component = "usr/lib/live/boot/9999-dayone.sh".parse().unwrap();
    let files = survey(&grown, std::slice::from_ref(&component), 1 << 20).unwrap().files;
    let component = String::from_utf8(files[&component].clone()).unwrap();
    assert!(component.contains("\ndayone_addresses='192.0.2.10/24'\n"), "{component}");
    let embedded: Vec<&str> = image.embedded.iter().map(|file| file.path.as_str()).collect();
    assert!(embedded.contains(&"/lib/live/boot/9999-dayone.sh"), "{embedded:?}");
    // The live system gets its keyfiles as from every other medium.
    assert!(embedded.iter().any(|path| path.starts_with("/etc/NetworkManager/system-connections/")), "{embedded:?}");

    assert_eq!(planned(&recipe, &base).unwrap().files, image.files);
}

/// What is published must stay as it is: ids and bytes.
#[test]
fn the_same_order_gives_the_same_bytes() {
    let (base, bytes, identity) = base(ARGUMENTS, &PARTS, &[]);
    let recipe = recipe(identity);
    let medium = file_of(&planned(&recipe, &base).unwrap(), FileName::BootIso, &bytes);
    assert_eq!(recipe.id().to_string(), "5242a13953a6ce0eaeba1bb06f9b5bab8157796534a7ce8d8740b4f9e012020d");
    assert_eq!(Digest::of(&medium).to_string(), "a78c0bcb755cfb710a91a2079736283e1c9f7d92faf47eb066f8fae0e210ab94");
}

#[test]
fn the_network_is_a_part_of_the_recipe_with_a_version_of_its_own() {
    let (_, _, identity) = base(ARGUMENTS, &PARTS, &[]);
    let with = recipe(identity);
    let without = Recipe { initramfs_network: None, ..with.clone() };
    let text = |recipe: &Recipe| String::from_utf8(recipe.clone().seal().canonical_json().to_vec()).unwrap();
    assert!(text(&with).starts_with(r#"{"version":3,"#) && text(&without).starts_with(r#"{"version":1,"#));
    assert!(!text(&without).contains("initramfs_network"));
    let read = |text: &str| SealedRecipe::from_canonical_json(text.as_bytes());
    assert_eq!(*read(&text(&with)).unwrap().recipe(), with);
    for damaged in [
        text(&with).replacen("\"version\":3", "\"version\":1", 1),
        text(&without).replacen("\"version\":1", "\"version\":3", 1),
    ] {
        assert!(matches!(read(&damaged), Err(RecipeError::Parts)), "{damaged}");
    }
    assert!(matches!(read(&text(&with).replacen("\"version\":3", "\"version\":4", 1)), Err(RecipeError::Version(4))));
}

#[test]
fn what_live_boot_cannot_fetch_is_refused_with_the_reason() {
    let (base, _, identity) = base(ARGUMENTS, &PARTS, &[]);
    let with = |change: &dyn Fn(&mut Recipe)| {
        let mut recipe = recipe(identity);
        change(&mut recipe);
        planned(&recipe, &base).map(|image| image.kernel_arguments.unwrap()).map_err(|error| error.to_string())
    };
    let url =
        |url: &'static str| move |recipe: &mut Recipe| recipe.rootfs = Some(RootfsLocation::Url(url.parse().unwrap()));
    let own = |argument: &'static str| {
        move |recipe: &mut Recipe| recipe.kernel_arguments.append = vec![argument.parse().unwrap()]
    };
    assert!(with(&url("http://192.0.2.1/a.squashfs")).unwrap().ends_with(" fetch=http://192.0.2.1/a.squashfs"));
    assert!(with(&own("fetch=http://192.0.2.1/b.squashfs")).unwrap().ends_with(" fetch=http://192.0.2.1/b.squashfs"));
    for (change, reason) in [
        (&url("https://192.0.2.1/a.squashfs") as &dyn Fn(&mut Recipe), "which verifies no certificate"),
        (&url("http://192.0.2.1/rootfs.img"), "URL ends with .squashfs"),
        (&own("fetch=http://192.0.2.1/rootfs.img"), "URL ends with .squashfs"),
        (&url("http://192.0.2.2/a.squashfs"), "has none for the server \"192.0.2.2\""),
        (&|recipe| recipe.initramfs_network = None, "give the host's document"),
        (&|recipe| recipe.format = Format::Iso, "the network of the initramfs has no effect"),
    ] {
        let error = with(change).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
    // No network leads to a server whose address is not known, so the order has none.
    let named = |recipe: &mut Recipe| {
        url("http://mirror.example/a.squashfs")(recipe);
        recipe.initramfs_network = None;
    };
    let error = with(&named).unwrap_err();
    assert!(error.contains("names its server \"mirror.example\""), "{error}");
}

#[test]
fn a_base_says_why_it_has_none() {
    let more = |path: &'static str| vec![(path, vec![1; 3000])];
    for (arguments, parts, more, reason) in [
        (ARGUMENTS, &PARTS[..6], vec![], "its initramfs lacks the components of live-boot"),
        (ARGUMENTS, &["init", "conf/initramfs.conf", "scripts/local"], vec![], "its initramfs lacks live-boot"),
        ("boot=local", &PARTS[..], vec![], "have no boot=live"),
        ("boot=live live-media-path=other", &PARTS[..], vec![], "not on the medium as /other/*.squashfs"),
        (
            ARGUMENTS,
            &PARTS[..],
            more("live/extra.squashfs"),
            "in several files, and live-boot fetches one: /live/extra.squashfs, /live/filesystem.squashfs",
        ),
        (ARGUMENTS, &PARTS[..], more("live/filesystem.squashfs.verity"), "in several files"),
    ] {
        let (base, _, identity) = base(arguments, parts, &more);
        assert!(!base.formats().contains(&Format::MinimalIso), "{reason}");
        let found = MinimalIso::of(&base).unwrap();
        assert!(found.verdict == MinimalIsoVerdict::Impossible && found.reason.contains(reason), "{}", found.reason);
        let recipe = Recipe { initramfs_network: None, ..recipe(identity) };
        let error = planned(&recipe, &base).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}
