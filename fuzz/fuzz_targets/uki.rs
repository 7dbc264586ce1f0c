//! Any bytes as the EFI program that a medium starts. dayone examines it as a unified kernel image. If dayone makes an image with an addon
//! or a credential, the program in it is unchanged.
#![no_main]

use std::collections::BTreeMap;

use hosts::network::Keyfile;
use imagelib::base::{Base, BaseIdentity, Format, Role};
use imagelib::digest::Digest;
use imagelib::disk::fat::{FatImage, NewFat};
use imagelib::ignition::Additions;
use imagelib::image::{FileName, Image};
use imagelib::iso::Volume;
use imagelib::iso::author::{ElTorito, NewFile, NewIso};
use imagelib::overlay::{Content, Overlay, Segment, Sizes};
use imagelib::recipe::Recipe;
use libfuzzer_sys::fuzz_target;

fn bytes_of(overlay: &Overlay, base: Vec<u8>) -> Vec<u8> {
    let mut bytes = vec![0; overlay.size() as usize];
    assert_eq!(overlay.read_at(&(Role::Iso, base), 0, &mut bytes).expect("memory"), bytes.len());
    bytes
}

/// An ISO with this program in its EFI system partition.
fn iso(program: &[u8]) -> Vec<u8> {
    let content = vec![Segment::Own(Content::Bytes(program.to_vec().into()))];
    let files = BTreeMap::from([("EFI/BOOT/BOOTX64.EFI".parse().expect("a path"), content)]);
    let fat = NewFat { label: "ESP".parse().expect("a label"), id: 7, files: &files }.data_drive().expect("room");
    let fat = bytes_of(&Overlay::concatenated(&Sizes::new(), fat).expect("segments"), Vec::new());
    let esp = "boot/efi.img".parse().expect("a path");
    let iso = NewIso {
        volume_id: "LIVE".to_owned(),
        files: BTreeMap::from([("boot/efi.img".parse().expect("a path"), NewFile::literal(0o644, fat))]),
        boot: Some(ElTorito { bios: None, uefi: Some(esp) }),
        ..NewIso::default()
    };
    bytes_of(&Overlay::concatenated(&Sizes::new(), iso.layout().expect("room")).expect("segments"), Vec::new())
}

/// A file in the EFI system partition.
fn in_esp(iso: &Vec<u8>, path: &str) -> Option<Vec<u8>> {
    let volume = Volume::open(iso).expect("our ISO");
    let esp = volume.find(iso, "boot/efi.img").expect("our ISO").expect("it has one");
    let esp = esp.read(iso, 256 << 20).expect("our ISO");
    let fat = FatImage::open(&esp, 0..esp.len() as u64).expect("a FAT");
    let extents = &fat.file(path)?.extents;
    Some(extents.iter().flat_map(|range| &esp[range.start as usize..range.end as usize]).copied().collect())
}

fuzz_target!(|program: &[u8]| {
    if program.is_empty() {
        return;
    }
    let iso = iso(program);
    let Ok(base) = Base::probe(&(Role::Iso, iso.clone())) else { return };
    let identity = || BaseIdentity::of(&BTreeMap::from([(Role::Iso, Digest::of(&iso))]));
    let keyfile =
        Keyfile { name: "eth0.nmconnection".parse().expect("a name"), content: "[connection]\nid=eth0\n".to_owned() };
    let additions = Additions { keyfiles: vec![keyfile], ..Additions::default() };
    let kernel_arguments = serde_json::from_str(r#"{"append": ["x=y"]}"#).expect("edits");
    let recipe = Recipe { kernel_arguments, ..Recipe::new(identity(), Format::Iso, additions) };
    let Ok(image) = Image::plan(&recipe, &base, identity()) else { return };
    let made = bytes_of(&image.files[&FileName::BootIso], iso.clone());
    assert_eq!(made.len(), iso.len());
    assert!(in_esp(&made, "EFI/BOOT/BOOTX64.EFI").as_deref() == Some(program), "the program is unchanged");
    assert!(in_esp(&made, "EFI/BOOT/BOOTX64.EFI.extra.d/host.addon.efi").is_some(), "the addon is there");
});
