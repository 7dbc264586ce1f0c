//! The synthetic CoreOS ISOs that everything else is tested with have the layout of those that were published.

use std::collections::BTreeSet;
use std::fs;

use acceptance::bases::{coreos_iso, historical_coreos_isos};
use acceptance::peers::cache;
use imagelib::iso::coreos::CoreosIso;
use imagelib::iso::{TreeKind, Volume};
use serde_json::Value;

/// A published ISO, and a synthetic one of the same layout.
fn pairs() -> [(Vec<u8>, Vec<u8>); 2] {
    let installer = cache().join("bin/coreos-installer");
    let installer = installer.to_str().expect("a path");
    let published = |wanted: &str| {
        historical_coreos_isos().into_iter().find(|(name, _)| name == wanted).expect("a published ISO").1
    };
    let synthetic = |layout: &str| fs::read(coreos_iso(&["--pack", installer, "--layout", layout])).unwrap();
    [
        (published("embed-areas-2023-07.x86_64"), synthetic("current")),
        (published("embed-areas-2023-07.s390x"), synthetic("s390x")),
    ]
}

fn file(image: &[u8], path: &str) -> Vec<u8> {
    Volume::open(&image).unwrap().find(&image, path).unwrap().expect(path).read(&image, 1 << 20).unwrap()
}

fn paths(image: &[u8]) -> BTreeSet<String> {
    let volume = Volume::open(&image).unwrap();
    let files = volume.walk(&image, TreeKind::Primary).map(Result::unwrap);
    files.filter(|(_, entry)| !entry.is_directory()).map(|(path, _)| path).collect()
}

/// What a JSON document is made of, without its values: keys, and the kinds of what they hold.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), shape(value))).collect(),
        Value::Array(members) => members.iter().map(shape).collect(),
        Value::String(_) => "text".into(),
        Value::Number(_) => "number".into(),
        Value::Bool(_) => "yes or no".into(),
        Value::Null => Value::Null,
    }
}

#[test]
fn files_have_the_same_names() {
    for (published, synthetic) in pairs() {
        // What the published ones have beyond a boot: a leftover of s390x, and names that were in use before.
        let without = ["/zipl.prm", "/images/efiboot.img", "/images/pxeboot/kernel.img", "/isolinux/ldlinux.c32"];
        let named = |image| -> BTreeSet<String> {
            paths(image).into_iter().filter(|path| !without.contains(&path.as_str())).collect()
        };
        assert_eq!(named(&published), named(&synthetic));
    }
}

#[test]
fn descriptions_have_the_same_shape() {
    for (published, synthetic) in pairs() {
        for path in ["coreos/igninfo.json", "coreos/kargs.json"] {
            let shape = |image| shape(&serde_json::from_slice(&file(image, path)).unwrap());
            assert_eq!(shape(&published), shape(&synthetic), "{path}");
        }
        let features = |image| -> Value { serde_json::from_slice(&file(image, "coreos/features.json")).unwrap() };
        let (published, synthetic) = (features(&published), features(&synthetic));
        // Not every directive of the installer is among ours.
        for (key, value) in synthetic.as_object().unwrap() {
            assert_eq!(value.is_boolean(), published[key].is_boolean(), "{key}");
        }
        assert_eq!(published.as_object().unwrap().len(), synthetic.as_object().unwrap().len());
    }
}

#[test]
fn areas_have_the_same_sizes_and_places_in_their_files() {
    for (published, synthetic) in pairs() {
        let areas = |image| {
            let iso = CoreosIso::probe(image, &Volume::open(image).unwrap()).unwrap().unwrap();
            let arguments = iso.kernel_arguments().unwrap();
            let ignition = iso.ignition();
            let files: Vec<_> = arguments.areas().iter().map(|area| area.file().unwrap().to_owned()).collect();
            // Ignition areas begin where a block of the medium does, on s390x where the initrd ends.
            (ignition.file().to_owned(), ignition.length(), ignition.offset() % 2048, arguments.size(), files)
        };
        assert_eq!(areas(&published), areas(&synthetic));
    }
}

#[test]
fn the_boot_image_of_s390x_says_where_its_parts_are() {
    let [_, (published, synthetic)] = pairs();
    for image in [published, synthetic] {
        let boot = file(&image, "images/cdboot.img");
        let number = |bytes: &[u8], at: usize| u64::from_be_bytes(bytes[at..at + 8].try_into().unwrap());
        let (start, size) = (number(&boot, 66568), number(&boot, 66576));
        let igninfo: Value = serde_json::from_slice(&file(&image, "coreos/igninfo.json")).unwrap();
        let (offset, length) = (igninfo["offset"].as_u64().unwrap(), igninfo["length"].as_u64().unwrap());
        // What is loaded as the initrd ends with the area, and so does the file.
        assert_eq!(start + size, offset + length);
        assert_eq!(offset + length, boot.len() as u64);
        assert!(boot[66688..].starts_with(b"mitigations=auto,nosmt coreos.liveiso="));

        let place = file(&image, "images/initrd.addrsize");
        assert_eq!((place.len(), number(&place, 0)), (16, 0x0200_0000));
        for line in ["images/genericdvd.prm 0x00010480", "images/initrd.addrsize 0x00010408"] {
            assert!(String::from_utf8(file(&image, "generic.ins")).unwrap().contains(line), "{line}");
        }
    }
}
