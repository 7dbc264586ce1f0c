//! Images of an initramfs, with or without its kernel.
use std::collections::BTreeMap;

use bytes::Bytes;
use imagelib::base::live::NotCustomisable;
use imagelib::base::{Base, DeliveryProfile, Format, IsoBase, IsoSystem, Role};
use imagelib::cpio::Archive;
use imagelib::delivery::DeliveryError;
use imagelib::ignition::{Additions, Unit, UserConfig};
use imagelib::image::{FileName, Image, ImageError};
use imagelib::initramfs::survey;
use imagelib::kernel_arguments::KernelArgumentEdits;
use imagelib::recipe::Recipe;

use crate::image::{additions, base_iso, file, identity, materialise, member, recipe};

/// An initramfs whose `etc` is a directory and whose `var/run` is a symbolic link, 1 to 4 bytes off a multiple of 4.
fn initramfs(coreos: bool) -> Vec<u8> {
    let mut archive = Archive::new();
    archive.directory(member("etc"), 0o755).unwrap();
    archive.directory(member("run"), 0o755).unwrap();
    archive.directory(member("usr"), 0o755).unwrap();
    archive.directory(member("usr/sbin"), 0o755).unwrap();
    archive.directory(member("var"), 0o755).unwrap();
    archive.symlink(member("var/run"), "../run").unwrap();
    archive.file(member("usr/sbin/NetworkManager"), 0o755, Bytes::from_static(b"\x7fELF")).unwrap();
    if coreos {
        archive.file(member("etc/coreos-live-initramfs"), 0o644, Bytes::new()).unwrap();
    }
    imagelib::compression::Compression::Gzip.compress(&archive.to_bytes()).unwrap()
}

#[test]
fn a_system_in_its_initramfs_gets_every_file_in_its_final_place() {
    let initrd = initramfs(false);
    let kernel = b"MZ kernel".to_vec();
    let sources = BTreeMap::from([(Role::Kernel, kernel.as_slice()), (Role::Initrd, initrd.as_slice())]);
    let base = Base::probe(&sources).unwrap();
    let Base::KernelInitrd(found) = &base else { panic!("not an initramfs") };
    assert_eq!((found.profile, found.has_network_manager), (DeliveryProfile::RootInInitramfs, true));
    let identity = identity(Role::Initrd, &initrd);
    let mut recipe = recipe(identity, Format::Initrd);
    recipe.kernel_arguments = KernelArgumentEdits::default();
    recipe.additions.files = vec![file("/var/run/hello", b"hello".to_vec())];
    let image = Image::plan(&recipe, &base, identity).unwrap();
    let codes: Vec<&str> = image.report.findings().iter().map(|finding| finding.code).collect();
    assert_eq!(
        codes,
        ["files-behind-mounts"],
        "/run is in the initramfs, and another file system may hide it: {:?}",
        image.report
    );
    assert_eq!(materialise(&image, FileName::Kernel, &(Role::Kernel, &kernel)), kernel);

    let grown = materialise(&image, FileName::Initrd, &(Role::Initrd, &initrd));
    assert!(grown.starts_with(&initrd));
    let wanted = [
        ("etc/NetworkManager/system-connections/eth0.nmconnection", "[connection]\nid=eth0\npsk=hunter2\n"),
        ("etc/hostname", "worker-0\n"),
        ("etc/NetworkManager/conf.d/99-dayone-no-auto-default.conf", "[main]\nno-auto-default=*\n"),
        // Through the symbolic link, which is still one.
        ("run/hello", "hello"),
    ];
    let paths: Vec<_> = wanted.iter().map(|(path, _)| member(path)).collect();
    let survey = survey(&grown, &paths, 1 << 20).unwrap();
    for (path, content) in wanted {
        assert_eq!(survey.files[&member(path)], content.as_bytes(), "{path}");
    }
    assert!(matches!(survey.tree.node(&member("var/run")), Some(imagelib::initramfs::Node::Symlink { .. })));
}

