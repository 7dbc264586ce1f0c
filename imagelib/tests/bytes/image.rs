//! From a recipe and a base to the bytes of an image, on the small bases of `fixtures/bases`.
use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use imagelib::base::live::NotCustomisable;
use imagelib::base::{Base, BaseIdentity, DeliveryProfile, Format, IsoSystem, Role};
use imagelib::cpio::MemberPath;
use imagelib::digest::Digest;
use imagelib::ignition::{Additions, ExtraFile, UserConfig};
use imagelib::image::{DeliveredBy, FileName, Image, ImageError};
use imagelib::initramfs::read_embed_area;
use imagelib::kernel_arguments::KernelArgumentEdits;
use imagelib::recipe::{Recipe, RecipeError, RootfsLocation, RootfsUrl, SealedRecipe};
use imagelib::source::Sources;
use vocabulary::network_files::Keyfile;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures")
}

pub(crate) fn base_iso(name: &str) -> Vec<u8> {
    let packed = fs::read(fixtures().join("bases").join(name)).unwrap();
    let mut iso = Vec::new();
    liblzma::read::XzDecoder::new(packed.as_slice()).read_to_end(&mut iso).unwrap();
    iso
}

pub(crate) fn identity(role: Role, bytes: &[u8]) -> BaseIdentity {
    BaseIdentity::of(&BTreeMap::from([(role, Digest::of(bytes))]))
}

pub(crate) fn additions() -> Additions {
    Additions {
        keyfiles: vec![Keyfile {
            name: "eth0.nmconnection".parse().unwrap(),
            content: "[connection]\nid=eth0\npsk=hunter2\n".to_owned(),
        }],
        no_auto_default: true,
        hostname: Some("worker-0".parse().unwrap()),
        ..Additions::default()
    }
}

