//! Signatures of addons: a part of the recipe, and what Secure Boot makes of them.

use base64::prelude::*;
use imagelib::authenticode::{SignError, SiteCertificate, SiteKey};
use imagelib::base::{Base, Role};
use imagelib::image::{self, Image, ImageError};
use imagelib::recipe::Recipe;
use imagelib::secure_boot::{ProgramRole, SignatureState, Survey, Verdict, examine};
use rsa::pkcs8::DecodePrivateKey as _;
use sha2::{Digest as _, Sha256};

use crate::live_media::{self, grub, identity, live_boot, output, planned, probe, recipe, systemd_boot, unified_by};
use crate::uki::{ADDON, LOADER, NEW, in_esp, iso};

fn pem(name: &str) -> Vec<u8> {
    let path = format!("{}/../fixtures/site-key/{name}.pem", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    BASE64_STANDARD.decode(text.lines().filter(|line| !line.starts_with('-')).collect::<String>()).unwrap()
}

/// The key of the fixtures.
pub(crate) struct Key {
    certificate: SiteCertificate,
    key: rsa::RsaPrivateKey,
}

impl Key {
    pub(crate) fn new() -> Self {
        let certificate = SiteCertificate::from_der(pem("certificate")).unwrap();
        Self { certificate, key: rsa::RsaPrivateKey::from_pkcs8_der(&pem("key")).unwrap() }
    }
}

impl SiteKey for Key {
    fn certificate(&self) -> &SiteCertificate {
        &self.certificate
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignError> {
        let prefix = b"\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20";
        let scheme = rsa::Pkcs1v15Sign { hash_len: Some(32), prefix: prefix.as_slice().into() };
        Ok(self.key.sign(scheme, &Sha256::digest(message)).unwrap())
    }
}

pub(crate) fn surveyed(base: &[u8], recipe: &Recipe) -> imagelib::secure_boot::SecureBoot {
    let files = std::collections::BTreeMap::from([(Role::Iso, base.to_vec())]);
    let probed = Base::probe(&files).unwrap();
    let image = Image::plan(recipe, &probed, identity(base)).unwrap();
    Survey::of_base(&probed, &files).of_image(&image, &probed, &files).unwrap()
}

#[test]
fn a_signature_is_a_part_of_the_recipe() {
    let key = Key::new();
    let base = iso(&[(LOADER, unified_by(NEW, "live"))]);
    let unsigned = recipe(&base);
    let signed = image::sign(unsigned.clone(), &probe(&base), &key).unwrap();
    let signatures = signed.addon_signatures.as_ref().unwrap();
    assert_eq!((&signatures.certificate, signatures.signatures.len()), (key.certificate.der(), 1));
    let again = image::sign(unsigned.clone(), &probe(&base), &key).unwrap();
    assert_eq!((signed.id(), signed.id() != unsigned.id()), (again.id(), true));
    // It survives the canonical form, and makes the image without the key.
    let sealed = signed.clone().seal();
    let read = imagelib::recipe::SealedRecipe::from_canonical_json(sealed.canonical_json()).unwrap();
    let text = String::from_utf8(sealed.canonical_json().to_vec()).unwrap();
    assert!(text.starts_with(r#"{"version":2,"#), "{text}");
    for damaged in [text.replacen("\"version\":2", "\"version\":1", 1), {
        let unsigned = String::from_utf8(unsigned.clone().seal().canonical_json().to_vec()).unwrap();
        unsigned.replacen("\"version\":1", "\"version\":2", 1)
    }] {
        let read = imagelib::recipe::SealedRecipe::from_canonical_json(damaged.as_bytes());
        assert!(matches!(read, Err(imagelib::recipe::RecipeError::Parts)), "{damaged}");
    }
    let image = planned(&base, read.recipe()).unwrap();
    assert!(image.report.findings().iter().all(|finding| finding.code != "addon-unsigned"));
    let made = output(&base, &image);
    assert_eq!(made, output(&base, &planned(&base, &signed).unwrap()));
    let addon = in_esp(&made, ADDON).unwrap();
    let examined = examine(&addon);
    let [signature] = examined.signatures.as_slice() else { panic!("{examined:?}") };
    assert_eq!((signature.state, signature.signer.as_deref()), (SignatureState::Good, Some("Site key of the tests")));
    let plain = in_esp(&output(&base, &planned(&base, &unsigned).unwrap()), ADDON).unwrap();
    assert_eq!(examine(&plain).digest, examined.digest);
    let mut changed = addon.clone();
    let archive = changed.windows(8).position(|window| window == b"id=eth0\n").unwrap();
    changed[archive] ^= 1;
    assert_eq!(examine(&changed).signatures[0].state, SignatureState::OtherBytes);
}

#[test]
fn a_signature_of_other_bytes_makes_no_image() {
    let key = Key::new();
    let base = iso(&[(LOADER, unified_by(NEW, "live"))]);
    let signed = image::sign(recipe(&base), &probe(&base), &key).unwrap();
    let kernel_arguments = serde_json::from_str(r#"{"append": ["x=z"]}"#).unwrap();
    let other = Recipe { kernel_arguments, ..signed.clone() };
    assert!(matches!(planned(&base, &other), Err(ImageError::AddonSignature(SignError::OtherKey))));
    let mut forged = signed;
    for signature in forged.addon_signatures.as_mut().unwrap().signatures.values_mut() {
        signature.0 = vec![1; 256].into();
    }
    assert!(matches!(planned(&base, &forged), Err(ImageError::AddonSignature(SignError::OtherKey))));
}

#[test]
fn bases_without_addons_have_the_recipe_that_they_had() {
    let menu = "menuentry Live {\n linux /live/vmlinuz quiet\n initrd /live/initrd.img\n}\n";
    let base = live_media::iso(
        &[
            ("boot/grub/grub.cfg", menu.into()),
            ("live/vmlinuz", live_media::kernel()),
            ("live/initrd.img", live_boot("a")),
        ],
        &[(LOADER, grub())],
    );
    let recipe = recipe(&base);
    assert_eq!(image::sign(recipe.clone(), &probe(&base), &Key::new()).unwrap(), recipe);
}

#[test]
fn an_unsigned_addon_is_impossible_with_secure_boot_and_a_signed_one_needs_the_key() {
    let key = Key::new();
    let base = iso(&[(LOADER, unified_by(NEW, "live"))]);
    let unsigned = surveyed(&base, &recipe(&base));
    assert_eq!(unsigned.verdict, Verdict::Impossible, "{unsigned:#?}");
    assert!(
        unsigned.reason.contains("host.addon.efi") && unsigned.reason.contains("--site-key"),
        "{}",
        unsigned.reason
    );
    let signed = surveyed(&base, &image::sign(recipe(&base), &probe(&base), &key).unwrap());
    assert_eq!(signed.verdict, Verdict::NeedsSiteKey, "{signed:#?}");
    let addon = signed.programs.iter().find(|program| program.role == ProgramRole::Addon).unwrap();
    assert!(addon.counts && addon.reason.contains("'Site key of the tests'"), "{addon:#?}");
    let uki = signed.programs.iter().find(|program| program.role == ProgramRole::UnifiedKernelImage).unwrap();
    assert_eq!(uki.unchanged, Some(true));
}

#[test]
fn the_addons_of_all_images_that_systemd_boot_starts_count() {
    let key = Key::new();
    let uki = || unified_by(NEW, "live");
    let entry = |text: &str| ("loader/entries/entry.conf", text.as_bytes().to_vec());
    let kernel = ("live/vmlinuz", live_media::program(&[(".text", b"kernel")]));
    for in_esp in [
        vec![(LOADER, systemd_boot()), ("EFI/Linux/live.efi", uki())],
        vec![(LOADER, systemd_boot()), ("EFI/tools/live.efi", uki()), entry("title Live\nefi /EFI/tools/live.efi\n")],
        vec![
            (LOADER, systemd_boot()),
            ("EFI/Linux/live.efi", uki()),
            kernel.clone(),
            ("live/initrd.img", live_boot("a")),
            entry("title Rescue\nlinux /live/vmlinuz\ninitrd /live/initrd.img\n"),
        ],
    ] {
        let base = iso(&in_esp);
        let unsigned = surveyed(&base, &recipe(&base));
        assert_eq!(unsigned.verdict, Verdict::Impossible, "{unsigned:#?}");
        assert!(unsigned.reason.contains("host.addon.efi"), "{}", unsigned.reason);
        let signed = surveyed(&base, &image::sign(recipe(&base), &probe(&base), &key).unwrap());
        let counting = signed.programs.iter().filter(|program| program.counts);
        let roles: Vec<ProgramRole> = counting.map(|program| program.role).collect();
        assert!(roles.contains(&ProgramRole::UnifiedKernelImage) && roles.contains(&ProgramRole::Addon), "{roles:?}");
    }
}

#[test]
fn certificates_that_firmware_cannot_use_are_refused() {
    assert!(matches!(SiteCertificate::from_der(b"x".to_vec()), Err(SignError::NotACertificate)));
    let certificate = Key::new().certificate;
    assert!(matches!(certificate.verify(b"message", &[0; 256]), Err(SignError::OtherKey)));
    assert!(!format!("{certificate:?}").contains("der"), "{certificate:?}");
}
