#![allow(clippy::cast_possible_truncation)] // small numbers

use proptest::prelude::*;

use super::*;
use crate::source::Source;

fn base(size: usize) -> Vec<u8> {
    (0..size).map(|i| (i * 31 % 251) as u8).collect()
}

fn materialise(overlay: &Overlay, base: &Vec<u8>) -> Vec<u8> {
    let mut image = vec![0xAA; usize::try_from(overlay.size()).unwrap()];
    assert_eq!(overlay.read_at(&(Role::Iso, base), 0, &mut image).unwrap(), image.len());
    image
}

/// Patches in any order that do not overlap, and the image they make, computed the simple way.
fn patched() -> impl Strategy<Value = (Vec<u8>, Vec<Patch>, Vec<u8>)> {
    (1_usize..400, prop::collection::vec((0_usize..40, 0_usize..30, 0_u8..3), 0..8), any::<u64>()).prop_map(
        |(size, cuts, seed)| {
            let base = base(size);
            let mut image = base.clone();
            let mut patches = vec![];
            let mut position = 0;
            for (gap, length, kind) in cuts {
                let start = position + gap;
                let end = start + length;
                if end > size {
                    break;
                }
                let content = match kind {
                    0 => Content::Zeros(length as u64),
                    1 => Content::Bytes((0..length).map(|i| (seed as usize + i * 7) as u8).collect()),
                    _ => Content::Counter(Counter::new(seed as u32, 9).part(seed % 5, length as u64)),
                };
                match &content {
                    Content::Zeros(_) => image[start..end].fill(0),
                    Content::Bytes(bytes) => image[start..end].copy_from_slice(bytes),
                    Content::Counter(_) => {
                        let numbers = (0..9).flat_map(|number| (seed as u32).wrapping_add(number).to_le_bytes());
                        let numbers: Vec<u8> = numbers.skip((seed % 5) as usize).take(length).collect();
                        image[start..end].copy_from_slice(&numbers);
                    }
                }
                patches.push(Patch { offset: start as u64, content });
                position = end.max(start + 1);
            }
            if seed % 2 == 0 {
                patches.reverse();
            }
            (base, patches, image)
        },
    )
}

proptest! {
    #[test]
    fn any_range_equals_the_slice_of_the_materialised_image(
        (base, patches, image) in patched(),
        offset in 0_u64..500,
        length in 0_usize..500,
    ) {
        let overlay = Overlay::patched(Role::Iso, base.len() as u64, patches).unwrap();
        prop_assert_eq!(overlay.size(), image.len() as u64);
        prop_assert_eq!(&materialise(&overlay, &base), &image);

        let mut buffer = vec![0xAA; length];
        let count = overlay.read_at(&(Role::Iso, &base), offset, &mut buffer).unwrap();
        let expected = image.iter().skip(offset as usize).take(length).copied().collect::<Vec<u8>>();
        prop_assert_eq!(&buffer[..count], &expected[..]);

        let total: u64 = overlay.segments(offset..offset + length as u64).map(|segment| segment.length()).sum();
        prop_assert_eq!(total, expected.len() as u64);
    }

    #[test]
    fn the_digest_is_that_of_the_bytes((base, patches, image) in patched()) {
        let overlay = Overlay::patched(Role::Iso, base.len() as u64, patches).unwrap();
        prop_assert_eq!(overlay.digest(&(Role::Iso, &base), |_| None).unwrap(), Digest::of(&image));
    }
}

#[test]
fn states_of_the_base_are_kept_and_give_the_same_digest() {
    let base = base(3 * prefix::CHUNK + 17);
    let states = PrefixStates::new();
    for offset in [2 * prefix::CHUNK + 5, 100, 3 * prefix::CHUNK, base.len() - 1, prefix::CHUNK, prefix::CHUNK - 1] {
        let patch = Patch { offset: offset as u64, content: Content::Bytes(Bytes::from_static(b"!")) };
        let overlay = Overlay::patched(Role::Iso, base.len() as u64, vec![patch]).unwrap();
        let expected = Digest::of(&materialise(&overlay, &base));
        assert_eq!(overlay.digest(&(Role::Iso, &base), |_| Some(&states)).unwrap(), expected, "patch at {offset}");
    }
    assert_eq!(states.digest(&base).unwrap(), Digest::of(&base));
}

