use super::*;
use crate::iso::TreeKind;
use crate::iso::edit::ChangeKind;
use crate::iso::testing::{image, put_both};

struct Found {
    bytes: Vec<u8>,
    areas: CoreosIso,
    growth: Growth,
}

fn probe(bytes: Vec<u8>) -> Found {
    let volume = Volume::open(&bytes).unwrap();
    let areas = CoreosIso::probe(&bytes, &volume).unwrap().unwrap();
    let growth = Growth::probe(&bytes, &volume, &areas).unwrap();
    Found { bytes, areas, growth }
}

impl Found {
    fn plan(&self, archive: Vec<u8>, arguments: Option<&KernelArguments>) -> Result<Grown, GrowthError> {
        self.growth.plan(&self.areas, archive, arguments)
    }

    fn bytes_of(&self, grown: &Grown) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(grown.overlay.size()).unwrap()];
        assert_eq!(grown.overlay.read_at(&(Role::Iso, &self.bytes), 0, &mut bytes).unwrap(), bytes.len());
        bytes
    }

    /// The default arguments with one more, so that there are so many bytes in all.
    fn arguments(&self, length: usize) -> KernelArguments {
        let mut arguments = self.areas.kernel_arguments().unwrap().default().clone();
        let room = length - arguments.to_string().len() - 1;
        arguments.append(&"x".repeat(room).parse().unwrap());
        assert_eq!(arguments.to_string().len(), length);
        arguments
    }
}

#[test]
fn what_fits_stays_where_it_is() {
    for name in ["coreos", "coreos-headers", "coreos-s390x", "coreos-packed"] {
        let found = probe(image(name));
        let arguments = found.arguments(800);
        let grown = found.plan(vec![1; 262_144], Some(&arguments)).unwrap();
        let patches = found.areas.embed(vec![1; 262_144], Some(&arguments)).unwrap();
        let expected = Overlay::patched(Role::Iso, found.bytes.len() as u64, patches).unwrap();
        assert!(grown.overlay == expected && grown.changes.is_empty(), "{name}");
    }
}

#[test]
fn what_does_not_fit_gets_larger_areas_at_the_end() {
    let found = probe(image("coreos"));
    let arguments = found.arguments(1919);
    let archive = vec![7; 262_145];
    let grown = found.plan(archive.clone(), Some(&arguments)).unwrap();
    let moved: Vec<_> = grown.changes.iter().filter(|change| change.kind == ChangeKind::FileMoved).collect();
    let subjects: Vec<_> = moved.iter().map(|change| change.subject.as_str()).collect();
    assert_eq!(
        subjects,
        ["/images/ignition.img", "/isolinux/isolinux.cfg", "/EFI/fedora/grub.cfg", "/coreos/kargs.json"]
    );
    // The archive and not its room, two configurations, directory records and tables.
    assert!(grown.overlay.patch_size() < 262_145 + (64 << 10), "{}", grown.overlay.patch_size());

    let again = probe(found.bytes_of(&grown));
    let (there, areas) = (again.areas.ignition(), again.areas.kernel_arguments().unwrap());
    assert_eq!((there.length(), there.used()), (524_288, 262_145));
    assert_eq!(again.areas.embedded(&again.bytes).unwrap()[..262_145], archive);
    assert_eq!((areas.size(), areas.current()), (2048, &arguments));
    assert_eq!(areas.default(), found.areas.kernel_arguments().unwrap().default());
    // All that stood in the image stands there still, but for the records of what moved and the tables.
    let old = found.areas.ignition();
    let range = usize::try_from(old.offset()).unwrap()..usize::try_from(old.offset() + old.length()).unwrap();
    assert!(again.bytes[range].iter().all(|byte| *byte == 0));

    // What comes next goes into the larger areas.
    let next = again.plan(vec![9; 500_000], Some(&again.arguments(1900))).unwrap();
    assert!(next.changes.is_empty() && next.overlay.size() == grown.overlay.size());
    // They have room for more than boot loaders pass on.
    let error = again.plan(Vec::new(), Some(&again.arguments(1920))).unwrap_err().to_string();
    assert!(error.contains("accept at most 1919"), "{error}");
}

