use proptest::prelude::*;

use super::*;
use crate::iso::testing::image;

fn names(layout: &Layout) -> Vec<(&str, u64)> {
    layout.files().iter().map(|file| (file.name.as_str(), file.size)).collect()
}

#[test]
fn who_comes_first_has_the_bytes_and_what_nobody_has_is_between() {
    let mut builder = Builder::new(100);
    builder.structure("head", [0..10]);
    builder.file("/a", None, [20..30, 40..50]);
    builder.file("/same", Some(BootRole::Kernel), [20..30, 40..50]);
    builder.file("/b", Some(BootRole::Initrd), [5..45]);
    builder.file("/end", None, [90..u64::MAX]);
    builder.file("/outside", None, [200..300]);
    let layout = builder.finish();
    let expected = [("head", 10), ("/a", 20), ("/b", 20), ("/end", 10), (BETWEEN, 40)];
    assert_eq!(names(&layout), expected);
    assert_eq!(layout.files()[1].role, Some(BootRole::Kernel), "another name says what it is");
    let parts: Vec<_> = layout.parts().map(|(range, file)| (range.start, file.name.as_str())).collect();
    let expected = [(0, "head"), (10, "/b"), (20, "/a"), (30, "/b"), (40, "/a"), (50, BETWEEN), (90, "/end")];
    assert_eq!(parts, expected);
    assert_eq!(layout.count(&[0..15, 25..45, 89..100]), [10, 10, 15, 10, 1]);
    assert_eq!([0, 49, 50, 99, 100].map(|offset| layout.at(offset)), [Some(0), Some(1), Some(4), Some(3), None]);
}

#[test]
fn a_reduced_layout_keeps_what_boots_and_what_is_large() {
    let layout = Layout::of_iso(&image("coreos"), &Roles::default()).unwrap();
    let reduced = layout.clone().reduced(6);
    assert_eq!(reduced.files().len(), 6);
    let total = |layout: &Layout| layout.files().iter().map(|file| file.size).sum::<u64>();
    assert_eq!(total(&reduced), total(&layout));
    assert!(reduced.parts().count() < layout.parts().count());
    assert!(names(&reduced).iter().any(|(name, _)| *name == OTHERS));
    for file in layout.files().iter().filter(|file| file.role.is_some()).take(3) {
        assert!(reduced.files().contains(file), "{}", file.name);
    }
}

#[test]
fn the_files_of_a_coreos_iso_have_their_roles() {
    let layout = Layout::of_iso(&image("coreos"), &Roles::default()).unwrap();
    let role = |path: &str| layout.files().iter().find(|file| file.name == path).unwrap().role;
    assert_eq!(role("/images/pxeboot/vmlinuz"), Some(BootRole::Kernel));
    assert_eq!(role("/images/pxeboot/initrd.img"), Some(BootRole::Initrd));
    for structure in ["system area", "volume descriptors", "boot catalog", "path tables", "directories"] {
        assert!(layout.files().iter().any(|file| file.name == structure && !file.is_file), "{structure}");
    }
}

proptest! {
    #[test]
    fn parts_follow_each_other_and_counts_add_up(
        ranges in prop::collection::vec((0_u64..1200, 0_u64..300), 0..30),
        most in 1_usize..40,
        asked in prop::collection::vec(any::<bool>(), 1000),
    ) {
        let mut builder = Builder::new(1000);
        for (index, (start, length)) in ranges.iter().enumerate() {
            builder.file(&format!("/{index}"), None, [*start..start + length]);
        }
        let layout = builder.finish();
        // By the book: each byte belongs to the first that has it.
        for offset in 0..1000 {
            let first = ranges.iter().position(|(start, length)| (*start..start + length).contains(&offset));
            let expected = first.map_or(BETWEEN.to_owned(), |index| format!("/{index}"));
            prop_assert_eq!(&layout.files()[layout.at(offset).unwrap()].name, &expected);
        }
        let offsets = asked.iter().enumerate().filter(|(_, asked)| **asked).map(|(offset, _)| offset as u64);
        let asked: Vec<Range<u64>> = offsets.map(|offset| offset..offset + 1).collect();
        for layout in [layout.clone(), layout.reduced(most)] {
            prop_assert!(layout.files().len() <= ranges.len() + 1);
            let mut position = 0;
            for (range, _) in layout.parts() {
                prop_assert_eq!(range.start, position);
                position = range.end;
            }
            prop_assert_eq!(position, 1000);
            let sizes: Vec<u64> = layout.files().iter().map(|file| file.size).collect();
            prop_assert_eq!(layout.count(&[0..1000]), sizes);
            prop_assert_eq!(layout.count(&asked).iter().sum::<u64>(), asked.len() as u64);
        }
    }

    #[test]
    fn a_damaged_iso_gives_a_layout_or_an_error(
        changes in prop::collection::vec((0_usize..1 << 18, any::<u8>()), 1..40),
    ) {
        let mut image = image("tree");
        for (offset, byte) in changes {
            let length = image.len();
            image[(16 * 2048 + offset) % length] = byte;
        }
        if let Ok(layout) = Layout::of_iso(&image, &Roles::default()) {
            prop_assert_eq!(layout.count(&[0..image.len() as u64]).iter().sum::<u64>(), image.len() as u64);
        }
    }
}
