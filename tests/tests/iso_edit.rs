//! Edited ISOs and everybody who reads ISOs: what was edited is new, all else is as it was, in every tree and for
//! every reader.

#[path = "iso_edit/layouts.rs"]
mod layouts;
#[path = "iso_edit/readers.rs"]
mod readers;
#[path = "iso_edit/structures.rs"]
mod structures;

use std::fs;
use std::path::Path;

use imagelib::iso::edit::{Edit, EditPlan, Editor};
use imagelib::iso::{EntryKind, TreeKind, Volume};
use imagelib::overlay::{Content, Overlay, Segment};
use imagelib::source::Role;
use layouts::{LAYOUTS, Layout, Random};
use readers::{READERS, Tree};

/// A base, and what it holds.
struct Base {
    layout: &'static Layout,
    bytes: Vec<u8>,
    editor: Editor,
}

impl Base {
    fn of(layout: &'static Layout, seed: u64) -> Self {
        let bytes = fs::read(layout.make(seed).path()).unwrap();
        let volume = Volume::open(&bytes).unwrap();
        let editor = Editor::open(&bytes, &volume).unwrap();
        Self { layout, bytes, editor }
    }

    /// The paths of all files that have content and can be edited, each content once.
    fn files(&self) -> Vec<String> {
        let volume = Volume::open(&self.bytes).unwrap();
        let mut files: Vec<String> = Vec::new();
        for (path, entry) in volume.walk(&self.bytes, TreeKind::Primary).map(Result::unwrap) {
            if entry.kind == EntryKind::File
                && entry.size() > 0
                && let Some(file) = self.editor.file(&path)
                && file.editable.is_ok()
                && !file.aliases.iter().any(|alias| files.contains(alias))
            {
                files.push(path);
            }
        }
        files
    }

    fn content(&self, path: &str) -> &[u8] {
        let extent = self.editor.file(path).unwrap().extent;
        let start = usize::try_from(extent.offset).unwrap();
        &self.bytes[start..start + usize::try_from(extent.length).unwrap()]
    }

    fn segment(&self, path: &str) -> Segment {
        let extent = self.editor.file(path).unwrap().extent;
        Segment::Base { file: Role::Iso, offset: extent.offset, length: extent.length }
    }

    fn image(&self, plan: &EditPlan) -> Vec<u8> {
        bytes_of(&self.bytes, plan.segments().unwrap())
    }
}

fn bytes_of(base: &Vec<u8>, segments: Vec<Segment>) -> Vec<u8> {
    let overlay = Overlay::concatenated(&[(Role::Iso, base.len() as u64)].into(), segments).unwrap();
    let mut bytes = vec![0; usize::try_from(overlay.size()).unwrap()];
    assert_eq!(overlay.read_at(&(Role::Iso, base), 0, &mut bytes).unwrap(), bytes.len());
    bytes
}

fn own(bytes: Vec<u8>) -> Segment {
    Segment::Own(Content::Bytes(bytes.into()))
}

/// New content for some files, of all the kinds there are.
fn replacements(base: &Base, random: &mut Random) -> Vec<(String, Vec<Segment>)> {
    let files = base.files();
    let mut replaced: Vec<(String, Vec<Segment>)> = Vec::new();
    for _ in 0..1 + random.below(5) {
        let path = files[random.below(files.len())].clone();
        if replaced.iter().any(|(other, _)| *other == path) {
            continue;
        }
        let old = base.content(&path).len();
        let content = match random.below(6) {
            0 => vec![own(random.bytes(old.next_multiple_of(2048).saturating_sub(3).max(1)))],
            1 => vec![own(random.bytes(old / 2 + 1))],
            2 | 3 => {
                // What an initrd gets: padding to four, and an archive.
                let pad = old.next_multiple_of(4) - old;
                let more = 1 + random.below(9000);
                vec![base.segment(&path), Segment::Own(Content::Zeros(pad as u64)), own(random.bytes(more))]
            }
            4 => vec![own(random.bytes(3)), base.segment(&files[random.below(files.len())]), own(random.bytes(2))],
            _ => vec![own(random.bytes(old + 5000))],
        };
        replaced.push((path, content));
    }
    replaced
}

/// What a reader finds after files have been given other content, from what it found before: whatever the reader
/// calls a file, its content tells which it is.
fn expected(before: &Tree, base: &Base, replaced: &[(String, Vec<Segment>)]) -> Tree {
    let mut tree = before.clone();
    for content in tree.values_mut() {
        for (path, segments) in replaced {
            let old = base.content(path);
            if content.as_slice() == old {
                *content = bytes_of(&base.bytes, segments.clone());
                break;
            }
        }
    }
    tree
}

#[track_caller]
fn same(what: &str, expected: &Tree, found: &Tree) {
    let names = |tree: &Tree| tree.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(expected), names(found), "{what}");
    for (path, content) in expected {
        assert!(*content == found[path], "{what}: {path} has {} bytes, not {}", found[path].len(), content.len());
    }
}

/// Compares what all readers find in both images.
fn compare(base: &Base, after: &[u8], directory: &Path, expected: impl Fn(&str, &Tree) -> Tree) {
    let (old, new) = (directory.join("old.iso"), directory.join("new.iso"));
    let starts = if base.layout.partition { &[0, 16 * 2048][..] } else { &[0] };
    for start in starts {
        // Who mounts a partition sees what begins there.
        fs::write(&old, &base.bytes[*start..]).unwrap();
        fs::write(&new, &after[*start..]).unwrap();
        for reader in READERS.iter().filter(|reader| base.layout.has(reader)) {
            let before = (reader.read)(&old, directory);
            assert!(before.len() > 3, "{} {}", base.layout.name, reader.name);
            let what = format!("{} read by {} from {start} on", base.layout.name, reader.name);
            same(&what, &expected(reader.name, &before), &(reader.read)(&new, directory));
        }
    }
    fs::write(&old, &base.bytes).unwrap();
    fs::write(&new, after).unwrap();
    structures::compare(base.layout, &old, &new);
}

#[test]
fn replaced_files_are_new_to_every_reader_and_all_else_is_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    for (index, layout) in LAYOUTS.iter().enumerate() {
        {
            let seed = index as u64;
            let base = Base::of(layout, seed);
            let replaced = replacements(&base, &mut Random(seed));
            let edits = replaced.iter().cloned().map(|(path, content)| Edit::Replace { path, content });
            let plan = base.editor.plan(edits.clone().collect()).unwrap();
            assert_eq!(plan, base.editor.plan(edits.collect()).unwrap());
            let after = base.image(&plan);
            assert_eq!(after.len() as u64, plan.size);
            println!("{} {replaced:?} {:#?}", layout.name, plan.changes);
            compare(&base, &after, directory.path(), |_, before| expected(before, &base, &replaced));
            // The result is an image like any other: it can be edited again.
            Editor::open(&after, &Volume::open(&after).unwrap()).unwrap();
        }
    }
}
