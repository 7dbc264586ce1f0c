//! Media around a kernel and an initramfs, and disks over ISOs without a partition table: what is in them, byte by byte,
//! and what is refused.
use std::collections::BTreeMap;
use std::io::Cursor;

use gpt::GptConfig;
use gpt::disk::LogicalBlockSize;
use gpt::partition::file_read_partitions;
use imagelib::base::{Base, BaseIdentity, DiskTable, Format, Role};
use imagelib::compression::Compression;
use imagelib::cpio::Archive;
use imagelib::digest::Digest;
use imagelib::disk::fat::{FatImage, NewFat};
use imagelib::disk::gpt::Gpt;
use imagelib::disk::hybrid::{self, Hybrid};
use imagelib::ignition::Additions;
use imagelib::image::{FileName, Image, ImageError};
use imagelib::iso::Volume;
use imagelib::iso::author::{ElTorito, NewFile, NewIso};
use imagelib::overlay::{self, Content, Overlay, Segment, Sizes};
use imagelib::recipe::{Recipe, RootfsLocation, RootfsUrl};
use imagelib::source::Sources;
use uuid::Uuid;
use vocabulary::network_files::Keyfile;

type Files = BTreeMap<Role, Vec<u8>>;

const X86: &str = "EFI/BOOT/BOOTX64.EFI";
const ARM: &str = "EFI/BOOT/BOOTAA64.EFI";
const SYSTEMD_BOOT: &[u8] = b"MZ #### LoaderInfo: systemd-boot 252 ####";
const OWN_URL: &str = "http://192.0.2.1:8081/i/token/rootfs.img";

fn literal(bytes: &[u8]) -> Vec<Segment> {
    vec![Segment::Own(Content::Bytes(bytes.to_vec().into()))]
}

fn bytes_of(segments: Vec<Segment>) -> Vec<u8> {
    read(&Overlay::concatenated(&Sizes::new(), segments).unwrap(), &Files::new())
}

fn read(overlay: &Overlay, files: &dyn Sources) -> Vec<u8> {
    let mut bytes = vec![0xAA; usize::try_from(overlay.size()).unwrap()];
    assert_eq!(overlay.read_at(files, 0, &mut bytes).unwrap(), bytes.len());
    bytes
}

fn esp(files: &[(&str, &[u8])]) -> Vec<u8> {
    let files = files.iter().map(|(path, content)| (path.parse().unwrap(), literal(content))).collect();
    bytes_of(NewFat { label: "ESP".parse().unwrap(), id: 7, files: &files }.data_drive().unwrap())
}

fn initramfs(marks: &[&str]) -> Vec<u8> {
    let mut archive = Archive::new();
    for path in ["usr/sbin/NetworkManager"].iter().chain(marks) {
        archive.file(path.parse().unwrap(), 0o755, &b"x"[..]).unwrap();
    }
    archive.add_parents(0o755).unwrap();
    Compression::Gzip.compress(&archive.to_bytes()).unwrap()
}

/// A kernel and an initramfs of some size, with these other files.
fn kernel_and(others: &[(Role, Vec<u8>)]) -> Files {
    let mut kernel = b"MZ kernel".to_vec();
    kernel.resize(3_000_001, 0x5A);
    let mut files = Files::from([(Role::Kernel, kernel), (Role::Initrd, initramfs(&[]))]);
    files.extend(others.iter().cloned());
    files
}

fn isolinux() -> [(Role, Vec<u8>); 3] {
    let mut loader = vec![0; 4096];
    loader.extend(b"ISOLINUX 6.04");
    let core = b"\x7fELF ldlinux.c32".to_vec();
    [(Role::BiosLoader, loader), (Role::BiosLoaderCore, core), (Role::BiosBootCode, vec![0x33; 432])]
}

fn identity() -> BaseIdentity {
    BaseIdentity::of(&BTreeMap::from([(Role::Kernel, Digest::of(b"any"))]))
}

