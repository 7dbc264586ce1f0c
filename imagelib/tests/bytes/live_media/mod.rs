//! Live media of a few blocks, made here: an ISO file system, an EFI system partition, and what stands in both.

use std::collections::BTreeMap;

use imagelib::base::live::{LiveIso, NotCustomisable};
use imagelib::base::{Base, BaseIdentity, Format, IsoSystem, Role};
use imagelib::cpio::Archive;
use imagelib::digest::Digest;
use imagelib::disk::fat::NewFat;
use imagelib::ignition::Additions;
use imagelib::image::{FileName, Image, ImageError};
use imagelib::iso::author::{ElTorito, NewFile, NewIso};
use imagelib::iso::{TreeKind, Volume};
use imagelib::overlay::{Content, Overlay, Segment, Sizes};
use imagelib::recipe::Recipe;
use vocabulary::network_files::Keyfile;

/// What live-boot's initramfs looks like.
pub(crate) fn live_boot(mark: &str) -> Vec<u8> {
    let mut archive = Archive::new();
    for path in ["init", "conf/initramfs.conf", "scripts/live", "bin/cp"] {
        archive.file(path.parse().unwrap(), 0o755, mark.to_owned()).unwrap();
    }
    archive.add_parents(0o755).unwrap();
    archive.to_bytes()
}

/// A kernel of x86, as far as one looks at it.
pub(crate) fn kernel() -> Vec<u8> {
    let mut bytes = vec![0; 0x600];
    bytes[..2].copy_from_slice(b"MZ");
    bytes[0x202..0x206].copy_from_slice(b"HdrS");
    bytes[0x20e..0x210].copy_from_slice(&0x300_u16.to_le_bytes());
    bytes[0x500..0x520].copy_from_slice(b"6.1.0-1-amd64 (d@example.org) #1");
    bytes
}

/// An EFI program with these sections.
pub(crate) fn program(sections: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0; 0x400];
    bytes[..2].copy_from_slice(b"MZ");
    bytes[0x3c..0x40].copy_from_slice(&0x80_u32.to_le_bytes());
    bytes[0x80..0x84].copy_from_slice(b"PE\0\0");
    bytes[0x86..0x88].copy_from_slice(&u16::try_from(sections.len()).unwrap().to_le_bytes());
    bytes[0x94..0x96].copy_from_slice(&240_u16.to_le_bytes());
    // x86-64, PE32+, the length of the headers, an EFI application, and 16 directories.
    bytes[0x84..0x86].copy_from_slice(&0x8664_u16.to_le_bytes());
    bytes[0x98..0x9a].copy_from_slice(&0x20b_u16.to_le_bytes());
    bytes[0xd4..0xd8].copy_from_slice(&0x400_u32.to_le_bytes());
    bytes[0xdc..0xde].copy_from_slice(&10_u16.to_le_bytes());
    bytes[0x104..0x108].copy_from_slice(&16_u32.to_le_bytes());
    for (index, (name, content)) in sections.iter().enumerate() {
        let at = 0x80 + 24 + 240 + 40 * index;
        let (offset, size) = (u32::try_from(bytes.len()).unwrap(), u32::try_from(content.len()).unwrap());
        bytes[at..at + name.len()].copy_from_slice(name.as_bytes());
        for (field, value) in [(8, size), (16, size), (20, offset)] {
            bytes[at + field..at + field + 4].copy_from_slice(&value.to_le_bytes());
        }
        bytes.extend_from_slice(content);
    }
    bytes
}

/// A unified kernel image.
pub(crate) fn unified(id: &str) -> Vec<u8> {
    let os_release = format!("NAME=Live\nID={id}\n");
    program(&[
        (".text", b"stub"),
        (".osrel", os_release.as_bytes()),
        (".linux", &kernel()),
        (".initrd", &live_boot("u")),
    ])
}

/// A unified kernel image with a release of systemd-stub, whose initrd is the whole system.
pub(crate) fn unified_by(stub: &str, id: &str) -> Vec<u8> {
    unified_of(stub, id, &["init", "usr/bin/true"])
}

/// The same with these files in its initrd.
pub(crate) fn unified_of(stub: &str, id: &str, files: &[&str]) -> Vec<u8> {
    let files: Vec<(&str, &str)> = files.iter().map(|path| (*path, id)).collect();
    unified_with(stub, id, "console=ttyS0 quiet", &files)
}

/// The same with these kernel arguments, and with files of this content.
pub(crate) fn unified_with(stub: &str, id: &str, arguments: &str, files: &[(&str, &str)]) -> Vec<u8> {
    let os_release = format!("NAME=Live\nID={id}\nPRETTY_NAME=\"Live system 1\"\n");
    let magic = format!("#### LoaderInfo: systemd-stub {stub} ####\0");
    let mut initrd = Archive::new();
    for (path, content) in files {
        initrd.file(path.parse().unwrap(), 0o755, (*content).to_owned()).unwrap();
    }
    initrd.add_parents(0o755).unwrap();
    program(&[
        (".text", b"stub"),
        (".sdmagic", magic.as_bytes()),
        (".osrel", os_release.as_bytes()),
        (".cmdline", arguments.as_bytes()),
        (".uname", b"6.12.0-amd64"),
        (".linux", &kernel()),
        (".initrd", &initrd.to_bytes()),
    ])
}

