//! Thousands of files that are added to one directory of an ISO, as for a repository of packages.

use std::time::{Duration, Instant};

use imagelib::iso::edit::{Edit, Editor};
use imagelib::iso::{TreeKind, Volume};
use imagelib::overlay::{Overlay, OverlaySource, Segment};
use imagelib::source::{Role, Source as _};

use crate::live_media::iso;

const FILES: usize = 12_000;

#[test]
fn thousands_of_files_in_one_directory_take_seconds() {
    let base = iso(&[("isolinux/isolinux.bin", vec![7; 4096])], &[]);
    let editor = Editor::open(&base, &Volume::open(&base).unwrap()).unwrap();
    // Neither in the order of their names nor against it.
    let name = |number: usize| format!("p{}.rpm", number * 1999 % FILES);
    let add = |number| Edit::AddFile {
        path: format!("/packages/{}", name(number)),
        content: vec![Segment::bytes(name(number))],
        mode: 0o644,
    };
    let start = Instant::now();
    let plan = editor.plan((0..FILES).map(add).collect()).unwrap();
    let elapsed = start.elapsed();
    assert!(elapsed < Duration::from_secs(20), "{elapsed:?}");

    let image = Overlay::concatenated(&[(Role::Iso, base.size())].into(), plan.segments().unwrap()).unwrap();
    let source = OverlaySource::new(&image, (Role::Iso, base.as_slice()));
    let volume = Volume::open(&source).unwrap();
    for tree in [TreeKind::Primary, TreeKind::Joliet] {
        let packages = volume.find_in(&source, tree, "/packages").unwrap().unwrap();
        let files = volume.list(&source, tree, &packages).unwrap();
        assert_eq!(files.len(), FILES);
        assert!(files.is_sorted_by_key(|file| &file.tree_name), "{tree:?}");
        for file in files.iter().step_by(100) {
            assert_eq!(file.read(&source, 100).unwrap(), file.name.as_bytes());
        }
    }
}
