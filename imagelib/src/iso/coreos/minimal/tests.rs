use super::format::CommonFile;
use super::*;
use crate::iso::testing::{change, image, only};

fn try_probe(image: &[u8]) -> Result<Option<MinimalIso>, MinimalIsoError> {
    MinimalIso::probe(&image, &Volume::open(&image).unwrap())
}

fn default(minimal: &MinimalIso) -> KernelArguments {
    minimal.areas().kernel_arguments().unwrap().default().clone()
}

fn bytes_of(overlay: &Overlay, full: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(overlay.size()).unwrap()];
    assert_eq!(overlay.read_at(&(Role::Iso, full), 0, &mut bytes).unwrap(), bytes.len());
    bytes
}

#[test]
fn the_minimal_iso_is_ranges_of_the_full_one() {
    let full = image("coreos-packed");
    let minimal = try_probe(&full).unwrap().unwrap();
    minimal.verify(&full).unwrap();
    // Descriptors and directories, but not the padding to one MiB.
    assert_eq!(minimal.size(), 1 << 20);
    assert!(minimal.packed.patch_size() < 160 << 10, "{}", minimal.packed.patch_size());

    let published = default(&minimal);
    assert!(!published.to_string().contains("liveiso") && published.to_string().contains("ignition.firstboot"));
    let mut arguments = published.clone();
    arguments.append(&"coreos.live.rootfs_url=http://192.0.2.1/rootfs.img".parse().unwrap());
    let overlay = minimal.plan(vec![0x5a; 1000], &arguments).unwrap().overlay;
    let bytes = bytes_of(&overlay, &full);
    let volume = Volume::open(&bytes).unwrap();
    assert!(volume.find(&bytes, "images/pxeboot/rootfs.img").unwrap().is_none());
    let found = CoreosIso::probe(&bytes, &volume).unwrap().unwrap();
    assert_eq!(found.ignition().used(), 1000);
    assert_eq!(found.kernel_arguments().unwrap().current(), &arguments);
    assert_eq!(found.kernel_arguments().unwrap().default(), &published);
}

#[test]
fn what_is_embedded_in_the_full_iso_is_not_in_the_minimal_one() {
    let pristine = image("coreos-packed");
    let iso = CoreosIso::probe(&pristine, &Volume::open(&pristine).unwrap()).unwrap().unwrap();
    let patches = iso.embed(vec![1; 5000], Some(&"secret".parse().unwrap())).unwrap();
    let overlay = Overlay::patched(Role::Iso, pristine.len() as u64, patches).unwrap();
    let customised = bytes_of(&overlay, &pristine);
    let minimal = try_probe(&customised).unwrap().unwrap();
    minimal.verify(&customised).unwrap();
    let expected = try_probe(&pristine).unwrap().unwrap();
    let plan =
        |minimal: &MinimalIso, full| bytes_of(&minimal.plan(Bytes::new(), &default(minimal)).unwrap().overlay, full);
    assert!(plan(&minimal, &customised) == plan(&expected, &pristine));
}

#[test]
fn an_iso_without_a_description_has_no_minimal_one() {
    assert!(try_probe(&image("coreos")).unwrap().is_none());
    assert!(try_probe(&image("tree")).unwrap().is_none());
}

#[test]
fn descriptions_that_are_not_of_this_image_are_errors() {
    let pristine = image("coreos-packed");
    let mut full = pristine.clone();
    change(&mut full, b"kernel\n", b"Kernel\n");
    let error = try_probe(&full).unwrap().unwrap().verify(&full).unwrap_err().to_string();
    assert!(error.contains("download it again"), "{error}");

    for (from, to, expected) in [
        (b"MINISO\0\0\x01", b"miniso\0\0\x01", "does not begin"),
        (b"MINISO\0\0\x01", b"MINISO\0\0\x02", "version 2"),
        // The program's version has another length, and nothing that follows is where it should be.
        (b"MINISO\0\0\x01", b"MINISO\0\0\x00", "version 0"),
    ] {
        let mut full = pristine.clone();
        change(&mut full, from, to);
        let error = try_probe(&full).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}, not {expected}");
    }
    let mut full = pristine;
    let stream = only(&full, b"\xfd7zXZ\0");
    full[stream + 100] ^= 1;
    let error = try_probe(&full).unwrap_err().to_string();
    assert!(error.contains("xz stream is damaged"), "{error}");
}

#[test]
fn files_must_follow_each_other_and_lie_in_the_full_iso() {
    let between = Compression::Xz.compress(&[7; 4096]).unwrap();
    let file = |minimal, full, length| CommonFile { minimal, full, length };
    let unpack = |files: &[CommonFile]| {
        let description = PackedIso { files: files.to_vec(), digest: Digest::of(b""), between: &between };
        unpacked(&description, 16384).map(|overlay| overlay.size()).map_err(|error| error.to_string())
    };
    assert_eq!(unpack(&[file(2048, 0, 2048), file(4096, 8192, 100), file(4196, 100, 1)]), Ok(4096 + 2149));
    for (files, expected) in [
        (&[file(2048, 0, 2049), file(4096, 0, 1)][..], "files that overlap"),
        (&[file(4096, 0, 1), file(2048, 0, 1)], "files that overlap"),
        (&[file(4097, 0, 1)], "less between the files"),
        (&[file(2048, 0, 1), file(4098, 0, 1)], "less between the files"),
        (&[file(0, 16383, 2)], "not that of this ISO"),
        (&[file(0, u64::MAX, 1)], "not that of this ISO"),
        (&[file(0, 0, 16384)], "larger than this one"),
    ] {
        let error = unpack(files).unwrap_err();
        assert!(error.contains(expected), "{error}, not {expected}");
    }
    let bomb = Compression::Xz.compress(&vec![0; (4 << 20) + 1]).unwrap();
    let description = PackedIso { files: Vec::new(), digest: Digest::of(b""), between: &bomb };
    assert!(matches!(unpacked(&description, 1 << 30), Err(MinimalIsoError::Compression(_))));
}