fn recipe(format: Format) -> Recipe {
    let keyfile = Keyfile { name: "eth0.nmconnection".parse().unwrap(), content: "[connection]\n".to_owned() };
    Recipe::new(identity(), format, Additions { keyfiles: vec![keyfile], ..Additions::default() })
}

fn plan(files: &Files, format: Format) -> Result<Image, ImageError> {
    Image::plan(&recipe(format), &Base::probe(files).unwrap(), identity())
}

/// The file system of the disk's only partition. The crate gpt must find the same one, in the table and in its backup.
fn partition(disk: &[u8]) -> FatImage {
    let gpt = Gpt::read(&disk).unwrap().unwrap();
    let (_, partition) = gpt.partitions().next().unwrap();
    let mut device = Cursor::new(disk.to_vec());
    let read = GptConfig::new().only_valid_headers(true).open_from_device(device.clone()).unwrap();
    let backup = read.backup_header().unwrap();
    assert_eq!(&file_read_partitions(&mut device, backup, LogicalBlockSize::Lb512).unwrap(), read.partitions());
    let found: Vec<_> =
        read.partitions().values().map(|found| (found.first_lba, found.last_lba, &found.name)).collect();
    assert_eq!(found, [(partition.first, partition.last, &partition.name)]);
    assert_eq!(read.partitions()[&1].part_guid, Uuid::from(partition.id));
    FatImage::open(&disk, partition.first * 512..(partition.last + 1) * 512).unwrap()
}

fn in_fat(fat: &FatImage, disk: &[u8], path: &str) -> Vec<u8> {
    let file = fat.file(path).unwrap_or_else(|| panic!("no {path}"));
    let extents = file.extents.iter();
    let place = |offset| usize::try_from(offset).unwrap();
    extents.flat_map(|extent| &disk[place(extent.start)..place(extent.end)]).copied().collect()
}

fn in_iso(iso: &[u8], path: &str) -> Vec<u8> {
    let file = Volume::open(&iso).unwrap().find(&iso, path).unwrap().unwrap_or_else(|| panic!("no {path}"));
    let place = |offset| usize::try_from(offset).unwrap();
    let extents = file.extents.iter();
    extents.flat_map(|extent| &iso[place(extent.offset)..place(extent.offset + extent.length)]).copied().collect()
}

#[test]
fn media_have_the_files_as_they_are_and_little_of_their_own() {
    // Debian's ESP has no configuration, Fedora's leads elsewhere.
    let program = vec![0x90; 70_000];
    for (loader, configuration) in [(X86, None), (ARM, Some("EFI/fedora/grub.cfg"))] {
        let mut content: Vec<(&str, &[u8])> = vec![(loader, &program), ("EFI/BOOT/mm.efi", b"mm")];
        content.extend(configuration.map(|path| (path, &b"configfile elsewhere"[..])));
        let mut files = kernel_and(&isolinux());
        files.insert(Role::Esp, esp(&content));
        let loaders: u64 = isolinux().iter().map(|(_, bytes)| bytes.len() as u64).sum();

        let image = plan(&files, Format::Iso).unwrap();
        let overlay = &image.files[&FileName::BootIso];
        // BIOS loaders are the base's own bytes, shared by all images.
        assert!(overlay.patch_size() - loaders < 64 << 10, "{}", overlay.patch_size());
        let iso = read(overlay, &files);
        assert!(in_iso(&iso, "/vmlinuz") == files[&Role::Kernel]);
        assert!(in_iso(&iso, "/initrd").starts_with(&files[&Role::Initrd]));
        let on_iso = in_iso(&iso, "/boot/efi.img");
        assert_eq!(on_iso.len(), files[&Role::Esp].len());
        let fat = FatImage::open(&on_iso, 0..on_iso.len() as u64).unwrap();
        assert!(in_fat(&fat, &on_iso, loader) == program);
        let menu = in_iso(&iso, "/boot/grub/grub.cfg");
        match configuration {
            Some(path) => assert_eq!(in_fat(&fat, &on_iso, path), menu),
            None => assert!(on_iso == files[&Role::Esp]),
        }

        let image = plan(&files, Format::Usb).unwrap();
        let overlay = &image.files[&FileName::BootDisk];
        assert!(overlay.patch_size() < 64 << 10, "{}", overlay.patch_size());
        let disk = read(overlay, &files);
        let fat = partition(&disk);
        assert!(in_fat(&fat, &disk, "vmlinuz") == files[&Role::Kernel]);
        assert!(in_fat(&fat, &disk, "initrd").starts_with(&files[&Role::Initrd]));
        assert!(in_fat(&fat, &disk, loader) == program);
        assert_eq!(in_fat(&fat, &disk, "EFI/BOOT/mm.efi"), b"mm");
        for path in ["EFI/fedora/grub.cfg", "EFI/debian/grub.cfg", "boot/grub/grub.cfg"] {
            assert_eq!(in_fat(&fat, &disk, path), menu, "{path}");
        }
    }
}