#[test]
fn an_initramfs_alone_becomes_an_initramfs_alone() {
    let initrd = initramfs(false);
    let base = Base::probe(&(Role::Initrd, &initrd)).unwrap();
    assert_eq!(base.formats(), [Format::Initrd]);
    let identity = identity(Role::Initrd, &initrd);
    let plan = |format| {
        let mut recipe = recipe(identity, format);
        recipe.kernel_arguments = KernelArgumentEdits::default();
        Image::plan(&recipe, &base, identity)
    };
    let image = plan(Format::Initrd).unwrap();
    assert_eq!(image.files.keys().copied().collect::<Vec<_>>(), [FileName::Initrd]);
    assert!(materialise(&image, FileName::Initrd, &(Role::Initrd, &initrd)).starts_with(&initrd));
    for format in [Format::Iso, Format::Usb] {
        let error = plan(format).unwrap_err().to_string();
        assert!(error.contains("it has no kernel"), "{error}");
    }
}

/// An archive that is appended overwrites files of the same path, and removes none.
#[test]
fn an_initramfs_with_files_of_a_host_is_no_base_and_an_ignition_config_alone_is_replaced() {
    let made = |initrd: &Vec<u8>, additions: Additions, replace_embedded: bool| {
        let base = Base::probe(&(Role::Initrd, initrd)).unwrap();
        let identity = identity(Role::Initrd, initrd);
        let kernel_arguments = KernelArgumentEdits::default();
        let recipe = Recipe { additions, kernel_arguments, replace_embedded, ..recipe(identity, Format::Initrd) };
        let image = Image::plan(&recipe, &base, identity)?;
        Ok::<_, ImageError>(materialise(&image, FileName::Initrd, &(Role::Initrd, initrd)))
    };
    for coreos in [true, false] {
        let first = made(&initramfs(coreos), additions(), false).unwrap();
        let base = Base::probe(&(Role::Initrd, &first)).unwrap();
        assert_eq!(base.formats(), []);
        let Base::KernelInitrd(base) = base else { panic!("not an initramfs") };
        assert!(base.customised && base.problem().is_some());
        for replace_embedded in [false, true] {
            let error = made(&first, additions(), replace_embedded).unwrap_err();
            assert!(matches!(error, ImageError::NotCustomisable(NotCustomisable::CustomisedInitramfs)), "{error}");
        }
    }
    // Without keyfiles, CoreOS gets an Ignition config alone.
    let host = |name: &str| Additions { hostname: Some(name.parse().unwrap()), ..Additions::default() };
    let first = made(&initramfs(true), host("worker-0"), false).unwrap();
    let error = made(&first, host("worker-1"), false).unwrap_err();
    assert!(matches!(error, ImageError::Customised(_)), "{error}");
    let config = |initrd: &Vec<u8>| {
        survey(initrd, &[member("config.ign")], 1 << 20).unwrap().files.remove(&member("config.ign")).unwrap()
    };
    let second = made(&first, host("worker-1"), true).unwrap();
    assert_eq!(config(&second), config(&made(&initramfs(true), host("worker-1"), false).unwrap()));
}

/// Such images have no note from dayone, unlike ISOs that dayone has changed.
#[test]
fn media_around_an_initramfs_are_no_bases() {
    let kernel = b"MZ kernel".to_vec();
    let mut grub = b"....cdrom read fails".to_vec();
    grub.resize(8192, 0);
    for coreos in [true, false] {
        let initrd = initramfs(coreos);
        let files = BTreeMap::from([(Role::Kernel, &kernel), (Role::Initrd, &initrd), (Role::BiosLoader, &grub)]);
        let (base, identity) = (Base::probe(&files).unwrap(), identity(Role::Initrd, &initrd));
        let kernel_arguments = KernelArgumentEdits::default();
        let recipe = Recipe { kernel_arguments, ..recipe(identity, Format::Iso) };
        let image = Image::plan(&recipe, &base, identity).unwrap();
        let iso = materialise(&image, FileName::BootIso, &files);
        let Base::Iso(IsoBase { system: IsoSystem::Live(live), .. }) = Base::probe(&(Role::Iso, &iso)).unwrap() else {
            panic!("not a live ISO")
        };
        assert!(live.is_customised());
    }
}

