use imagelib::compression::Compression;
use imagelib::cpio::Archive;

use super::build::host;
use super::images::{Place, coreos_initramfs, initramfs};
use super::{golden, run};

#[test]
fn isos_are_described_in_text_and_json() {
    let place = Place::new();
    for name in ["coreos.iso", "coreos-headers.iso", "coreos-s390x.iso", "tree.iso"] {
        let path = place.unpack(name);
        let json = run(&["inspect", "--format", "json", &path]);
        assert_eq!((json.code, json.err.as_str()), (0, ""), "{name}");
        golden(&format!("inspect-{name}.json"), &json.out);
        let text = run(&["inspect", &path]);
        assert_eq!((text.code, text.err.as_str()), (0, ""), "{name}");
        golden(&format!("inspect-{name}.txt"), &text.out.replace(&path, name));
    }
}

#[test]
fn what_an_image_carries_is_shown_by_its_digest_only() {
    let place = Place::new();
    let base = place.unpack("coreos.iso");
    let out = place.argument("out.iso");
    let secret = place.write("secret", "hunter2-hunter2");
    let file = format!("/etc/secret={secret}:0400");
    let arguments = ["build", &host(), "--base", &base, "-o", &out, "--karg-append", "a=b", "--file", &file];
    assert_eq!(run(&arguments).code, 0);
    let json = run(&["inspect", "--format", "json", &out]);
    golden("inspect-customised.json", &json.out);
    let text = run(&["inspect", &out]);
    golden("inspect-customised.txt", &text.out.replace(&out, "out.iso"));
    for shown in [json.out, text.out] {
        assert!(!shown.contains("hunter2") && !shown.contains("192.0.2.10"), "{shown}");
    }
}

#[test]
fn an_initramfs_is_described_by_its_archives() {
    let place = Place::new();
    let packed = Compression::Zstd.compress(&coreos_initramfs()).unwrap();
    let mut more = Archive::new();
    more.file("etc/coreos-firstboot-network/eth0.nmconnection".parse().unwrap(), 0o600, "[connection]").unwrap();
    more.add_parents(0o755).unwrap();
    let padding = vec![0; packed.len().wrapping_neg() % 4];
    let path = place.write("initrd", [packed, padding, more.to_bytes()].concat());
    let json = run(&["inspect", "--format", "json", &path]);
    assert_eq!((json.code, json.err.as_str()), (0, ""));
    let mut value: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert!(value["members"][1]["offset"].as_u64().unwrap() > 0);
    // They depend on the compressor.
    value["members"][1]["offset"] = serde_json::Value::Null;
    value["size"] = serde_json::Value::Null;
    golden("inspect-initramfs.json", &format!("{value:#}\n"));
    let plain = place.write("ramdisk", initramfs(&[("usr/sbin/NetworkManager", "elf"), ("init", "elf")]));
    let text = run(&["inspect", &plain]);
    assert_eq!((text.code, text.err.as_str()), (0, ""));
    golden("inspect-ramdisk.txt", &text.out.replace(&plain, "ramdisk"));
    let known = place.write("known", ramdisk_with_network_manager("1.42.4"));
    let text = run(&["inspect", &known]).out;
    assert!(
        text.contains("\nNetworkManager     1.42.4\n") && text.contains("NetworkManager 1.42.4 is in it"),
        "{text}"
    );
    let json = run(&["inspect", "--format", "json", &known]).out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let found = (&json["features"]["network_manager"], &json["network_manager_version"]);
    assert_eq!(found, (&true.into(), &"1.42.4".into()));
}

/// A system that is all in its initramfs, with a release of NetworkManager.
pub(super) fn ramdisk_with_network_manager(release: &str) -> Vec<u8> {
    let plugin = format!("usr/lib/x86_64-linux-gnu/NetworkManager/{release}/libnm-device-plugin-bond.so");
    initramfs(&[("usr/sbin/NetworkManager", "elf"), ("init", "elf"), (&plugin, "elf")])
}

#[test]
fn an_unknown_format_exits_with_1_and_a_read_error_with_2() {
    let place = Place::new();
    let text = place.write("text", "interfaces: []\n");
    place.unpack("coreos.iso");
    let cut = place.write("cut.iso", &place.read("coreos.iso")[..100_000]);
    let cut_initrd = place.write("cut.img", &coreos_initramfs()[..300]);
    // Its MBR says that a GPT follows, which is at 4096 on such a disk.
    let mut disk = vec![0; 100_000];
    disk[450] = 0xEE;
    disk[458] = 1;
    disk[510..512].copy_from_slice(&[0x55, 0xAA]);
    disk[4096..4104].copy_from_slice(b"EFI PART");
    let large_sectors = place.write("disk.img", disk);
    for (path, code, sentence) in [
        (text.as_str(), 1, "text is no ISO 9660 image, no initramfs and no image of a disk with a partition table"),
        (&large_sectors, 1, "disk.img: it is the image of a disk with sectors of 4096 bytes"),
        (&place.write("empty", ""), 1, "empty is empty"),
        (&cut, 1, "cut.iso: "),
        (&cut_initrd, 1, "cut.img: "),
        ("/nonexistent", 2, "cannot open /nonexistent: "),
        (place.path().to_str().unwrap(), 2, "neither a file nor a block device"),
    ] {
        for format in ["text", "json"] {
            let ended = run(&["inspect", "--format", format, path]);
            assert_eq!((ended.code, ended.out.as_str()), (code, ""), "{path}: {}", ended.err);
            assert!(ended.err.starts_with("dayone: ") && ended.err.contains(sentence), "{path}: {}", ended.err);
            assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
        }
    }
}

#[test]
fn garbage_in_the_embed_area_is_reported() {
    let place = Place::new();
    let path = place.unpack("coreos.iso");
    let json: serde_json::Value = serde_json::from_str(&run(&["inspect", "--format", "json", &path]).out).unwrap();
    let offset = usize::try_from(json["ignition_area"]["offset"].as_u64().unwrap()).unwrap();
    let mut image = place.read("coreos.iso");
    image[offset..offset + 7].copy_from_slice(b"garbage");
    place.write("coreos.iso", image);
    let ended = run(&["inspect", &path]);
    assert_eq!(ended.code, 1);
    assert!(
        ended.err.contains("cannot read the files in ") && ended.err.contains("neither a cpio archive"),
        "{}",
        ended.err
    );
}