#[test]
fn the_kept_states_spare_reading_the_beginning() {
    struct Counting(Vec<u8>, std::sync::atomic::AtomicU64);
    impl Source for Counting {
        fn size(&self) -> u64 {
            self.0.size()
        }
        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.read_at(offset, buffer)?;
            self.1.fetch_add(count as u64, std::sync::atomic::Ordering::Relaxed);
            Ok(count)
        }
    }
    let base = Counting(base(8 * prefix::CHUNK), 0.into());
    let states = PrefixStates::new();
    states.digest(&base).unwrap();
    base.1.store(0, std::sync::atomic::Ordering::Relaxed);
    let patch = Patch { offset: 8 * prefix::CHUNK as u64 - 10, content: Content::Zeros(10) };
    Overlay::patched(Role::Iso, base.size(), vec![patch])
        .unwrap()
        .digest(&(Role::Iso, &base), |_| Some(&states))
        .unwrap();
    assert!(base.1.load(std::sync::atomic::Ordering::Relaxed) < 2 * prefix::CHUNK as u64);
}

/// A source that fails if somebody reads it.
struct Unread(u64);

impl Source for Unread {
    fn size(&self) -> u64 {
        self.0
    }

    fn read_at(&self, offset: u64, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other(format!("read at {offset}")))
    }
}

#[test]
fn what_is_behind_the_whole_base_is_hashed_without_reading_it() {
    let base = base(2 * prefix::CHUNK + 17);
    let states = PrefixStates::new();
    let digest = states.digest(&base).unwrap();
    let sizes = Sizes::from([(Role::Initrd, base.size())]);
    let segments =
        vec![Segment::base(Role::Initrd, 0..base.size()), Segment::Own(Content::Bytes(Bytes::from_static(b"own")))];
    let overlay = Overlay::concatenated(&sizes, segments).unwrap();
    let expected = Digest::of(&[base.as_slice(), b"own"].concat());
    let stored = PrefixStates::from_bytes(&states.to_bytes(&digest), &digest).unwrap();
    for states in [&states, &stored] {
        let source = (Role::Initrd, &Unread(base.size()));
        assert_eq!(overlay.digest(&source, |_| Some(states)).unwrap(), expected);
    }
}

#[test]
fn an_image_with_its_first_patch_where_another_had_it_reads_nothing_before_that() {
    let base = base(3 * prefix::CHUNK);
    let states = PrefixStates::new();
    let offset = 2 * prefix::CHUNK as u64 + 4096;
    let hash = |source: &dyn Source| states.hash(source, offset).map(Digest::finish).unwrap();
    assert_eq!(hash(&base), Digest::of(&base[..offset as usize]));
    assert_eq!(hash(&Unread(base.size())), Digest::of(&base[..offset as usize]));
}

#[test]
fn stored_states_that_are_damaged_or_of_another_base_are_refused() {
    let base = base(prefix::CHUNK + 17);
    let states = PrefixStates::new();
    let digest = states.digest(&base).unwrap();
    let bytes = states.to_bytes(&digest);
    let refused = |bytes: &[u8], digest: &Digest| PrefixStates::from_bytes(bytes, digest).err();
    assert_eq!(refused(&bytes, &digest), None);
    assert_eq!(refused(&bytes, &Digest::of(b"other")), Some(PrefixStatesError::OtherBase));
    for length in 0..bytes.len() {
        assert_eq!(refused(&bytes[..length], &digest), Some(PrefixStatesError::Damaged), "{length}");
    }
    for position in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[position] ^= 1;
        assert_eq!(refused(&changed, &digest), Some(PrefixStatesError::Damaged), "{position}");
    }
}

#[test]
fn plans_for_another_base_are_refused() {
    let patch = |offset, length| Patch { offset, content: Content::Zeros(length) };
    assert!(matches!(Overlay::patched(Role::Iso, 10, vec![patch(8, 3)]), Err(OverlayError::OutOfBase { .. })));
    assert!(matches!(Overlay::patched(Role::Iso, 10, vec![patch(u64::MAX, 2)]), Err(OverlayError::OutOfBase { .. })));
    assert!(matches!(Overlay::patched(Role::Iso, 10, vec![patch(4, 2), patch(5, 1)]), Err(OverlayError::Overlap(5))));
    let sizes = Sizes::from([(Role::Iso, 10)]);
    let beyond = Segment::Base { file: Role::Iso, offset: 5, length: 6 };
    assert!(matches!(Overlay::concatenated(&sizes, vec![beyond]), Err(OverlayError::OutOfBase { .. })));
    let huge = vec![Segment::Own(Content::Zeros(u64::MAX)), Segment::Own(Content::Zeros(1))];
    assert!(matches!(Overlay::concatenated(&sizes, huge), Err(OverlayError::TooLarge)));
}