pub(crate) fn systemd_boot() -> Vec<u8> {
    program(&[(".text", b"boot"), (".sdmagic", b"#### LoaderInfo: systemd-boot 257 ####")])
}

pub(crate) fn shim() -> Vec<u8> {
    program(&[(".text", b"shim"), (".data", b"UEFI SHIM\n$Version: 16.1 $\n")])
}

pub(crate) fn grub() -> Vec<u8> {
    program(&[(".text", b"GRUB"), ("mods", b"m")])
}

pub(crate) type Files<'a> = &'a [(&'a str, Vec<u8>)];

/// An ISO with these files, and these in its EFI system partition. `isolinux/isolinux.bin` is what BIOSes start.
pub(crate) fn iso(files: Files<'_>, in_esp: Files<'_>) -> Vec<u8> {
    let literal = |bytes: &Vec<u8>| NewFile::literal(0o644, bytes.clone());
    let mut all: BTreeMap<_, _> = files.iter().map(|(path, bytes)| (path.parse().unwrap(), literal(bytes))).collect();
    let bios = files.iter().any(|(path, _)| *path == "isolinux/isolinux.bin");
    let uefi = !in_esp.is_empty();
    if uefi {
        all.insert("boot/efi.img".parse().unwrap(), literal(&fat(in_esp)));
    }
    let iso = NewIso {
        volume_id: "LIVE".to_owned(),
        files: all,
        boot: Some(ElTorito {
            bios: bios.then(|| "isolinux/isolinux.bin".parse().unwrap()),
            uefi: uefi.then(|| "boot/efi.img".parse().unwrap()),
        }),
        ..NewIso::default()
    };
    bytes_of(&Overlay::concatenated(&Sizes::new(), iso.layout().unwrap()).unwrap(), &[])
}

fn fat(files: Files<'_>) -> Vec<u8> {
    let content = |bytes: &Vec<u8>| vec![Segment::Own(Content::Bytes(bytes.clone().into()))];
    let files = files.iter().map(|(path, bytes)| (path.parse().unwrap(), content(bytes))).collect();
    let fat = NewFat { label: "ESP".parse().unwrap(), id: 7, files: &files }.data_drive().unwrap();
    bytes_of(&Overlay::concatenated(&Sizes::new(), fat).unwrap(), &[])
}

/// A file of an image over this base.
pub(crate) fn file_of(image: &Image, name: FileName, base: &[u8]) -> Vec<u8> {
    bytes_of(&image.files[&name], base)
}

pub(crate) fn bytes_of(overlay: &Overlay, base: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0xAA; usize::try_from(overlay.size()).unwrap()];
    assert_eq!(overlay.read_at(&(Role::Iso, base.to_vec()), 0, &mut bytes).unwrap(), bytes.len());
    bytes
}

pub(crate) fn isolinux() -> (&'static str, Vec<u8>) {
    ("isolinux/isolinux.bin", [vec![0; 512], b"ISOLINUX 6.04".to_vec(), vec![0; 3000]].concat())
}

pub(crate) fn probe(iso: &[u8]) -> Base {
    Base::probe(&(Role::Iso, iso.to_vec())).unwrap()
}

/// The live system, or why there is none.
pub(crate) fn live(iso: &[u8]) -> Result<LiveIso, NotCustomisable> {
    match probe(iso) {
        Base::Iso(base) => match base.system {
            IsoSystem::Live(live) => Ok(live),
            IsoSystem::Other(reason) => Err(reason),
            IsoSystem::Coreos(_) => panic!("CoreOS"),
        },
        Base::Disk(_) | Base::KernelInitrd(_) | Base::Nothing => panic!("an ISO"),
    }
}

pub(crate) fn identity(iso: &[u8]) -> BaseIdentity {
    BaseIdentity::of(&BTreeMap::from([(Role::Iso, Digest::of(iso))]))
}

pub(crate) fn additions() -> Additions {
    let content = "[connection]\nid=eth0\n".to_owned();
    Additions {
        keyfiles: vec![Keyfile { name: "eth0.nmconnection".parse().unwrap(), content }],
        ..Additions::default()
    }
}

/// Keyfiles, and a kernel argument.
pub(crate) fn recipe(iso: &[u8]) -> Recipe {
    let kernel_arguments = serde_json::from_str(r#"{"append": ["x=y"]}"#).unwrap();
    Recipe { kernel_arguments, ..Recipe::new(identity(iso), Format::Iso, additions()) }
}

pub(crate) fn planned(iso: &[u8], recipe: &Recipe) -> Result<Image, ImageError> {
    Image::plan(recipe, &probe(iso), identity(iso))
}

pub(crate) fn output(iso: &[u8], image: &Image) -> Vec<u8> {
    bytes_of(&image.files[&FileName::BootIso], iso)
}

pub(crate) fn file_in(iso: &[u8], tree: TreeKind, path: &str) -> Vec<u8> {
    let source = iso.to_vec();
    let volume = Volume::open(&source).unwrap();
    volume.find_in(&source, tree, path).unwrap().unwrap().read(&source, 256 << 20).unwrap()
}

/// The warnings that are about ways to boot.
pub(crate) fn warnings(image: &Image) -> Vec<String> {
    let findings = image.report.findings().iter();
    findings.filter(|finding| finding.code.starts_with("boot-")).map(ToString::to_string).collect()
}
