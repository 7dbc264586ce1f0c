//! Any bytes as an initramfs: no panic, and a file is placed only into directories that are there or that the
//! placement names.
#![no_main]

use imagelib::cpio::MemberPath;
use imagelib::initramfs::{Node, read_embed_area, survey};
use libfuzzer_sys::fuzz_target;

const LIMIT: u64 = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    let paths = ["a", "etc/hostname", "lib/dracut/hooks/pre-pivot/x.sh"];
    let paths: Vec<MemberPath> = paths.iter().map(|path| path.parse().unwrap()).collect();
    let area = read_embed_area(&bytes, LIMIT);
    let Ok(survey) = survey(&bytes, &paths, LIMIT) else { return };
    if let Ok(area) = area {
        assert!(area.values().map(|content| content.len() as u64).sum::<u64>() <= LIMIT);
    }
    for path in &paths {
        let Ok(placement) = survey.tree.place(path) else { continue };
        for parent in placement.path.ancestors() {
            let there = matches!(survey.tree.node(&parent), Some(Node::Directory { .. }));
            assert!(there != placement.missing.contains(&parent), "{parent}");
        }
    }
});
