//! Minimal ISOs of Ubuntu's live media: the medium has no root file systems, and casper fetches the base as a whole.

use crate::live_media;

use std::collections::BTreeMap;

use imagelib::base::{Base, BaseIdentity, Format, Role};
use imagelib::cpio::Archive;
use imagelib::digest::Digest;
use imagelib::image::{self, FileName, Image};
use imagelib::initramfs::survey;
use imagelib::iso::{TreeKind, Volume};
use imagelib::minimal_iso::{MinimalIso, MinimalIsoVerdict};
use imagelib::recipe::{Recipe, RootfsLocation};
use live_media::{additions, file_in, file_of, iso, kernel};
use vocabulary::network_files::InitramfsNetwork;

const URL: &str = "http://192.0.2.1:8081/i/token/rootfs.iso";
const SCRIPT: &str = "parse_cmdline() {\n case $x in\n url=*.iso)\n export NETBOOT=url ;;\n esac\n}\n";
const LAYERS: [&str; 3] =
    ["casper/minimal.squashfs", "casper/minimal.standard.live.squashfs", "casper/minimal.standard.squashfs"];

fn initrd(script: &str) -> Vec<u8> {
    let mut archive = Archive::new();
    for path in
        ["init", "conf/initramfs.conf", "conf/conf.d/default-boot-to-casper.conf", "bin/cp", "bin/wget", "bin/ip"]
    {
        archive.file(path.parse().unwrap(), 0o755, path.to_owned()).unwrap();
    }
    archive.file("scripts/casper".parse().unwrap(), 0o755, script.to_owned()).unwrap();
    archive.add_parents(0o755).unwrap();
    archive.to_bytes()
}

/// The layout of Ubuntu's media since 22.04.
fn base(script: &str, layers: &[&str]) -> (Base, Vec<u8>, BaseIdentity) {
    let menu = "menuentry 'Try or Install' {\n linux /casper/vmlinuz layerfs-path=minimal.standard.live.squashfs --- quiet\n \
                initrd /casper/initrd\n}\n";
    let mut files = vec![
        ("boot/grub/grub.cfg", menu.as_bytes().to_vec()),
        ("casper/initrd", initrd(script)),
        ("casper/minimal.manifest", b"bash 5.2\n".to_vec()),
        ("casper/vmlinuz", kernel()),
        (".disk/casper-uuid-generic", b"uuid\n".to_vec()),
        ("pool/main/b/bash.deb", vec![9; 5000]),
    ];
    files.extend(layers.iter().zip(1..).map(|(path, byte)| (*path, vec![byte; 100_000])));
    let bytes = iso(&files, &[("EFI/BOOT/BOOTX64.EFI", live_media::grub())]);
    let base = Base::probe(&(Role::Iso, &bytes)).unwrap();
    let identity = BaseIdentity::of(&BTreeMap::from([(Role::Iso, Digest::of(&bytes))]));
    (base, bytes, identity)
}

fn recipe(identity: BaseIdentity) -> Recipe {
    let rootfs = Some(RootfsLocation::MediaPlane("http://192.0.2.1:8081".to_owned()));
    let network = "{nics: [{mac: '52:54:00:12:34:01'}], addresses: [192.0.2.10/24], server: 192.0.2.1}";
    let initramfs_network = Some(serde_yaml::from_str::<InitramfsNetwork>(network).unwrap());
    Recipe { rootfs, initramfs_network, ..Recipe::new(identity, Format::MinimalIso, additions()) }
}

