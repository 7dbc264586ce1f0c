// A slice is not a source of known size, as a trait object needs it.
#![allow(clippy::ptr_arg)]

use super::*;
use crate::iso::testing::{change, image, only, put_both};
use crate::overlay::Content;

const DEFAULT: &str =
    "mitigations=auto,nosmt coreos.liveiso=fedora-coreos-40.20240101.3.0 ignition.firstboot ignition.platform.id=metal";

fn try_probe(image: &Vec<u8>) -> Result<Option<CoreosIso>, CoreosIsoError> {
    CoreosIso::probe(image, &Volume::open(image).unwrap())
}

fn probe(image: &Vec<u8>) -> CoreosIso {
    try_probe(image).unwrap().unwrap()
}

fn apply(image: &[u8], patches: &[Patch]) -> Vec<u8> {
    let mut image = image.to_vec();
    for patch in patches {
        let range = usize::try_from(patch.offset).unwrap()..usize::try_from(patch.end()).unwrap();
        match &patch.content {
            Content::Bytes(bytes) => image[range].copy_from_slice(bytes),
            Content::Zeros(_) => image[range].fill(0),
            Content::Counter(counter) => _ = counter.fill(&mut image[range]),
        }
    }
    image
}

#[test]
fn every_layout_is_understood() {
    for (name, file, areas, size) in [
        ("coreos", "images/ignition.img", 2, 1139),
        ("coreos-headers", "images/ignition.img", 2, 1139),
        ("coreos-s390x", "images/cdboot.img", 1, 896),
    ] {
        let image = image(name);
        let iso = probe(&image);
        assert_eq!((iso.ignition().file(), iso.ignition().length()), (file, 262_144), "{name}");
        let kargs = iso.kernel_arguments().unwrap();
        assert_eq!((kargs.areas().len(), kargs.size()), (areas, size), "{name}");
        assert_eq!(kargs.default().to_string(), DEFAULT);
        assert!(iso.is_pristine() && iso.embedded(&image).unwrap() == vec![0; 262_144]);
        assert_eq!(
            iso.features(),
            Features { live_initrd_network: true, installer_config: true, installer_console: true }
        );
        for area in kargs.areas() {
            let at = usize::try_from(area.offset()).unwrap();
            assert!(image[at..].starts_with(DEFAULT.as_bytes()), "{name}");
        }
    }
}

#[test]
fn what_is_not_coreos_is_nothing() {
    assert_eq!(try_probe(&image("tree")).unwrap(), None);
}

/// An Ignition area with so many bytes in use.
fn area(byte: u8, used: usize) -> Vec<u8> {
    [vec![byte; used], vec![0; 262_144 - used]].concat()
}

#[test]
fn embedding_and_taking_out_again_leaves_the_pristine_image() {
    for name in ["coreos", "coreos-headers", "coreos-s390x"] {
        let pristine = image(name);
        let iso = probe(&pristine);
        let default = iso.kernel_arguments().unwrap().default().clone();
        let mut arguments = default.clone();
        arguments.append(&"console=ttyS0#".parse().unwrap());

        let patches = iso.embed(vec![0x5a; 1000], Some(&arguments)).unwrap();
        // No zeros are patched over zeros.
        assert_eq!(patches.len(), 1 + iso.kernel_arguments().unwrap().areas().len());
        assert!(patches.windows(2).all(|pair| pair[0].end() <= pair[1].offset));
        let customised = apply(&pristine, &patches);
        assert_eq!(customised.len(), pristine.len());

        let iso = probe(&customised);
        assert!(!iso.is_pristine() && !iso.ignition().is_empty());
        assert_eq!(iso.embedded(&customised).unwrap(), area(0x5a, 1000));
        assert_eq!(iso.kernel_arguments().unwrap().current(), &arguments);
        assert_eq!(iso.kernel_arguments().unwrap().default(), &default);

        // A shorter archive leaves nothing of the longer one behind.
        let shorter = apply(&customised, &iso.embed(vec![0xa5; 10], None).unwrap());
        assert_eq!(probe(&shorter).embedded(&shorter).unwrap(), area(0xa5, 10));
        assert_eq!(probe(&shorter).kernel_arguments().unwrap().current(), &arguments);

        let reset = apply(&shorter, &probe(&shorter).embed(Bytes::new(), Some(&default)).unwrap());
        assert!(reset == pristine, "{name}");
    }
}

#[test]
fn what_fills_an_area_fits_and_one_byte_more_does_not() {
    let pristine = image("coreos");
    let iso = probe(&pristine);
    let full = apply(&pristine, &iso.embed(vec![1; 262_144], None).unwrap());
    assert_eq!(probe(&full).embedded(&full).unwrap(), area(1, 262_144));
    let error = iso.embed(vec![1; 262_145], None).unwrap_err().to_string();
    assert!(error.contains("262145 bytes") && error.contains("room for 262144"), "{error}");

    let longest: KernelArguments = "x".repeat(1138).parse().unwrap();
    let full = apply(&pristine, &iso.embed(Bytes::new(), Some(&longest)).unwrap());
    assert_eq!(probe(&full).kernel_arguments().unwrap().current(), &longest);
    let error = iso.embed(Bytes::new(), Some(&"x".repeat(1139).parse().unwrap())).unwrap_err().to_string();
    assert!(error.contains("1139 bytes") && error.contains("room for 1138"), "{error}");
}