#[test]
fn what_only_ignition_can_deliver_is_refused_for_other_systems() {
    let initrd = initramfs(false);
    let base = Base::probe(&(Role::Initrd, &initrd)).unwrap();
    let identity = identity(Role::Initrd, &initrd);
    let unit = Unit { name: "x.service".parse().unwrap(), enabled: true, contents: Some("[Unit]\n".to_owned()) };
    let user = UserConfig::parse(br#"{"ignition": {"version": "3.2.0"}}"#).unwrap();
    let plain = Recipe { kernel_arguments: KernelArgumentEdits::default(), ..recipe(identity, Format::Initrd) };
    for recipe in [
        Recipe { ignition: Some(user), ..plain.clone() },
        Recipe { additions: Additions { units: vec![unit], ..additions() }, ..plain.clone() },
    ] {
        assert!(matches!(
            Image::plan(&recipe, &base, identity),
            Err(ImageError::Delivery(DeliveryError::NeedsIgnition { .. }))
        ));
    }
    let iso = Recipe { format: Format::Iso, ..plain };
    assert!(matches!(Image::plan(&iso, &base, identity), Err(ImageError::Format { .. })));
}

#[test]
fn a_coreos_initramfs_gets_what_its_iso_would_and_the_arguments_that_ignition_waits_for() {
    let initrd = initramfs(true);
    let rootfs = b"squashfs".to_vec();
    let base = Base::probe(&BTreeMap::from([(Role::Initrd, &initrd), (Role::Rootfs, &rootfs)])).unwrap();
    let identity = identity(Role::Initrd, &initrd);
    let recipe = Recipe { kernel_arguments: KernelArgumentEdits::default(), ..recipe(identity, Format::Initrd) };
    let image = Image::plan(&recipe, &base, identity).unwrap();
    let paths = [member("config.ign"), member("etc/coreos-firstboot-network/eth0.nmconnection")];
    let survey = survey(&materialise(&image, FileName::Initrd, &(Role::Initrd, &initrd)), &paths, 1 << 20).unwrap();
    assert_eq!(survey.files.len(), 2);
    assert_eq!(image.kernel_arguments.as_deref(), Some("ignition.firstboot ignition.platform.id=metal"));
    assert_eq!(image.rootfs_argument, Some("coreos.live.rootfs_url"));

    // iPXE adds 26 bytes.
    let plan = |length: usize| {
        let mut recipe = recipe.clone();
        let edits = format!(r#"{{"append": ["a={}"]}}"#, "b".repeat(length - 2));
        recipe.kernel_arguments = serde_json::from_str(&edits).unwrap();
        Image::plan(&recipe, &base, identity)
    };
    let longest = 2046 - 26 - "ignition.firstboot ignition.platform.id=metal ".len();
    plan(longest).unwrap();
    assert!(matches!(plan(longest + 1), Err(ImageError::CommandLine(error)) if error.length == 2047));
}

#[test]
fn the_url_of_the_root_file_system_counts_as_an_argument() {
    let (kernel, initrd) = (b"MZ kernel".to_vec(), initramfs(true));
    let mut grub = b"....cdrom read fails".to_vec();
    grub.resize(8192, 0);
    let files = [(Role::Kernel, &kernel), (Role::Initrd, &initrd), (Role::BiosLoader, &grub)];
    let base = Base::probe(&BTreeMap::from(files)).unwrap();
    let identity = identity(Role::Initrd, &initrd);
    let edits = format!(r#"{{"append": ["a={}"]}}"#, "b".repeat(1100));
    let plain = Recipe { kernel_arguments: serde_json::from_str(&edits).unwrap(), ..recipe(identity, Format::Iso) };
    Image::plan(&plain, &base, identity).unwrap();
    let url = format!("https://x/{}", "r".repeat(900)).parse().unwrap();
    let error = Image::plan_at(&plain, &base, identity, Some(&url)).unwrap_err().to_string();
    assert!(error.contains("leave out or shorten arguments, such as \"a\""), "{error}");
}

#[test]
fn files_in_the_wrong_place_are_no_base() {
    let (initrd, iso) = (initramfs(false), base_iso("coreos.iso.xz"));
    let noise = vec![0x42; 5000];
    let archive = {
        let mut archive = Archive::new();
        archive.directory(member("a"), 0o755).unwrap();
        archive.to_bytes()
    };
    for files in [
        vec![(Role::Iso, &initrd)],
        vec![(Role::Iso, &noise)],
        vec![(Role::Initrd, &iso)],
        vec![(Role::Initrd, &noise)],
        vec![(Role::Kernel, &archive), (Role::Initrd, &initrd)],
        vec![(Role::Kernel, &archive)],
    ] {
        assert!(Base::probe(&files.into_iter().collect::<BTreeMap<_, _>>()).is_err());
    }
}
