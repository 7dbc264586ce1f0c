use bytes::Bytes;

use super::*;
use crate::source::Role;

fn isolinux(version: &str) -> Bytes {
    let mut bytes = vec![0; 4096];
    bytes.extend(format!("\r\nISOLINUX {version} 2020").into_bytes());
    bytes.into()
}

fn core() -> Bytes {
    Bytes::from_static(b"\x7fELF\x01..ldlinux.c32")
}

fn grub() -> Bytes {
    let mut bytes = b"....cdrom read fails".to_vec();
    bytes.resize(8192, 0);
    bytes.into()
}

fn medium() -> BootMedium {
    let range = |file, length| vec![Segment::Base { file, offset: 0, length }];
    let mut initrd = range(Role::Initrd, 3 << 30);
    initrd.push(Segment::Own(Content::Bytes(Bytes::from_static(b"archive"))));
    BootMedium {
        label: "DAYONE".to_owned(),
        kernel: range(Role::Kernel, 12 << 20),
        initrd,
        arguments: "console=ttyS0 ip=[2001:db8::1]::[::]:64:h:eth0:none".parse().unwrap(),
        bios: Some(BiosLoader::from_files([isolinux("6.04"), core()]).unwrap()),
        esp: Some(range(Role::Esp, 4 << 20)),
    }
}

#[test]
fn large_files_stay_ranges_of_the_base() {
    let layout = medium().layout().unwrap();
    for file in [Role::Kernel, Role::Initrd, Role::Esp] {
        let ranges =
            layout.iter().filter(|segment| matches!(segment, Segment::Base { file: role, .. } if *role == file));
        assert_eq!(ranges.count(), 1, "{file}");
    }
    assert_eq!(layout, medium().layout().unwrap());
    assert_eq!(layout.iter().map(Segment::length).sum::<u64>() % 2048, 0);
}

#[test]
fn every_grub_finds_the_same_configuration() {
    let iso = medium().iso().unwrap();
    let found: Vec<_> = iso.files.iter().filter(|(path, _)| path.as_str().ends_with("/grub.cfg")).collect();
    assert_eq!(found.len(), GRUB_DIRECTORIES.len());
    let [Segment::Own(Content::Bytes(text))] = found[0].1.content.as_slice() else { panic!("not in memory") };
    let text = std::str::from_utf8(text).unwrap();
    assert!(text.contains("\tlinux /vmlinuz console=ttyS0 ip=[2001:db8::1]::[::]:64:h:eth0:none\n"), "{text}");
    let mark = text.lines().next().unwrap().rsplit(' ').next().unwrap();
    assert!(iso.files.contains_key(&mark[1..].parse().unwrap()), "{text}");

    // Another initramfs is another medium.
    let mut other = medium();
    other.initrd.pop();
    other.initrd.push(Segment::Own(Content::Bytes(Bytes::from_static(b"ARCHIVE"))));
    assert!(!other.iso().unwrap().files.contains_key(&mark[1..].parse().unwrap()));
}

#[test]
fn loaders_are_told_by_their_bytes() {
    let code = Bytes::from(vec![0x33; 432]);
    let full = BiosLoader::from_files([code.clone(), core(), isolinux("6.04")]).unwrap();
    assert_eq!(
        full,
        BiosLoader::Isolinux { loader: isolinux("6.04"), core: Some(core()), boot_code: Some(code.clone()) }
    );
    assert!(matches!(BiosLoader::from_files([isolinux("4.05")]).unwrap(), BiosLoader::Isolinux { core: None, .. }));
    assert_eq!(BiosLoader::from_files([grub()]).unwrap(), BiosLoader::Grub { image: grub() });
    for (files, reason) in [
        (vec![isolinux("6.04")], "needs ldlinux.c32"),
        (vec![core()], "isolinux.bin is missing"),
        (vec![], "isolinux.bin is missing"),
        (vec![grub(), code], "give those of one"),
        (vec![grub(), isolinux("4.05")], "give those of one"),
        (vec![grub(), grub()], "the same part"),
        (vec![Bytes::from_static(b"MZ")], "does not know one of the files given as BIOS boot loader (2 bytes)"),
    ] {
        let message = BiosLoader::from_files(files).unwrap_err().to_string();
        assert!(message.contains(reason), "{message}");
    }
}

#[test]
fn arguments_that_a_loader_would_change_are_refused() {
    for arguments in ["a=$b", "a;b", "a 'b", "#a", "a\\b"] {
        let medium = BootMedium { arguments: arguments.parse().unwrap(), ..medium() };
        assert!(matches!(medium.layout(), Err(BootMediumError::Arguments)), "{arguments}");
    }
    let none = BootMedium { bios: None, esp: None, ..medium() };
    assert!(matches!(none.layout(), Err(BootMediumError::Author(AuthorError::NothingToBoot))));
}

/// As booted: `tests/tests/machines/boot_media.rs`.
#[test]
fn the_longest_command_line_is_the_boot_loaders() {
    let uefi = BootMedium { bios: None, ..medium() };
    let bios = BootMedium { bios: Some(BiosLoader::from_files([grub()]).unwrap()), esp: None, ..medium() };
    for (medium, longest) in
        [(medium(), 2011), (BootMedium { esp: None, ..medium() }, 2011), (uefi, 2026), (bios, 2026)]
    {
        let layout = |length: usize| {
            let arguments = format!("quiet secret={}", "s".repeat(length - "quiet secret=".len()));
            BootMedium { arguments: arguments.parse().unwrap(), ..medium.clone() }.layout()
        };
        layout(longest).unwrap();
        let error = layout(longest + 1).unwrap_err().to_string();
        let added = 2046 - longest;
        assert!(error.contains(&format!("would have 2047 bytes, {added} of which")), "{error}");
        assert!(error.contains(&format!("\"secret\", which has {} bytes", longest + 1 - 6)), "{error}");
        assert!(!error.contains("ss"), "{error}");
    }
}
