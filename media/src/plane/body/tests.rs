use std::io::Write as _;

use http_body_util::BodyExt as _;
use imagelib::overlay::{Counter, Patch};
use imagelib::source::Source as _;
use proptest::prelude::*;
use tempfile::NamedTempFile;

use super::super::metrics::MediaMetrics;
use super::*;
use crate::base_file::BaseFile;

fn base(length: usize) -> (NamedTempFile, Arc<BaseFiles>) {
    let mut file = NamedTempFile::new().unwrap();
    let bytes: Vec<u8> = (0..length).map(|i| (i * 7 % 253).to_le_bytes()[0]).collect();
    file.write_all(&bytes).unwrap();
    let base = BaseFile::open(file.path()).unwrap();
    (file, Arc::new(BaseFiles::from([(Role::Iso, Arc::new(base))])))
}

fn body(overlay: &Arc<Overlay>, base: &Arc<BaseFiles>, parts: Vec<Part>) -> ImageBody {
    let transfer = MediaMetrics::default().transfer();
    ImageBody::new(Arc::clone(overlay), Arc::clone(base), parts.into(), Arc::default(), transfer, None)
}

fn collect(body: ImageBody) -> io::Result<Vec<u8>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(body.collect()).map(|body| body.to_bytes().to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]
    #[test]
    fn the_body_is_the_slices_for_any_cuts(
        cuts in prop::collection::vec((0_u64..400_000, 0_u64..200_000), 0..4),
        zeros in 0_u64..150_000,
        own in 0_usize..150_000,
    ) {
        let (_file, base) = base(300_000);
        let counted = Patch { offset: 260_000, content: Content::Counter(Counter::new(u32::MAX - 9, 9999)) };
        let patches =
            vec![Patch::zeros(1000, zeros), Patch::bytes(150_000 + 1000, vec![0xEE; own.min(100_000)]), counted];
        let overlay = Arc::new(Overlay::patched(Role::Iso, 300_000, patches).unwrap());
        let mut image = vec![0; 300_000];
        overlay.read_at(&*base, 0, &mut image).unwrap();

        let mut expected = vec![];
        let mut parts = vec![Part::Text(Bytes::new())];
        for (start, length) in cuts {
            let range = start.min(300_000)..start.saturating_add(length).min(300_000);
            let slice = usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap();
            expected.extend_from_slice(&image[slice]);
            expected.extend_from_slice(b"text");
            parts.extend([Part::Image(range), Part::Text(Bytes::from_static(b"text"))]);
        }
        let body = body(&overlay, &base, parts);
        prop_assert_eq!(body.size_hint().exact(), Some(expected.len() as u64));
        prop_assert_eq!(body.is_end_stream(), expected.is_empty());
        prop_assert!(collect(body).unwrap() == expected);
    }
}

#[test]
fn bytes_that_are_not_cached_come_from_another_thread() {
    let (file, base) = base(5 * BUFFER + 17);
    file.as_file().sync_all().unwrap();
    rustix::fs::fadvise(file.as_file(), 0, None, rustix::fs::Advice::DontNeed).unwrap();
    let overlay = Arc::new(Overlay::patched(Role::Iso, base[&Role::Iso].size(), vec![]).unwrap());
    let body = body(&overlay, &base, vec![Part::Image(0..base[&Role::Iso].size())]);
    assert!(collect(body).unwrap() == std::fs::read(file.path()).unwrap());
}

#[test]
fn a_base_that_changes_ends_the_body_with_an_error_and_not_with_its_bytes() {
    let (file, base) = base(10 * BUFFER);
    let overlay = Arc::new(Overlay::patched(Role::Iso, base[&Role::Iso].size(), vec![]).unwrap());
    let mut body = body(&overlay, &base, vec![Part::Image(0..base[&Role::Iso].size())]);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let first = runtime.block_on(body.frame()).unwrap().unwrap().into_data().unwrap();
    assert!(!first.is_empty());
    rustix::io::pwrite(file.as_file(), b"!", 9 * BUFFER as u64).unwrap();
    assert!(runtime.block_on(body.frame()).unwrap().is_err());
}

#[test]
fn an_overlay_without_its_base_is_an_error() {
    let overlay = Arc::new(Overlay::patched(Role::Iso, 10, vec![]).unwrap());
    let parts = VecDeque::from([Part::Image(0..10)]);
    let body = ImageBody::new(overlay, Arc::default(), parts, Arc::default(), MediaMetrics::default().transfer(), None);
    assert_eq!(collect(body).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
}
