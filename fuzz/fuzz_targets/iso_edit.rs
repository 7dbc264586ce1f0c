//! Any bytes as an ISO image that is edited: no panic, and segments that fit the image.
#![no_main]

use imagelib::iso::Volume;
use imagelib::iso::edit::{Edit, Editor};
use imagelib::overlay::{Content, Overlay, Segment};
use imagelib::source::Role;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(volume) = Volume::open(&bytes) else { return };
    let Ok(editor) = Editor::open(&bytes, &volume) else { return };
    let own = |length| vec![Segment::Own(Content::Bytes(vec![1; length].into()))];
    let paths = volume.walk(&bytes, imagelib::iso::TreeKind::Primary).filter_map(Result::ok).map(|(path, _)| path);
    let mut edits: Vec<Edit> = vec![Edit::AddFile { path: "/a/b/c".to_owned(), content: own(3), mode: 0o600 }];
    let paths: Vec<String> = paths.take(8).collect();
    let remove = |path: &String| Edit::Remove { path: path.clone() };
    let mut plans: Vec<Vec<Edit>> = paths.iter().map(|path| vec![remove(path)]).collect();
    for pair in paths.windows(2) {
        plans.push(vec![remove(&pair[0]), Edit::Replace { path: pair[1].clone(), content: own(9000) }]);
    }
    plans.push(paths.iter().map(remove).collect());
    for (index, path) in paths.into_iter().enumerate() {
        edits.push(Edit::AddFile { path: format!("{path}/new"), content: own(0), mode: 0o644 });
        edits.push(Edit::Replace { path, content: own(index * 1500) });
    }
    for edits in edits.iter().map(|edit| vec![edit.clone()]).chain([edits.clone()]).chain(plans) {
        if let Ok(plan) = editor.plan(edits) {
            let segments = plan.segments().expect("the patches fit the image");
            let sizes = [(Role::Iso, bytes.len() as u64)].into();
            let overlay = Overlay::concatenated(&sizes, segments).expect("the segments fit the image");
            assert_eq!(overlay.size(), plan.size);
        }
    }
});