#[test]
fn a_disk_for_uefi_alone_says_so_if_there_is_a_loader_for_a_bios() {
    let [loader, core, _] = isolinux();
    let grub = (Role::Esp, esp(&[(X86, b"MZ")]));
    for (files, expected) in [(vec![grub.clone(), loader, core], true), (vec![grub], false)] {
        let image = plan(&kernel_and(&files), Format::Usb).unwrap();
        let found = image.report.findings().iter().any(|finding| finding.code == "bios-only-from-cd");
        assert_eq!(found, expected);
    }
}

#[test]
fn the_same_recipe_gives_the_same_medium_and_another_one_another() {
    let files = kernel_and(&[(Role::Esp, esp(&[(X86, b"MZ")]))]);
    let base = Base::probe(&files).unwrap();
    for (format, name) in [(Format::Iso, FileName::BootIso), (Format::Usb, FileName::BootDisk)] {
        let medium = |recipe: &Recipe| {
            let image = Image::plan(recipe, &base, identity()).unwrap();
            (image.changes.clone(), read(&image.files[&name], &files))
        };
        let (changes, bytes) = medium(&recipe(format));
        assert!((changes.clone(), bytes.clone()) == medium(&recipe(format)));
        assert_eq!((changes[0].subject.as_str(), changes[0].new_size), (name.as_str(), Some(bytes.len() as u64)));
        let mut other = recipe(format);
        other.additions.keyfiles[0].content.push('\n');
        assert!(bytes != medium(&other).1);
        // Disks that are attached to one machine must not be taken for each other.
        if format == Format::Usb {
            let id = |disk: &[u8]| disk[512 + 56..512 + 72].to_vec();
            assert_ne!(id(&bytes), id(&medium(&other).1));
        }
    }
}

#[test]
fn a_base_of_several_files_says_what_is_missing() {
    let grub = (Role::Esp, esp(&[(X86, b"MZ")]));
    let systemd = (Role::Esp, esp(&[("efi/boot/bootx64.efi", SYSTEMD_BOOT)]));
    let [loader, core, _] = isolinux();
    let bios = [loader, core];
    let without_kernel = Files::from([(Role::Initrd, initramfs(&[])), grub.clone()]);
    for (files, format, reason) in [
        (without_kernel.clone(), Format::Iso, "'iso' from this base: it has no kernel"),
        (without_kernel, Format::Usb, "'usb' from this base: it has no kernel"),
        (kernel_and(&[]), Format::Iso, "it has no boot loader; give esp:PATH for UEFI machines, bios-loader:PATH"),
        (kernel_and(&[]), Format::Usb, "it has no boot loader for UEFI machines"),
        (kernel_and(&bios), Format::Usb, "the only ones that boot this format; give esp:PATH"),
        (kernel_and(&[systemd]), Format::Iso, "systemd-boot in the ESP cannot start a kernel from an ISO"),
        (kernel_and(std::slice::from_ref(&grub)), Format::MinimalIso, "only a live ISO"),
    ] {
        let error = plan(&files, format).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
        assert!(!Base::probe(&files).unwrap().formats().contains(&format), "{format}: {reason}");
    }
    for (files, formats) in [
        (kernel_and(&[grub]), vec![Format::Iso, Format::Initrd, Format::Usb]),
        (kernel_and(&bios), vec![Format::Iso, Format::Initrd]),
    ] {
        assert_eq!(Base::probe(&files).unwrap().formats(), formats);
        assert!(formats.into_iter().all(|format| plan(&files, format).is_ok()));
    }
}