#[test]
fn the_medium_has_no_layer_and_the_menu_leads_to_the_whole_base() {
    let (base, bytes, identity) = base(SCRIPT, &LAYERS);
    let found = MinimalIso::of(&base).unwrap();
    assert_eq!(found.verdict, MinimalIsoVerdict::Possible, "{}", found.reason);
    assert!(
        found.reason.starts_with(&format!("casper fetches the whole ISO, {} bytes", bytes.len())),
        "{}",
        found.reason
    );

    let recipe = recipe(identity);
    assert_eq!(image::rootfs_name(&recipe, &base), FileName::RootIso);
    assert_eq!(image::initramfs_server(&recipe, &base), Some([192, 0, 2, 1].into()));
    let image = Image::plan_at(&recipe, &base, identity, Some(&URL.parse().unwrap())).unwrap();
    assert_eq!(file_of(&image, FileName::RootIso, &bytes), bytes);

    let medium = file_of(&image, FileName::BootIso, &bytes);
    assert!(medium.len() + 250_000 < bytes.len(), "{} of {}", medium.len(), bytes.len());
    let volume = Volume::open(&medium).unwrap();
    for layer in LAYERS {
        assert!(volume.find(&medium, &format!("/{layer}")).unwrap().is_none(), "{layer}");
        let change = image.changes.iter().find(|change| change.subject == format!("/{layer}")).unwrap();
        assert_eq!(change.why, "the system fetches it over the network");
    }
    assert_eq!(file_in(&medium, TreeKind::Primary, "/pool/main/b/bash.deb"), vec![9; 5000]);
    let menu = String::from_utf8(file_in(&medium, TreeKind::Primary, "/boot/grub/grub.cfg")).unwrap();
    assert!(menu.contains(&format!(" layerfs-path=minimal.standard.live.squashfs url={URL} --- quiet\n")), "{menu}");

    // casper's stage brings up the network; the live system gets its files as from every other medium.
    let grown = file_in(&medium, TreeKind::Primary, "/casper/initrd");
    let wanted = ["usr/lib/dayone/network", "conf/conf.d/zz-dayone-network"].map(|path| path.parse().unwrap());
    let files = survey(&grown, &wanted, 1 << 20).unwrap().files;
    let [network, hook] = wanted.map(|path| String::from_utf8(files[&path].clone()).unwrap());
    assert!(
        network.contains("\ndayone_addresses='192.0.2.10/24'\n") && network.ends_with("\ndo_netsetup\n"),
        "{network}"
    );
    assert!(hook.contains("echo '. /usr/lib/dayone/network' >> /scripts/casper-premount/ORDER"), "{hook}");
    let embedded: Vec<&str> = image.embedded.iter().map(|file| file.path.as_str()).collect();
    assert!(embedded.contains(&"/usr/lib/dayone/network"), "{embedded:?}");
    assert!(embedded.iter().any(|path| path.starts_with("/etc/NetworkManager/system-connections/")), "{embedded:?}");
    assert!(!embedded.iter().any(|path| path.contains("live/boot")), "{embedded:?}");

    assert_eq!(Image::plan_at(&recipe, &base, identity, Some(&URL.parse().unwrap())).unwrap().files, image.files);
}

#[test]
fn a_base_says_why_it_has_none() {
    for (script, layers, reason) in [
        ("nfsroot=*)", &LAYERS[..], "its initramfs lacks a casper that fetches an ISO (1.445 and later, Ubuntu 20.04)"),
        (SCRIPT, &["live/filesystem.squashfs"], "not on the medium as /casper/*.squashfs"),
    ] {
        let (base, _, identity) = base(script, layers);
        assert!(!base.formats().contains(&Format::MinimalIso), "{reason}");
        assert!(MinimalIso::of(&base).unwrap().reason.contains(reason), "{}", MinimalIso::of(&base).unwrap().reason);
        let recipe = Recipe { initramfs_network: None, ..recipe(identity) };
        let error = Image::plan_at(&recipe, &base, identity, Some(&URL.parse().unwrap())).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn the_url_must_be_that_of_an_iso() {
    let (base, _, identity) = base(SCRIPT, &LAYERS);
    let with = |url: &str, host: bool| {
        let rootfs = Some(RootfsLocation::Url(url.parse().unwrap()));
        let recipe = Recipe { rootfs, ..recipe(identity) };
        let recipe = if host { recipe } else { Recipe { initramfs_network: None, ..recipe } };
        Image::plan(&recipe, &base, identity).map(|image| image.files.len())
    };
    assert_eq!(with("http://192.0.2.1/ubuntu.iso", true).unwrap(), 1);
    for (url, host, reason) in [
        ("http://192.0.2.1/rootfs.squashfs", true, "casper fetches a file only if its URL ends with .iso"),
        ("http://mirror.example/ubuntu.iso", false, "casper's initramfs has neither name servers nor IPv6"),
        ("http://192.0.2.9/ubuntu.iso", true, "casper's initramfs has no network but what dayone gives it"),
        ("http://192.0.2.1/ubuntu.iso", false, "casper's initramfs has no network but what dayone gives it"),
    ] {
        let error = with(url, host).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}
