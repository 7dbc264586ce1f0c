//! Credentials for unified kernel images whose stub takes no initrd from an addon. What systemd makes of them is in the acceptance tests.

use base64::prelude::*;
use imagelib::base::{DeliveryProfile, Format};
use imagelib::delivery::DeliveredBy;
use imagelib::ignition::{Additions, ExtraFile, Unit};
use imagelib::recipe::Recipe;
use imagelib::secure_boot::Verdict;
use imagelib::uki::Carrier;
use vocabulary::network_files::Keyfile;

use crate::live_media::{Files, additions, live, output, planned, recipe, unified_with};
use crate::uki::{ADDON, LOADER, in_esp, iso, section};
use crate::uki_signatures::{Key, surveyed};

const CREDENTIAL: &str = "EFI/BOOT/BOOTX64.EFI.extra.d/tmpfiles.extra.cred";
const ARGUMENT: &str = "systemd.set_credential_binary=tmpfiles.extra:";
const UNIT: &str = "[Unit]\nDescription=Create System Files\n[Service]\nImportCredential=tmpfiles.*\n";
/// An initramfs of dracut with systemd 254.
const DRACUT: [(&str, &str); 4] = [
    ("init", "init"),
    ("usr/lib/dracut/hooks/pre-pivot/x.sh", ""),
    ("etc/initrd-release", "ID=fedora\n"),
    ("usr/lib/systemd/system/systemd-tmpfiles-setup.service", UNIT),
];

fn base_of(stub: &str, arguments: &str, files: &[(&str, &str)]) -> Vec<u8> {
    iso(&[(LOADER, unified_with(stub, "fedora", arguments, files))])
}

fn base() -> Vec<u8> {
    base_of("254.26", "quiet", &DRACUT)
}

fn with(base: &[u8], additions: Additions) -> Recipe {
    Recipe { additions, ..recipe(base) }
}

fn file(path: &str, contents: &[u8]) -> ExtraFile {
    ExtraFile {
        path: path.parse().unwrap(),
        mode: "0755".parse().unwrap(),
        user: 0,
        group: 12,
        contents: contents.to_vec().into(),
    }
}

#[test]
fn a_small_network_is_in_the_arguments_of_the_addon() {
    let base = base();
    let described = live(&base).unwrap().describe();
    let [uki] = described.unified_kernel_images.as_slice() else { panic!("{described:?}") };
    assert_eq!(
        (uki.carrier, uki.profile, uki.problem.as_deref()),
        (Carrier::Credential, DeliveryProfile::Dracut, None)
    );
    let additions = Additions { hostname: Some("worker-0".parse().unwrap()), ..additions() };
    let recipe = with(&base, additions);
    let image = planned(&base, &recipe).unwrap();
    let made = output(&base, &image);
    assert!(in_esp(&made, CREDENTIAL).is_none());
    let addon = in_esp(&made, ADDON).unwrap();
    assert!(section(&addon, ".initrd").is_none());
    let arguments = String::from_utf8(section(&addon, ".cmdline").unwrap()).unwrap();
    let encoded = arguments.strip_prefix("x=y ").unwrap().strip_prefix(ARGUMENT).unwrap();
    let lines = String::from_utf8(BASE64_STANDARD.decode(encoded).unwrap()).unwrap();
    let keyfile = BASE64_STANDARD.encode("[connection]\nid=eth0\n");
    let name = BASE64_STANDARD.encode("worker-0\n");
    let expected = format!(
        "r /etc/NetworkManager/system-connections/eth0.nmconnection\n\
         f+~ /etc/NetworkManager/system-connections/eth0.nmconnection 0600 0 0 - {keyfile}\n\
         r /etc/hostname\nf+~ /etc/hostname 0644 0 0 - {name}\n"
    );
    assert_eq!(lines, expected);
    let shown: Vec<(&str, DeliveredBy)> =
        image.embedded.iter().map(|file| (file.path.as_str(), file.delivered_by)).collect();
    assert!(shown.contains(&("/etc/hostname", DeliveredBy::Credential)) && shown.len() == 2, "{shown:?}");
    assert_eq!(image.kernel_arguments.as_deref(), Some("quiet x=y"), "the host's files are shown as files");
    // The signature covers the network.
    let signed = imagelib::image::sign(recipe.clone(), &crate::live_media::probe(&base), &Key::new()).unwrap();
    assert_eq!(surveyed(&base, &signed).verdict, Verdict::NeedsSiteKey);
    assert_eq!(surveyed(&base, &recipe).verdict, Verdict::Impossible);
}

