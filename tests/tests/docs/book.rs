//! `docs/` as a book, built by mdBook.

use std::fs;
use std::process::Command;

use acceptance::bases::fixtures;
use acceptance::peers::peer;

#[test]
fn the_book_is_built_without_a_warning_and_has_every_page() {
    let root = fs::canonicalize(fixtures("..")).unwrap();
    let built = tempfile::tempdir().unwrap();
    let mut mdbook: Command = peer("mdbook");
    let output = mdbook.arg("build").arg(&root).arg("-d").arg(built.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !said.contains("WARN") && !said.contains("ERROR"), "{said}");
    let summary = fs::read_to_string(root.join("docs/SUMMARY.md")).unwrap();
    for folder in ["", "start", "how-to", "reference"] {
        for entry in fs::read_dir(root.join("docs").join(folder)).unwrap().map(|entry| entry.unwrap().path()) {
            let page = entry.strip_prefix(root.join("docs")).unwrap().to_str().unwrap().to_owned();
            if page.ends_with(".md") && page != "SUMMARY.md" {
                assert!(summary.contains(&format!("({page})")), "{page} is not in docs/SUMMARY.md");
                assert!(built.path().join(page.replace(".md", ".html")).is_file(), "{page}");
            }
        }
    }
}
