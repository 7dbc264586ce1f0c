//! Bytes that are no initramfs, or a damaged one.

use proptest::prelude::*;

use super::*;

fn read_everything(image: &[u8]) {
    drop(survey(&image, &["a", "etc/os-release"].map(path), 1000));
    drop(read_embed_area(&image, 1000));
    drop(walk(&image, |_, reader| {
        io::copy(&mut reader.take(100), &mut io::sink())?;
        Ok(())
    }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    #[test]
    fn arbitrary_members_do_no_harm(
        magic in prop::sample::select(vec![&b"\x1f\x8b\x08\0"[..], b"\xfd7zXZ\0\0\x01", b"\x28\xb5\x2f\xfd", b"070701", b""]),
        bytes in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        read_everything(&[magic, &bytes].concat());
    }

    #[test]
    fn mutated_images_do_no_harm(
        which in 0_usize..4,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
    ) {
        let mut bytes = [base(), packed(GZIP, &["f a 1"]), packed(XZ, &["f a 1"]), raw(&["l a -> b", "f b/x y"])][which].clone();
        for (index, value) in changes {
            let at = index.index(bytes.len());
            bytes[at] = value;
        }
        read_everything(&bytes);
    }
}
