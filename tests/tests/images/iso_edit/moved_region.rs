//! What is outside the files and moves, such as an EFI system partition behind the file system.

use super::removed::live_tree;
use super::structures::places;
use super::*;
use imagelib::iso::edit::EditError;

const ROOT: &str = "/live/root.img";

#[test]
fn the_tables_and_the_boot_catalog_name_the_new_place() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let tree = live_tree(directory);
    let (old, new) = (directory.join("old.iso"), directory.join("new.iso"));
    for layout in LAYOUTS.iter().filter(|layout| ["lorax", "appended"].contains(&layout.name)) {
        let base = Base::open(layout, fs::read(layout.make_of(&tree).path()).unwrap());
        fs::write(&old, &base.bytes).unwrap();
        let before = places(&old);
        let is_esp = |what: &str| what.starts_with("El Torito") && what.contains("UEFI");
        let (_, (start, _)) = before.iter().find(|(what, _)| is_esp(what)).unwrap();
        let length = before.iter().filter(|(_, place)| place.0 == *start).map(|(_, place)| place.1).max().unwrap();
        let root = usize::try_from(base.editor.file(ROOT).unwrap().extent.offset).unwrap();
        let more = vec![7; 5000];
        let expected = [&base.bytes[*start..start + length], &more].concat();
        let elsewhere = Edit::MoveRegion { name: "partition".to_owned(), start: *start as u64 + 2048, content: vec![] };
        assert!(matches!(base.editor.plan(vec![elsewhere]), Err(EditError::NothingThere { .. })));
        for remove in [false, true] {
            let content = vec![Segment::base(Role::Iso, *start as u64..(start + length) as u64), own(more.clone())];
            let mut edits = vec![Edit::MoveRegion { name: "partition".to_owned(), start: *start as u64, content }];
            edits.extend(remove.then(|| Edit::Remove { path: ROOT.to_owned() }));
            let plan = base.editor.plan(edits).unwrap();
            let after = base.image(&plan);
            assert_eq!(after.len() < base.bytes.len(), remove, "{}", layout.name);
            fs::write(&new, &after).unwrap();
            let mut moved = 0;
            for ((what, old), (_, new)) in before.iter().zip(&places(&new)) {
                if old.0 == *start {
                    assert!(after[new.0..].starts_with(&expected), "{}: {what}", layout.name);
                    moved += 1;
                } else if what.starts_with("El Torito") {
                    assert!(base.bytes[old.0..old.0 + old.1] == after[new.0..new.0 + new.1], "{}: {what}", layout.name);
                } else {
                    // In that of the volume, the descriptors change. What is behind the removed file has moved down.
                    let removed = if remove && old.0 > root { base.content(ROOT).len() } else { 0 };
                    assert_eq!(old.0, new.0 + removed, "{}: {what}", layout.name);
                }
            }
            assert!(moved >= 2, "{}: the catalog, and a table", layout.name);
            run(Command::new("xorriso").arg("-indev").arg(&new).args(["-check_media", "use=indev", "--"]));
        }
    }
}