pub(crate) fn recipe(base: BaseIdentity, format: Format) -> Recipe {
    let kernel_arguments =
        serde_json::from_str(r#"{"append": ["console=ttyS0"], "delete": ["mitigations=auto,nosmt"]}"#);
    Recipe { kernel_arguments: kernel_arguments.unwrap(), ..Recipe::new(base, format, additions()) }
}

pub(crate) fn materialise(image: &Image, name: FileName, base: &dyn Sources) -> Vec<u8> {
    let overlay = &image.files[&name];
    let mut bytes = vec![0xAA; usize::try_from(overlay.size()).unwrap()];
    assert_eq!(overlay.read_at(base, 0, &mut bytes).unwrap(), bytes.len());
    bytes
}

pub(crate) fn file(path: &str, contents: Vec<u8>) -> ExtraFile {
    ExtraFile {
        path: path.parse().unwrap(),
        mode: "0640".parse().unwrap(),
        user: 0,
        group: 0,
        contents: contents.into(),
    }
}

pub(crate) fn member(path: &str) -> MemberPath {
    path.parse().unwrap()
}

#[test]
fn an_iso_carries_keyfiles_ignition_and_kernel_arguments_and_keeps_its_length() {
    let iso = base_iso("coreos.iso.xz");
    let base = Base::probe(&(Role::Iso, &iso)).unwrap();
    assert_eq!(base.formats(), [Format::Iso, Format::Initrd, Format::Usb]);
    let identity = identity(Role::Iso, &iso);
    let image = Image::plan(&recipe(identity, Format::Iso), &base, identity).unwrap();
    let customised = materialise(&image, FileName::BootIso, &(Role::Iso, &iso));
    assert_eq!(customised.len(), iso.len());

    // What is read back from the image is read by probing it as a base.
    let Base::Iso(found) = Base::probe(&(Role::Iso, &customised)).unwrap() else { panic!("not an ISO") };
    let IsoSystem::Coreos(coreos) = found.system else { panic!("not CoreOS") };
    let areas = &coreos.areas;
    let arguments = areas.kernel_arguments().unwrap();
    assert_eq!(Some(arguments.current().to_string()), image.kernel_arguments);
    assert!(arguments.current().iter().any(|argument| argument == "console=ttyS0"));
    assert!(!arguments.current().iter().any(|argument| argument.starts_with("mitigations=")));
    let area = areas.embedded(&customised).unwrap();
    let members = read_embed_area(&area, 1 << 20).unwrap();
    assert_eq!(members.keys().collect::<Vec<_>>(), ["config.ign", "etc/coreos-firstboot-network/eth0.nmconnection"]);
    assert_eq!(members["etc/coreos-firstboot-network/eth0.nmconnection"], additions().keyfiles[0].content.as_bytes());
    let config: serde_json::Value = serde_json::from_slice(&members["config.ign"]).unwrap();
    let paths: Vec<_> = config["storage"]["files"].as_array().unwrap().iter().map(|file| &file["path"]).collect();
    assert_eq!(paths.len(), 3, "keyfile, no-auto-default, host name");

    // Only the areas differ.
    let changed = iso.iter().zip(&customised).filter(|(old, new)| old != new).count() as u64;
    assert!(changed <= image.files[&FileName::BootIso].patch_size(), "{changed} bytes differ");
}

/// `coreos-installer-service` of coreos-installer 0.27 calls `coreos-installer install` without `--copy-network`, unless a file of options has it.
#[test]
fn an_installation_that_does_not_copy_the_network_is_named() {
    let iso = base_iso("coreos.iso.xz");
    let (base, identity) = (Base::probe(&(Role::Iso, &iso)).unwrap(), identity(Role::Iso, &iso));
    let found = |recipe: &Recipe| {
        let image = Image::plan(recipe, &base, identity).unwrap();
        let findings = image.report.findings().iter().filter(|finding| finding.code == "installed-without-network");
        findings.map(|finding| finding.path.to_string()).collect::<Vec<_>>()
    };
    let options = |content: &str| file("/etc/coreos/installer.d/x.yaml", content.as_bytes().to_vec());
    let config =
        r#"{"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "/etc/coreos/installer.d/y.yaml"}]}}"#;
    let config = UserConfig::parse(config.as_bytes()).unwrap();
    for format in [Format::Iso, Format::Initrd] {
        let plain = recipe(identity, format);
        let mut installing = plain.clone();
        installing.kernel_arguments =
            serde_json::from_str(r#"{"append": ["coreos.inst.install_dev=/dev/sda"]}"#).unwrap();
        assert_eq!((found(&plain), found(&installing)), (vec![], vec!["kernel arguments".to_owned()]));
        let with_network = Additions { files: vec![options("copy-network: true\n")], ..additions() };
        assert!(found(&Recipe { additions: with_network, ..installing.clone() }).is_empty());
        assert!(found(&Recipe { ignition: Some(config.clone()), ..installing.clone() }).is_empty());
        assert!(found(&Recipe { additions: Additions::default(), ..installing }).is_empty());
        for content in
            ["dest-device: /dev/sda\n", "copy-network: false\n", "# copy-network: true\ndest-device: /dev/sda\n"]
        {
            let without = Additions { files: vec![options(content)], ..additions() };
            assert_eq!(found(&Recipe { additions: without, ..plain.clone() }), ["files"], "{content}");
        }
    }
}

#[test]
fn embedded_files_are_listed_by_digest_only() {
    let iso = base_iso("coreos.iso.xz");
    let (base, identity) = (Base::probe(&(Role::Iso, &iso)).unwrap(), identity(Role::Iso, &iso));
    let image = Image::plan(&recipe(identity, Format::Iso), &base, identity).unwrap();
    let keyfile = Digest::of(additions().keyfiles[0].content.as_bytes());
    for (path, by) in [
        ("/etc/coreos-firstboot-network/eth0.nmconnection", DeliveredBy::Initramfs),
        ("/etc/NetworkManager/system-connections/eth0.nmconnection", DeliveredBy::Ignition),
    ] {
        let file = image.embedded.iter().find(|file| file.path == path).unwrap();
        assert_eq!((file.delivered_by, file.mode.as_str(), file.sha256), (by, "0600", keyfile));
    }
    let shown = format!("{image:?} {}", serde_json::to_string(&image.embedded).unwrap());
    assert!(!shown.contains("hunter2"));
}

#[test]
fn the_bytes_of_an_image_do_not_change_from_version_to_version() {
    let iso = base_iso("coreos.iso.xz");
    let (base, identity) = (Base::probe(&(Role::Iso, &iso)).unwrap(), identity(Role::Iso, &iso));
    let small = recipe(identity, Format::Iso);
    let mut large = small.clone();
    // Too large for the area as it is, small enough when compressed.
    large.additions.files = vec![file("/etc/large", vec![b'x'; 300_000])];
    // If the digest of `boot.iso` differs, published images answer 503 until they are deleted and ordered again: CHANGELOG.md must name the bases.
    // The id must never differ.
    for (recipe, id, image) in
        [(&small, "small", include_str!("image/small.sha256")), (&large, "large", include_str!("image/large.sha256"))]
    {
        let planned = Image::plan(recipe, &base, identity).unwrap();
        let bytes = materialise(&planned, FileName::BootIso, &(Role::Iso, &iso));
        let found = format!("{}  recipe\n{}  boot.iso\n", recipe.id(), Digest::of(&bytes));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/bytes/image/{id}.sha256")), &found)
                .unwrap();
        } else {
            assert_eq!(found, image, "{id}");
        }
    }
}

/// Bytes that do not compress: xorshift.
pub(crate) fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[1]
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[test]
fn what_does_not_fit_makes_the_image_larger_where_that_can_be() {
    let iso = base_iso("coreos.iso.xz");
    let (base, first) = (Base::probe(&(Role::Iso, &iso)).unwrap(), identity(Role::Iso, &iso));
    let mut recipe = recipe(first, Format::Iso);
    recipe.additions.files = vec![file("/etc/noise", noise(300_000))];
    let image = Image::plan(&recipe, &base, first).unwrap();
    let grown = materialise(&image, FileName::BootIso, &(Role::Iso, &iso));
    assert!(grown.len() > iso.len());
    let Base::Iso(found) = Base::probe(&(Role::Iso, &grown)).unwrap() else { panic!("not an ISO") };
    let IsoSystem::Coreos(coreos) = found.system else { panic!("not CoreOS") };
    let areas = &coreos.areas;
    assert!(read_embed_area(&areas.embedded(&grown).unwrap(), 1 << 20).unwrap()["config.ign"].len() > 300_000);
    let changes: Vec<_> = image.changes.iter().map(|change| (change.subject.as_str(), change.why.as_str())).collect();
    assert!(changes[0].0 == "/images/ignition.img" && changes[0].1.starts_with("network configuration"), "{changes:?}");
    assert!(changes.contains(&("volume", "follows from the other changes")), "{changes:?}");

    let iso = base_iso("coreos-s390x.iso.xz");
    let (base, identity) = (Base::probe(&(Role::Iso, &iso)).unwrap(), identity(Role::Iso, &iso));
    recipe.base = identity;
    let error = Image::plan(&recipe, &base, identity).unwrap_err();
    assert!(matches!(&error, ImageError::Growth(error) if error.sizes().unwrap().1 == 262_144), "{error}");
    let message = error.to_string();
    assert!(message.contains("262144") && message.contains("/images/cdboot.img"), "{message}");
}

#[test]
fn a_minimal_iso_fetches_what_it_has_not() {
    let iso = base_iso("coreos-packed.iso.xz");
    let (base, identity) = (Base::probe(&(Role::Iso, &iso)).unwrap(), identity(Role::Iso, &iso));
    assert_eq!(base.formats(), [Format::Iso, Format::MinimalIso, Format::Initrd, Format::Usb]);
    let mut recipe = recipe(identity, Format::MinimalIso);
    let own: RootfsUrl = "http://192.0.2.1:8081/i/token/rootfs.img".parse().unwrap();
    let elsewhere: RootfsUrl = "https://192.0.2.9/rootfs.img".parse().unwrap();
    let both = [FileName::BootIso, FileName::Rootfs];
    let rootfs = {
        let image = Image::plan(&Recipe { format: Format::Initrd, ..recipe.clone() }, &base, identity).unwrap();
        materialise(&image, FileName::Rootfs, &(Role::Iso, &iso))
    };
    for (location, url, files) in [
        (None, None, &both[..]),
        (Some(RootfsLocation::MediaPlane("http://192.0.2.1:8081".to_owned())), Some(&own), &both[..]),
        (Some(RootfsLocation::Url(elsewhere.clone())), Some(&elsewhere), &both[..1]),
    ] {
        recipe.rootfs = location;
        let image = Image::plan_at(&recipe, &base, identity, Some(&own).filter(|_| url.is_some())).unwrap();
        assert_eq!(image.files.keys().copied().collect::<Vec<_>>(), files);
        let minimal = materialise(&image, FileName::BootIso, &(Role::Iso, &iso));
        assert!(!minimal.windows(4).any(|window| window == b"hsqs"));
        if files.len() > 1 {
            assert!(materialise(&image, FileName::Rootfs, &(Role::Iso, &iso)) == rootfs);
        }
        let Base::Iso(found) = Base::probe(&(Role::Iso, &minimal)).unwrap() else { panic!("not an ISO") };
        let IsoSystem::Coreos(coreos) = found.system else { panic!("not CoreOS") };
        let areas = &coreos.areas;
        let arguments = areas.kernel_arguments().unwrap().current().to_string();
        assert_eq!(Some(&arguments), image.kernel_arguments.as_ref());
        assert!(!arguments.contains("coreos.liveiso=") && arguments.contains("console=ttyS0"), "{arguments}");
        let named = arguments.split(' ').find_map(|argument| argument.strip_prefix("coreos.live.rootfs_url="));
        assert_eq!(named, url.map(RootfsUrl::as_str));
        assert_eq!(image.rootfs_argument, url.is_none().then_some("coreos.live.rootfs_url"));
        let warned = image.report.findings().iter().any(|finding| finding.code == "rootfs-url-missing");
        assert_eq!(warned, url.is_none());
        assert_eq!(image.changes[0].subject, "rootfs.img");
    }
    // Who names it among the kernel arguments knows better.
    recipe.kernel_arguments = serde_json::from_str(r#"{"append": ["coreos.live.rootfs_url=http://x/r"]}"#).unwrap();
    recipe.rootfs = Some(RootfsLocation::MediaPlane("http://192.0.2.1:8081".to_owned()));
    let image = Image::plan_at(&recipe, &base, identity, Some(&own)).unwrap();
    assert_eq!(image.kernel_arguments.unwrap().matches("rootfs_url").count(), 1);
}

/// It has no root file system. `--force` removes the URL of one, together with the other customisations of the base.
#[test]
fn a_minimal_iso_as_a_base_must_be_told_what_it_fetches() {
    let iso = base_iso("coreos-packed.iso.xz");
    let (base, first) = (Base::probe(&(Role::Iso, &iso)).unwrap(), identity(Role::Iso, &iso));
    let url: RootfsUrl = "http://192.0.2.1/rootfs.img".parse().unwrap();
    let image = Image::plan_at(&recipe(first, Format::MinimalIso), &base, first, Some(&url)).unwrap();
    let minimal = materialise(&image, FileName::BootIso, &(Role::Iso, &iso));
    let (base, second) = (Base::probe(&(Role::Iso, &minimal)).unwrap(), identity(Role::Iso, &minimal));
    let mut again = recipe(second, Format::Iso);
    again.replace_embedded = true;
    for (argument, expected) in [
        ("a=b", &["rootfs-url-missing"][..]),
        ("coreos.live.rootfs_url=http://192.0.2.1/rootfs.img", &[]),
        ("ignition.config.url=http://192.0.2.1/x", &["rootfs-url-missing", "ignition-config-url"]),
    ] {
        again.kernel_arguments = serde_json::from_str(&format!(r#"{{"append": ["{argument}"]}}"#)).unwrap();
        let image = Image::plan(&again, &base, second).unwrap();
        let mut codes: Vec<_> = image.report.findings().iter().map(|finding| finding.code).collect();
        codes.retain(|code| *code != "not-hybrid");
        assert_eq!(codes, expected, "{argument}");
    }
}

#[test]
fn an_iso_that_does_not_say_what_its_minimal_one_is_gives_none() {
    let iso = base_iso("coreos.iso.xz");
    let (base, identity) = (Base::probe(&(Role::Iso, &iso)).unwrap(), identity(Role::Iso, &iso));
    let error = Image::plan(&recipe(identity, Format::MinimalIso), &base, identity).unwrap_err().to_string();
    assert!(error.contains("/coreos/miniso.dat"), "{error}");
}

#[test]
fn a_customised_base_is_refused_unless_it_may_be_replaced() {
    let iso = base_iso("coreos.iso.xz");
    let (base, first) = (Base::probe(&(Role::Iso, &iso)).unwrap(), identity(Role::Iso, &iso));
    let customised = materialise(
        &Image::plan(&recipe(first, Format::Iso), &base, first).unwrap(),
        FileName::BootIso,
        &(Role::Iso, &iso),
    );
    let (base, second) = (Base::probe(&(Role::Iso, &customised)).unwrap(), identity(Role::Iso, &customised));
    let mut again = recipe(second, Format::Iso);
    let error = Image::plan(&again, &base, second).unwrap_err();
    assert!(matches!(error, ImageError::Customised { .. }), "{error}");
    again.replace_embedded = true;
    again.kernel_arguments = KernelArgumentEdits::default();
    again.additions.keyfiles[0].content = "[connection]\nid=other\n".to_owned();
    let replaced =
        materialise(&Image::plan(&again, &base, second).unwrap(), FileName::BootIso, &(Role::Iso, &customised));

    // Nothing of the first customisation is left: the image is the one made over the pristine base.
    let base = Base::probe(&(Role::Iso, &iso)).unwrap();
    again.base = first;
    let fresh = materialise(&Image::plan(&again, &base, first).unwrap(), FileName::BootIso, &(Role::Iso, &iso));
    assert!(replaced == fresh);
}

#[test]
fn a_coreos_iso_also_gives_the_files_for_network_boot() {
    let iso = base_iso("coreos.iso.xz");
    let (base, identity) = (Base::probe(&(Role::Iso, &iso)).unwrap(), identity(Role::Iso, &iso));
    let image = Image::plan(&recipe(identity, Format::Initrd), &base, identity).unwrap();
    assert_eq!(image.files.keys().collect::<Vec<_>>(), [&FileName::Kernel, &FileName::Initrd, &FileName::Rootfs]);
    let initrd = materialise(&image, FileName::Initrd, &(Role::Iso, &iso));
    let name = b"etc/coreos-firstboot-network/eth0.nmconnection\0";
    assert!(initrd.windows(name.len()).any(|window| window == name));
    let arguments = image.kernel_arguments.unwrap();
    assert!(!arguments.contains("coreos.liveiso="), "{arguments}");
    assert!(arguments.contains("ignition.firstboot"), "{arguments}");
    assert_eq!(image.rootfs_argument, Some("coreos.live.rootfs_url"));
}

#[test]
fn an_iso_without_a_boot_menu_is_a_base_that_gives_no_images() {
    let iso = base_iso("tree.iso.xz");
    let base = Base::probe(&(Role::Iso, &iso)).unwrap();
    assert_eq!(base.formats(), []);
    let identity = identity(Role::Iso, &iso);
    let error = Image::plan(&recipe(identity, Format::Iso), &base, identity).unwrap_err();
    assert!(matches!(error, ImageError::NotCustomisable(NotCustomisable::NoLinux)), "{error}");
}

#[test]
fn recipes_are_read_back_and_other_versions_refused() {
    let recipe = recipe(identity(Role::Iso, b"base"), Format::Iso);
    let sealed = recipe.clone().seal();
    let json = sealed.canonical_json();
    assert_eq!(sealed.id().as_bytes(), Digest::of(json).as_bytes());
    assert_eq!(sealed.id(), recipe.id());
    assert_eq!(SealedRecipe::from_canonical_json(json).unwrap(), sealed);
    let other = String::from_utf8(json.to_vec()).unwrap().replacen("\"version\":1", "\"version\":4", 1);
    assert!(matches!(SealedRecipe::from_canonical_json(other.as_bytes()), Err(RecipeError::Version(4))));
    for cut in 0..json.len() {
        let error = SealedRecipe::from_canonical_json(&json[..cut]).unwrap_err();
        assert!(!error.to_string().contains("hunter2"));
    }
    assert!(!format!("{recipe:?} {sealed:?}").contains("hunter2"));
}

#[test]
fn what_would_be_ignored_is_refused() {
    let iso = base_iso("coreos.iso.xz");
    let (base, identity) = (Base::probe(&(Role::Iso, &iso)).unwrap(), identity(Role::Iso, &iso));
    let plain = recipe(identity, Format::Iso);
    let entries = Recipe { boot_entries: ["Live".to_owned()].into(), ..plain.clone() };
    let profile = Recipe { delivery: Some(DeliveryProfile::Dracut), ..plain.clone() };
    let url = RootfsLocation::Url("http://192.0.2.1/rootfs.img".parse().unwrap());
    let rootfs = Recipe { rootfs: Some(url), ..plain.clone() };
    for refused in [entries, profile, rootfs] {
        assert!(matches!(Image::plan(&refused, &base, identity), Err(ImageError::NoEffect { .. })));
    }
    let same = Recipe { delivery: Some(DeliveryProfile::Coreos), ..plain };
    assert!(Image::plan(&same, &base, identity).is_ok());
}
