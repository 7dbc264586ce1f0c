//! Files that are removed, and cut out of the image.

use super::*;

/// A live medium in small: what is removed is in the middle.
pub(super) fn live_tree(directory: &Path) -> std::path::PathBuf {
    let tree = directory.join("tree");
    let random = &mut Random(3);
    for (name, size) in [
        ("vmlinuz", 30_001),
        ("initrd.img", 20_003),
        ("live/root.img", 3 << 20),
        ("live/zz/last", 2047),
        ("live/root.txt", 100),
        ("a/b/c", 2049),
    ] {
        let path = tree.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, random.bytes(size)).unwrap();
    }
    tree
}

/// Removes files, replaces others, and asks everybody what came of it.
fn remove(base: &Base, removed: &[&str], replaced: &[(String, Vec<Segment>)], directory: &Path) -> EditPlan {
    let mut edits: Vec<Edit> =
        replaced.iter().cloned().map(|(path, content)| Edit::Replace { path, content }).collect();
    edits.extend(removed.iter().map(|path| Edit::Remove { path: (*path).to_owned() }));
    let plan = base.editor.plan(edits).unwrap_or_else(|error| panic!("{}: {error}", base.layout.name));
    let after = base.image(&plan);
    assert_eq!(after.len() as u64, plan.size);
    let (old, new) = (directory.join("old.iso"), directory.join("new.iso"));
    for start in if base.layout.partition { &[0, 16 * 2048][..] } else { &[0] } {
        fs::write(&old, &base.bytes[*start..]).unwrap();
        fs::write(&new, &after[*start..]).unwrap();
        for reader in READERS.iter().filter(|reader| base.layout.has(reader)) {
            let mut expected = expected(&(reader.read)(&old, directory), base, replaced);
            let before = expected.len();
            expected.retain(|_, content| !removed.iter().any(|path| content.as_slice() == base.content(path)));
            assert!(expected.len() + removed.len() <= before, "{} {}", base.layout.name, reader.name);
            let what = format!("{} read by {} from {start} on", base.layout.name, reader.name);
            let mut found = (reader.read)(&new, directory);
            // It names the places of boot images, which are compared below.
            for tree in [&mut expected, &mut found] {
                tree.retain(|path, _| !path.to_ascii_lowercase().contains("boot.cat"));
            }
            same(&what, &expected, &found);
        }
    }
    fs::write(&old, &base.bytes).unwrap();
    fs::write(&new, &after).unwrap();
    structures::compare_cut(base.layout, &old, &new);
    Editor::open(&after, &Volume::open(&after).unwrap()).unwrap();
    plan
}

#[test]
fn removed_files_are_gone_for_every_reader_and_all_else_is_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let tree = live_tree(directory.path());
    for (index, layout) in LAYOUTS.iter().enumerate() {
        let base = Base::open(layout, fs::read(layout.make_of(&tree).path()).unwrap());
        let grown = vec![base.segment("/initrd.img"), own(vec![7; 9000])];
        let plan = remove(&base, &["/live/root.img"], &[("/initrd.img".to_owned(), grown)], directory.path());
        // The old initrd is gone as well; isohybrid rounds up to a MiB.
        assert!(plan.size + (2 << 20) <= base.bytes.len() as u64, "{}: {:#?}", layout.name, plan.changes);

        let random = &mut Random(index as u64 + 300);
        let base = Base::of(layout, random.0);
        let replaced = replacements(&base, random);
        let files = base.files();
        let mut removed: Vec<&str> = Vec::new();
        for _ in 0..1 + random.below(4) {
            let path = files[random.below(files.len())].as_str();
            if !removed.contains(&path) && replaced.iter().all(|(other, _)| other != path) {
                removed.push(path);
            }
        }
        remove(&base, &removed, &replaced, directory.path());
    }
}

#[test]
fn what_stands_before_a_boot_loader_that_knows_its_place_is_not_cut_out() {
    let base = Base::of(&LAYOUTS[8], 7);
    for (path, reason) in
        [("/isolinux/isolinux.bin", "boot loader"), ("/boot/grub/efi.img", "nothing can be cut out there")]
    {
        let error = base.editor.plan(vec![Edit::Remove { path: path.to_owned() }]).unwrap_err().to_string();
        assert!(error.contains(path) && error.contains(reason), "{error}");
    }
}