#[test]
fn what_is_long_or_may_be_secret_is_in_a_file() {
    let base = base();
    let keyfile = |content: String| Keyfile { name: "eth0.nmconnection".parse().unwrap(), content };
    let many = Additions { keyfiles: vec![keyfile("#".repeat(1500))], ..Additions::default() };
    let secret = Additions { keyfiles: vec![keyfile("[802-1x]\npassword=x\n".to_owned())], ..Additions::default() };
    let script = Additions { files: vec![file("/usr/local/bin/a b", b"#!/bin/sh\n")], ..additions() };
    for additions in [many, secret, script] {
        let recipe = with(&base, additions);
        let image = planned(&base, &recipe).unwrap();
        let made = output(&base, &image);
        assert_eq!(output(&base, &planned(&base, &recipe).unwrap()), made, "the same inputs, the same bytes");
        let text = String::from_utf8(in_esp(&made, CREDENTIAL).unwrap()).unwrap();
        let bytes = BASE64_STANDARD.decode(text).unwrap();
        assert!(
            bytes.starts_with(b"\x05\x84\x69\xda\xf6\xf5\x43\x24\x80\x05\x49\xda\x0f\x8e\xa2\xfb\x20\0\0\0\x01\0\0\0")
        );
        assert_eq!(section(&in_esp(&made, ADDON).unwrap(), ".cmdline").unwrap(), b"x=y");
        let codes: Vec<&str> = image.report.findings().iter().map(|finding| finding.code).collect();
        assert!(codes.contains(&"credential-unsigned") && codes.contains(&"addon-unsigned"), "{codes:?}");
        // Firmware takes the addon, and systemd refuses the credential.
        let signed = imagelib::image::sign(recipe, &crate::live_media::probe(&base), &Key::new()).unwrap();
        let found = surveyed(&base, &signed);
        assert_eq!(found.verdict, Verdict::Impossible);
        assert!(found.reason.contains(CREDENTIAL), "{}", found.reason);
        assert!(found.unsigned.iter().any(|file| file.path.contains(CREDENTIAL)), "{:?}", found.unsigned);
    }
    // Without kernel arguments there is no addon.
    let recipe = Recipe::new(
        crate::live_media::identity(&base),
        Format::Iso,
        Additions { files: vec![file("/etc/empty", b"")], ..Additions::default() },
    );
    let made = output(&base, &planned(&base, &recipe).unwrap());
    assert!(in_esp(&made, ADDON).is_none() && in_esp(&made, CREDENTIAL).is_some());
    let key = Key::new();
    let signed = imagelib::image::sign(recipe.clone(), &crate::live_media::probe(&base), &key).unwrap();
    assert_eq!(signed.id(), recipe.id(), "nothing is signed");
}

/// The longest command line that the kernel takes, and one byte more.
#[test]
fn the_arguments_are_as_long_as_the_kernel_takes_them() {
    let arguments = |length: usize| format!("quiet {}", "x".repeat(length));
    let in_argument = |length: usize| {
        let base = base_of("256", &arguments(length), &DRACUT);
        let recipe = Recipe::new(crate::live_media::identity(&base), Format::Iso, additions());
        let made = output(&base, &planned(&base, &recipe).unwrap());
        in_esp(&made, ADDON).map(|addon| section(&addon, ".cmdline").unwrap().len())
    };
    let own = in_argument(0).unwrap();
    let room = 2047 - own - 1 - arguments(0).len();
    assert_eq!(in_argument(room), Some(own));
    assert_eq!(in_argument(room + 1), None);
}