#[test]
fn one_area_grows_without_the_other() {
    let found = probe(image("coreos"));
    let grown = found.plan(vec![7; 300_000], Some(&found.arguments(1000))).unwrap();
    let again = probe(found.bytes_of(&grown));
    let areas = again.areas.kernel_arguments().unwrap();
    assert_eq!((areas.size(), areas.current()), (1139, &found.arguments(1000)));
    assert_eq!(again.areas.ignition().length(), 524_288);

    let grown = found.plan(vec![7; 1000], Some(&found.arguments(1500))).unwrap();
    let again = probe(found.bytes_of(&grown));
    assert_eq!(again.areas.kernel_arguments().unwrap().current(), &found.arguments(1500));
    assert_eq!(again.areas.ignition(), &{
        let patched = found.plan(vec![7; 1000], None).unwrap();
        probe(found.bytes_of(&patched)).areas.ignition().clone()
    });
}

#[test]
fn a_length_that_is_described_is_described_anew() {
    let mut bytes = image("coreos");
    let volume = Volume::open(&bytes).unwrap();
    let text = b"{\"file\":\"images/ignition.img\",\"length\":262144}";
    for tree in [TreeKind::Primary, TreeKind::Joliet] {
        let entry = volume.find_in(&bytes, tree, "coreos/igninfo.json").unwrap().unwrap();
        let (start, record) = (entry.extents[0].offset, usize::try_from(entry.records[0]).unwrap());
        put_both(&mut bytes, record + 10, u32::try_from(text.len()).unwrap());
        let start = usize::try_from(start).unwrap();
        bytes[start..start + text.len()].copy_from_slice(text);
    }
    let found = probe(bytes);
    let again = probe(found.bytes_of(&found.plan(vec![7; 300_000], None).unwrap()));
    assert_eq!(again.areas.ignition().description().length, Some(524_288));
    assert_eq!((again.areas.ignition().length(), again.areas.ignition().used()), (524_288, 300_000));
}

#[test]
fn what_was_embedded_before_does_not_stay_behind() {
    let pristine = probe(image("coreos"));
    let first = pristine.plan(b"password".repeat(1000), Some(&pristine.arguments(1100))).unwrap();
    let found = probe(pristine.bytes_of(&first));
    let second = found.plan(vec![7; 300_000], Some(&found.arguments(1500))).unwrap();
    let bytes = found.bytes_of(&second);
    assert!(!bytes.windows(8).any(|window| window == b"password"));
    let expected = pristine.plan(vec![7; 300_000], Some(&pristine.arguments(1500))).unwrap();
    assert!(bytes == pristine.bytes_of(&expected));
}

#[test]
fn old_headers_point_to_nothing_that_has_moved() {
    let mut bytes = image("coreos");
    let headers = image("coreos-headers");
    bytes[32_672..32_768].copy_from_slice(&headers[32_672..32_768]);
    let found = probe(bytes);
    let again = found.bytes_of(&found.plan(vec![7; 300_000], None).unwrap());
    assert_eq!((&again[32_672..32_680], &again[32_744..32_752]), (&[0; 8][..], &[0; 8][..]));
}

#[test]
fn what_cannot_grow_says_why() {
    let refused = |found: &Found, archive, length| {
        let arguments = (length > 0).then(|| found.arguments(length));
        found.plan(vec![1; archive], arguments.as_ref()).unwrap_err().to_string()
    };
    let coreos = probe(image("coreos"));
    let error = refused(&coreos, 1, 1920);
    assert!(error.contains("1920 bytes in all; boot loader and kernel accept at most 1919"), "{error}");
    let error = refused(&coreos, (64 << 20) + 1, 0);
    assert!(error.contains("67108865 bytes") && error.contains("room for 67108864"), "{error}");

    let s390x = probe(image("coreos-s390x"));
    let error = refused(&s390x, 262_145, 0);
    assert!(
        error.contains("262145") && error.contains("room for 262144") && error.contains("/images/cdboot.img"),
        "{error}"
    );
    let error = refused(&s390x, 1, 896);
    assert!(error.contains("896") && error.contains("room for 895") && error.contains("/images/cdboot.img"), "{error}");

    let error = refused(&probe(image("coreos-headers")), 1, 1200);
    assert!(error.contains("has no /coreos/kargs.json, as later releases have"), "{error}");

    let mut bytes = image("coreos");
    bytes[2048..2050].copy_from_slice(b"PM");
    bytes[4096..4098].copy_from_slice(b"PM");
    bytes[4144..4153].copy_from_slice(b"Apple_HFS");
    bytes[4104..4108].copy_from_slice(&60_u32.to_be_bytes());
    bytes[31_744..31_746].copy_from_slice(b"H+");
    let error = refused(&probe(bytes), 262_145, 0);
    assert!(error.contains("HFS+"), "{error}");
}