#[test]
fn boot_loaders_that_are_none_are_refused_when_the_base_is_opened() {
    let [loader, core, first_sector] = isolinux();
    let fat = esp(&[(X86, b"MZ")]);
    for (files, reason) in [
        (vec![(Role::Esp, vec![0x42; 5000])], "the ESP is not the image of an EFI system partition"),
        (vec![(Role::Esp, b"MZ".to_vec())], "the ESP is not the image of an EFI system partition"),
        (vec![(Role::Esp, fat[..fat.len() / 2].to_vec())], "the ESP is not the image of an EFI system partition"),
        (vec![(Role::Esp, esp(&[("EFI/debian/shimx64.efi", b"MZ")]))], "the ESP has no EFI/BOOT/BOOTX64.EFI"),
        (vec![loader.clone()], "needs ldlinux.c32"),
        (vec![core], "isolinux.bin is missing"),
        (
            vec![loader, (Role::BiosBootCode, vec![0; 440])],
            "dayone does not know one of the files given as BIOS boot loader (440 bytes)",
        ),
        (vec![(Role::BiosLoader, vec![0; 600_000])], "no boot loader has more than 524288"),
        (vec![first_sector.clone(), (Role::BiosLoader, first_sector.1)], "the same part"),
    ] {
        let error = Base::probe(&kernel_and(&files)).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

/// As `systemd-boot` behind a shim does, too: its configuration is there whatever firmware starts.
#[test]
fn a_disk_has_the_configuration_of_systemd_boot() {
    let files = kernel_and(&[(Role::Esp, esp(&[(X86, SYSTEMD_BOOT), ("loader/loader.conf", b"default mine")]))]);
    let image = plan(&files, Format::Usb).unwrap();
    let disk = read(&image.files[&FileName::BootDisk], &files);
    let fat = partition(&disk);
    assert_eq!(in_fat(&fat, &disk, "loader/loader.conf"), b"timeout 0\ndefault dayone.conf\n");
    let entry = String::from_utf8(in_fat(&fat, &disk, "loader/entries/dayone.conf")).unwrap();
    assert!(entry.contains("linux /vmlinuz\ninitrd /initrd\n"), "{entry}");
}

#[test]
fn media_of_coreos_name_the_url_of_the_root_file_system() {
    let mut files = kernel_and(&[(Role::Esp, esp(&[(X86, b"MZ")])), (Role::Rootfs, b"squashfs".to_vec())]);
    files.insert(Role::Initrd, initramfs(&["etc/coreos-live-initramfs"]));
    let url: RootfsUrl = "https://192.0.2.9/rootfs.img".parse().unwrap();
    let own: RootfsUrl = OWN_URL.parse().unwrap();
    let elsewhere = Some(RootfsLocation::Url(url.clone()));
    let beside = Some(RootfsLocation::MediaPlane("http://192.0.2.1:8081".to_owned()));
    let named = r#"{"append": ["coreos.live.rootfs_url=http://x/r"]}"#;
    let no_edits = "{}";
    for with_rootfs in [true, false] {
        if !with_rootfs {
            files.remove(&Role::Rootfs);
        }
        let base = Base::probe(&files).unwrap();
        for (format, location, edits, expected) in [
            (Format::Iso, &elsewhere, no_edits, Some(url.as_str())),
            (Format::Usb, &elsewhere, no_edits, Some(url.as_str())),
            (Format::Iso, &elsewhere, named, Some("http://x/r")),
            (Format::Iso, &None, named, Some("http://x/r")),
            (Format::Iso, &beside, no_edits, with_rootfs.then_some(OWN_URL)),
            (Format::Usb, &None, no_edits, None),
        ] {
            let kernel_arguments = serde_json::from_str(edits).unwrap();
            let recipe = Recipe { rootfs: location.clone(), kernel_arguments, ..recipe(format) };
            let served = (*location == beside && with_rootfs).then_some(&own);
            let image = Image::plan_at(&recipe, &base, identity(), served).unwrap();
            let arguments = image.kernel_arguments.clone().unwrap();
            let urls: Vec<_> =
                arguments.split(' ').filter_map(|argument| argument.strip_prefix("coreos.live.rootfs_url=")).collect();
            assert_eq!(urls, expected.into_iter().collect::<Vec<_>>(), "{format} {location:?}");
            assert!(arguments.contains("ignition.firstboot"), "{arguments}");
            // One that is elsewhere is not served beside it.
            let is_beside = with_rootfs && *location != elsewhere;
            assert_eq!(image.files.contains_key(&FileName::Rootfs), is_beside, "{format} {location:?}");
            let warned = image.report.findings().iter().any(|finding| finding.code == "rootfs-url-missing");
            assert_eq!(warned, expected.is_none());
            let (_, medium) = image.main_file().unwrap();
            let bytes = read(medium, &files);
            let menu = match format {
                Format::Iso => in_iso(&bytes, "/boot/grub/grub.cfg"),
                _ => in_fat(&partition(&bytes), &bytes, "boot/grub/grub.cfg"),
            };
            assert!(String::from_utf8(menu).unwrap().contains(&format!("linux /vmlinuz {arguments}\n")), "{arguments}");
        }
    }
}

#[test]
fn a_coreos_with_its_root_file_system_in_the_initramfs_needs_no_url() {
    let mut files = kernel_and(&[(Role::Esp, esp(&[(X86, b"MZ")]))]);
    files.insert(Role::Initrd, initramfs(&["etc/coreos-live-initramfs", "etc/coreos-live-rootfs", "root.squashfs"]));
    let report = plan(&files, Format::Iso).unwrap().report;
    assert!(!report.findings().iter().any(|finding| finding.code == "rootfs-url-missing"), "{report:?}");
}

/// A live ISO as Ironic makes it, for UEFI machines or, without an ESP, for none; no partition table.
fn plain_iso(with_esp: bool) -> Vec<u8> {
    let menu = "menuentry 'Linux' {\n linux /vmlinuz console=ttyS0\n initrd /initrd\n}\n";
    let mut iso = NewIso { volume_id: "PLAIN".to_owned(), ..NewIso::default() };
    let content = [
        ("vmlinuz", b"MZ kernel".to_vec()),
        ("initrd", initramfs(&[])),
        ("boot/grub/grub.cfg", menu.as_bytes().to_vec()),
        ("boot/efi.img", esp(&[(X86, b"MZ")])),
        ("isolinux/isolinux.bin", isolinux()[0].1.clone()),
    ];
    for (path, bytes) in content {
        iso.files.insert(path.parse().unwrap(), NewFile::literal(0o644, bytes));
    }
    let [uefi, bios] = ["boot/efi.img", "isolinux/isolinux.bin"].map(|path| Some(path.parse().unwrap()));
    iso.boot = Some(if with_esp { ElTorito { uefi, bios: None } } else { ElTorito { uefi: None, bios } });
    bytes_of(iso.layout().unwrap())
}

#[test]
fn an_iso_without_a_partition_table_gets_one_that_names_its_esp() {
    let files = Files::from([(Role::Iso, plain_iso(true))]);
    let iso = plan(&files, Format::Iso).unwrap();
    assert!(iso.report.findings().iter().any(|finding| finding.code == "not-hybrid"));
    let iso = read(&iso.files[&FileName::BootIso], &files);
    let image = plan(&files, Format::Usb).unwrap();
    assert!(!image.report.findings().iter().any(|finding| finding.code == "not-hybrid"));
    let overlay = &image.files[&FileName::BootDisk];
    assert!(overlay.patch_size() < 64 << 10, "{}", overlay.patch_size());
    let disk = read(overlay, &files);
    // All but the system area is the ISO, and the table stands behind it once more.
    assert!(disk[32768..iso.len()] == iso[32768..]);
    assert_eq!(disk.len() % 2048, 0);
    let esp = in_iso(&disk, "/boot/efi.img");
    assert_eq!(in_fat(&partition(&disk), &disk, X86), b"MZ");
    let gpt = Gpt::read(&disk).unwrap().unwrap();
    let (_, entry) = gpt.partitions().next().unwrap();
    assert_eq!((entry.last + 1 - entry.first) * 512, esp.len() as u64);
    assert_eq!(gpt.backup_sector(), disk.len() as u64 / 512 - 1);
    assert!(image.changes.iter().any(|change| change.subject == "GPT"));
    assert!(read(&plan(&files, Format::Usb).unwrap().files[&FileName::BootDisk], &files) == disk);
}

#[test]
fn the_table_of_an_iso_grows_with_it() {
    let iso = plain_iso(true);
    let esp = Volume::open(&iso).unwrap().find(&iso, "/boot/efi.img").unwrap().unwrap().extents[0];
    let esp = esp.offset..esp.offset + esp.length;
    let Hybrid { patches, appended } = hybrid::gpt(iso.len() as u64, &esp, &Digest::of(b"foreign")).unwrap();
    let mut segments = overlay::patched(Role::Iso, iso.len() as u64, patches).unwrap();
    segments.extend(appended);
    let sizes = Sizes::from([(Role::Iso, iso.len() as u64)]);
    let files = Files::from([(Role::Iso, iso)]);
    let files = Files::from([(Role::Iso, read(&Overlay::concatenated(&sizes, segments).unwrap(), &files))]);
    let mut recipe = recipe(Format::Iso);
    recipe.additions.keyfiles[0].content.push_str(&"#\n".repeat(50_000));
    let image = Image::plan(&recipe, &Base::probe(&files).unwrap(), identity()).unwrap();
    let grown = read(&image.files[&FileName::BootIso], &files);
    assert!(grown.len() > files[&Role::Iso].len());
    let id = |disk: &[u8]| disk[512 + 56..512 + 72].to_vec();
    assert_eq!(id(&grown), id(&files[&Role::Iso]));
    assert_eq!(in_fat(&partition(&grown), &grown, X86), b"MZ");
}

#[test]
fn an_iso_that_no_table_makes_boot_is_no_disk() {
    let mut in_use = plain_iso(true);
    in_use[20_000] = 1;
    let mut odd = plain_iso(true);
    odd.push(0);
    for (iso, reason) in [
        (in_use, "its first 32 KiB, where a partition table would be, are in use"),
        (odd, "its size is not a multiple of 2048"),
        (plain_iso(false), "it has neither a partition table nor an EFI system partition to name in one"),
    ] {
        let files = Files::from([(Role::Iso, iso)]);
        let base = Base::probe(&files).unwrap();
        let Base::Iso(found) = &base else { panic!("not an ISO") };
        assert_eq!(found.disk, DiskTable::Impossible(reason));
        assert!(base.formats().contains(&Format::Iso) && !base.formats().contains(&Format::Usb), "{reason}");
        let error = plan(&files, Format::Usb).unwrap_err().to_string();
        assert_eq!(error, format!("dayone cannot make an image of format 'usb' from this base: {reason}"));
    }
}