#[test]
fn what_a_credential_cannot_bring_is_refused_with_the_reason() {
    let refused = |base: &[u8], additions: Additions| planned(base, &with(base, additions)).unwrap_err().to_string();
    let base = base();
    let unit = Unit { name: "x.service".parse().unwrap(), enabled: true, contents: Some("[Service]\n".to_owned()) };
    let message = refused(&base, Additions { units: vec![unit], ..additions() });
    assert!(message.contains("systemd units"), "{message}");
    for path in ["/etc/systemd/system/x.service.d/y.conf", "/etc/fstab", "/dev/x"] {
        let message = refused(&base, Additions { files: vec![file(path, b"x")], ..Additions::default() });
        assert!(message.contains(&format!("deliver {path}")), "{message}");
    }
    for (arguments, expected) in [
        ("rd.live.image rd.live.check", "verifies its medium (rd.live.check)"),
        ("rd.live.image rd.live.check=1", "verifies its medium (rd.live.check=1)"),
        ("rd.live.image mediacheck=1", "verifies its medium (mediacheck=1)"),
        ("systemd.set_credential=tmpfiles.extra:x", "systemd does not read"),
        ("systemd.set-credential-binary=tmpfiles.extra:eA==", "systemd does not read"),
        ("systemd.import_credentials=no", "systemd does not read"),
        ("rd.systemd.import_credentials=0", "systemd does not read"),
        ("\"systemd.set_credential=tmpfiles.extra:x\"", "systemd does not read"),
        ("root=live:http://192.0.2.1/x.img", "needs the network (root=live:http://192.0.2.1/x.img)"),
    ] {
        let message = refused(&base_of("255", arguments, &DRACUT), additions());
        assert!(message.contains(expected), "{message}");
        let kernel_arguments =
            serde_json::from_value(serde_json::json!({"append": [arguments.split(' ').next_back()]})).unwrap();
        let message = planned(&base, &Recipe { kernel_arguments, ..recipe(&base) }).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    // A credential of another name is allowed.
    let base = base_of("255", "systemd.set_credential=other:x systemd.import_credentials=yes rd.live.check=0", &DRACUT);
    assert!(planned(&base, &recipe(&base)).is_ok());
    let other = Recipe { delivery: Some(DeliveryProfile::RootInInitramfs), ..recipe(&base) };
    let message = planned(&base, &other).unwrap_err().to_string();
    assert!(message.contains("'dracut' alone"), "{message}");

    let without = |path: &str| DRACUT.into_iter().filter(|(other, _)| *other != path).collect::<Vec<_>>();
    // `LoadCredential=` of systemd 252 finds no encrypted credentials.
    let older = UNIT.replace("ImportCredential=tmpfiles.*", "LoadCredential=tmpfiles.extra");
    let mut of_older = without(DRACUT[3].0);
    of_older.push((DRACUT[3].0, &older));
    for files in [without("etc/initrd-release"), without(DRACUT[1].0), without(DRACUT[3].0), of_older] {
        let reason = live(&base_of("255", "quiet", &files)).unwrap_err().to_string();
        assert!(reason.contains("but no initrd") && reason.contains("systemd 254 or later"), "{reason}");
    }
    // Another one's credential is in the way, wherever it is.
    for path in [CREDENTIAL, "loader/credentials/TMPFILES.EXTRA.CRED"] {
        let taken = iso(&[(LOADER, unified_with("255", "fedora", "quiet", &DRACUT)), (path, b"x".to_vec())]);
        let reason = live(&taken).unwrap_err().to_string();
        assert!(reason.contains("a credential of the name of dayone's"), "{reason}");
    }
    // CoreOS reads its configuration before.
    let coreos: Vec<_> = DRACUT.into_iter().chain([("etc/coreos-live-initramfs", "")]).collect();
    let reason = live(&base_of("255", "quiet", &coreos)).unwrap_err().to_string();
    assert!(reason.contains("but no initrd"), "{reason}");
}

/// systemd reads no more than 1 MiB of credentials, as they lie there.
#[test]
fn all_credentials_together_are_no_larger_than_systemd_reads() {
    let loader = || unified_with("255", "fedora", "quiet", &DRACUT);
    let size = |others: Files<'_>, contents: usize| {
        let base = iso(&[&[(LOADER, loader())], others].concat());
        let additions = Additions { files: vec![file("/etc/large", &vec![0; contents])], ..Additions::default() };
        let image = planned(&base, &Recipe::new(crate::live_media::identity(&base), Format::Iso, additions));
        image.map(|image| in_esp(&output(&base, &image), CREDENTIAL).unwrap().len())
    };
    // Base64 of base64: nine bytes more are sixteen more in the credential.
    let limit: usize = 1 << 20;
    let fits = limit / 16 * 9 - 1000;
    let contents = fits + (limit - size(&[], fits).unwrap()) / 16 * 9;
    let largest = size(&[], contents).unwrap();
    assert!(largest <= limit && largest > limit - 64, "{largest}");
    assert!(size(&[], contents + 9).is_err());
    for directory in ["EFI/BOOT/BOOTX64.EFI.extra.d", "loader/credentials"] {
        let other = format!("{directory}/other.cred");
        let message = size(&[(&other, vec![0; 100])], contents).unwrap_err().to_string();
        assert!(message.contains("more than 1 MiB"), "{message}");
        assert!(size(&[(&other, vec![0; 100])], contents - 200).is_ok());
        // systemd leaves it out.
        assert!(size(&[(&other, vec![0; (1 << 20) + 1])], contents).is_ok());
    }
}