#[test]
fn the_identity_tells_bases_and_patches_apart_without_reading_the_base() {
    let overlay = |byte: &'static [u8], offset| {
        Overlay::patched(Role::Iso, 100, vec![Patch { offset, content: Content::Bytes(Bytes::from_static(byte)) }])
            .unwrap()
    };
    let digests = |content: &[u8]| BTreeMap::from([(Role::Iso, Digest::of(content)), (Role::Initrd, Digest::of(b"i"))]);
    let (one, two) = (digests(b"1"), digests(b"2"));
    let same = overlay(b"a", 5).identity(&one);
    assert_eq!(same, overlay(b"a", 5).identity(&one));
    for other in [overlay(b"a", 5).identity(&two), overlay(b"b", 5).identity(&one), overlay(b"a", 6).identity(&one)] {
        assert_ne!(same, other);
    }
}

#[test]
fn a_base_that_is_shorter_than_it_was_is_an_error_not_zeros() {
    let overlay = Overlay::patched(Role::Iso, 100, vec![]).unwrap();
    let error = overlay.read_at(&(Role::Iso, base(50)), 0, &mut [0; 100]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn ranges_of_several_files_stand_in_one_image() {
    let files = BTreeMap::from([(Role::Kernel, b"kernel".to_vec()), (Role::Initrd, b"initrd".to_vec())]);
    let range = |file, offset, length| Segment::Base { file, offset, length };
    let own = Segment::Own(Content::Bytes(Bytes::from_static(b"-")));
    let segments = vec![range(Role::Kernel, 1, 3), own, range(Role::Initrd, 0, 6)];
    let sizes = Sizes::from([(Role::Kernel, 6), (Role::Initrd, 6)]);
    let overlay = Overlay::concatenated(&sizes, segments).unwrap();
    let mut bytes = [0; 20];
    assert_eq!(overlay.read_at(&files, 0, &mut bytes).unwrap(), 10);
    assert_eq!(&bytes[..10], b"ern-initrd");
    assert_eq!(overlay.digest(&files, |_| None).unwrap(), Digest::of(b"ern-initrd"));
    assert_eq!(overlay.files(), BTreeSet::from([Role::Kernel, Role::Initrd]));

    let digests: BTreeMap<_, _> = files.iter().map(|(role, content)| (*role, Digest::of(content))).collect();
    let swapped = vec![
        range(Role::Initrd, 1, 3),
        Segment::Own(Content::Bytes(Bytes::from_static(b"-"))),
        range(Role::Kernel, 0, 6),
    ];
    let swapped = Overlay::concatenated(&sizes, swapped).unwrap();
    assert_ne!(overlay.identity(&digests), swapped.identity(&digests));
    assert_eq!(overlay.identity(&BTreeMap::from([(Role::Kernel, Digest::of(b""))])), None);
    let error = Overlay::concatenated(&sizes, vec![range(Role::Rootfs, 0, 1)]).unwrap_err();
    assert!(matches!(error, OverlayError::OutOfBase { file: Role::Rootfs, size: 0, .. }));
}

proptest! {
    #[test]
    fn an_image_laid_over_another_has_its_bytes((base, patches, mut image) in patched(), at in 0_usize..500, length in 0_usize..100) {
        let size = base.len() as u64;
        let lower = Overlay::patched(Role::Iso, size, patches).unwrap();
        let range = |offset, length| Segment::Base { file: Role::Iso, offset, length };
        let start = at % base.len();
        let end = (start + length).min(base.len());
        image[start..end].fill(0xEE);
        image.extend_from_within(..start);

        let patch = Patch::bytes(start as u64, vec![0xEE; end - start]);
        let mut segments = super::patched(Role::Iso, size, vec![patch]).unwrap();
        segments.push(range(0, start as u64));
        let upper = Overlay::concatenated(&Sizes::from([(Role::Iso, size)]), segments).unwrap();
        let overlay = upper.laid_over(&lower).unwrap();
        prop_assert_eq!(materialise(&overlay, &base), image.clone());
        let mut read = vec![0; image.len()];
        OverlaySource::new(&overlay, (Role::Iso, &base)).read_exact_at(0, &mut read).unwrap();
        prop_assert_eq!(read, image);
    }
}

#[test]
fn an_image_is_not_laid_over_a_shorter_one() {
    let upper = Overlay::patched(Role::Iso, 10, vec![]).unwrap();
    let lower = Overlay::literal(Bytes::from_static(b"012345678"));
    assert!(matches!(upper.laid_over(&lower), Err(OverlayError::OutOfBase { offset: 0, length: 10, size: 9, .. })));
}