#[test]
fn a_larger_file_is_a_larger_area() {
    let mut image = image("coreos");
    let volume = Volume::open(&image).unwrap();
    let entry = volume.find(&image, "images/ignition.img").unwrap().unwrap();
    let end = image.len();
    image.extend(vec![0; 1 << 20]);
    let record = usize::try_from(entry.records[0]).unwrap();
    put_both(&mut image, record + 2, u32::try_from(end / 2048).unwrap());
    put_both(&mut image, record + 10, 1 << 20);
    let iso = probe(&image);
    assert_eq!((iso.ignition().offset(), iso.ignition().length()), (end as u64, 1 << 20));

    image.extend(vec![0; 64 << 20]);
    put_both(&mut image, record + 10, 65 << 20);
    assert!(matches!(try_probe(&image), Err(CoreosIsoError::IgnitionSize { .. })));
}

#[test]
fn descriptions_that_cannot_be_true_are_errors() {
    let coreos = image("coreos");
    let s390x = image("coreos-s390x");
    let cases = [
        (
            &coreos,
            "\"file\": \"images/ignition.img\"",
            "\"file\": \"images/ignition.imx\"",
            "names /images/ignition.imx, which is not there",
        ),
        (&coreos, "{\n  \"file\": \"", "[\n  \"file\": \"", "/coreos/igninfo.json in the ISO image is damaged"),
        (&coreos, "\"size\": 1139", "\"size\": 2049", "2049 bytes; dayone supports 2 to 2048"),
        (&coreos, "\"size\": 1139", "\"size\": 0   ", "0 bytes; dayone supports 2 to 2048"),
        (&coreos, "\"size\": 1139", "\"size\": 100 ", "are smaller than the default arguments"),
        (&coreos, "\"size\": 1139", "\"size\": 2048", "lies outside EFI/fedora/grub.cfg"),
        (&coreos, "\"live-initrd-network\": true", "\"live-initrd-network\": 1234", "/coreos/features.json"),
        (&s390x, "\"offset\": 132096", "\"offset\": 132097", "lies outside images/cdboot.img"),
        (&s390x, "\"offset\": 132096", "\"offset\": 66689 ", "overlap"),
        (&s390x, "\"length\": 262144", "\"length\": 0     ", "lies outside images/cdboot.img"),
    ];
    for (image, from, to, expected) in cases {
        let mut image = image.clone();
        change(&mut image, from.as_bytes(), to.as_bytes());
        let error = try_probe(&image).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}, not {expected}");
    }
}

/// The kernel finds an archive only at a multiple of four bytes behind the beginning of the initrd.
#[test]
fn an_archive_behind_an_initrd_of_any_length_begins_where_the_kernel_looks() {
    let aligned = image("coreos-s390x");
    let start = probe(&aligned).ignition().offset();
    for skipped in 0..4 {
        let mut image = aligned.clone();
        // What was there before ends within the first bytes.
        image[usize::try_from(start + 4 - skipped).unwrap()] = 1;
        change(&mut image, b"\"offset\": 132096", format!("\"offset\": {}", 132_100 - skipped).as_bytes());
        change(&mut image, b"\"length\": 262144", format!("\"length\": {}", 262_140 + skipped).as_bytes());
        let iso = probe(&image);
        assert_eq!((iso.ignition().offset(), iso.ignition().length()), (start + 4, 262_140), "{skipped}");
        assert!(!iso.is_pristine());
        let embedded = apply(&image, &iso.embed(b"070701".to_vec(), None).unwrap());
        let at = usize::try_from(start).unwrap();
        assert_eq!(&embedded[at..at + 12], b"\0\0\0\x00070701\0\0", "{skipped}");
    }
}

#[test]
fn areas_that_differ_are_an_error() {
    let mut image = image("coreos");
    let area = probe(&image).kernel_arguments().unwrap().areas()[1].offset();
    image[usize::try_from(area).unwrap()] = b'M';
    let error = try_probe(&image).unwrap_err().to_string();
    assert!(error.contains("differ from each other"), "{error}");
}

#[test]
fn the_header_is_read_only_where_no_file_describes_the_areas() {
    let mut headers = image("coreos-headers");
    // Its magic number gone, there are no areas for kernel arguments.
    change(&mut headers, b"coreKarg", b"corekarg");
    let iso = probe(&headers);
    assert_eq!(iso.kernel_arguments(), None);
    assert!(iso.is_pristine() && iso.embed(vec![1], None).is_ok());
    let error = iso.embed(vec![1], Some(&"a".parse().unwrap())).unwrap_err().to_string();
    assert!(error.contains("has no areas for them, as later releases have"), "{error}");

    let mut headers = image("coreos-headers");
    let at = only(&headers, b"coreKarg");
    headers[at + 24..at + 32].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(try_probe(&headers).unwrap_err().to_string().contains("lies outside the ISO image"));
    headers[at + 24..at + 32].copy_from_slice(&0_u64.to_le_bytes());
    assert!(try_probe(&headers).unwrap_err().to_string().contains("none is listed"));
}

#[test]
fn names_of_level_1_are_found_where_there_are_no_others() {
    let mut image = image("coreos");
    let expected = probe(&image);
    change(&mut image, b"SP\x07\x01\xbe\xef", b"XX\x07\x01\xbe\xef");
    image[36864] = 3; // no Joliet: a descriptor of a partition
    let volume = Volume::open(&image).unwrap();
    assert!(!volume.has_rock_ridge() && !volume.has_joliet());
    assert_eq!(probe(&image), expected);
}