/// The stub appends all addons to its arguments, or to the options of the boot entry.
#[test]
fn arguments_of_others_count() {
    let loader = || unified_with("255", "fedora", "quiet", &DRACUT);
    let addon = crate::live_media::program(&[(".cmdline", "a".repeat(1800).as_bytes())]);
    let entry = format!("title Live\nefi /EFI/Linux/live.efi\noptions {}\n", "o".repeat(1800)).into_bytes();
    let long: [Vec<(&str, Vec<u8>)>; 3] = [
        vec![("EFI/Linux/live.efi.extra.d/site.addon.efi", addon.clone())],
        vec![("loader/addons/site.addon.efi", addon)],
        vec![("loader/entries/live.conf", entry)],
    ];
    for others in long {
        let files = vec![(LOADER, crate::live_media::systemd_boot()), ("EFI/Linux/live.efi", loader())];
        let base = iso(&[files, others.clone()].concat());
        let image = planned(&base, &recipe(&base)).unwrap();
        let made = output(&base, &image);
        assert!(in_esp(&made, "EFI/Linux/live.efi.extra.d/tmpfiles.extra.cred").is_some(), "{}", others[0].0);
        let kernel_arguments = serde_json::from_value(serde_json::json!({"append": ["y".repeat(500)]})).unwrap();
        let message = planned(&base, &Recipe { kernel_arguments, ..recipe(&base) }).unwrap_err().to_string();
        assert!(message.contains("the kernel takes 2047"), "{message}");
    }
}

#[test]
fn an_image_with_nothing_but_a_credential_is_known_again() {
    let base = base();
    let recipe = Recipe::new(
        crate::live_media::identity(&base),
        Format::Iso,
        Additions { files: vec![file("/etc/motd", b"hello")], ..Additions::default() },
    );
    let made = output(&base, &planned(&base, &recipe).unwrap());
    assert!(in_esp(&made, ADDON).is_none());
    assert!(live(&made).unwrap().is_customised());
    // That of somebody else beside a stub that reads initrds is no obstacle, and no reason for a verdict.
    let foreign = iso(&[(LOADER, unified_with("257", "fedora", "quiet", &DRACUT)), (CREDENTIAL, b"AAAA".to_vec())]);
    assert!(!live(&foreign).unwrap().is_customised());
    let signed =
        imagelib::image::sign(crate::live_media::recipe(&foreign), &crate::live_media::probe(&foreign), &Key::new());
    assert_eq!(surveyed(&foreign, &signed.unwrap()).verdict, Verdict::NeedsSiteKey);
}
