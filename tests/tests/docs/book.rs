//! `docs/` as a book, built by mdBook.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
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
    for folder in ["", "start", "how-to", "reference", "adr"] {
        for entry in fs::read_dir(root.join("docs").join(folder)).unwrap().map(|entry| entry.unwrap().path()) {
            let page = entry.strip_prefix(root.join("docs")).unwrap().to_str().unwrap().to_owned();
            if page.ends_with(".md") && page != "SUMMARY.md" {
                assert!(summary.contains(&format!("({page})")), "{page} is not in docs/SUMMARY.md");
                assert!(built.path().join(page.replace(".md", ".html")).is_file(), "{page}");
            }
        }
    }
    let dead = dead_links(&fs::canonicalize(built.path()).unwrap());
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}

/// The values of an attribute in a page.
fn values(html: &str, attribute: &str) -> BTreeSet<String> {
    let start = format!(" {attribute}=\"");
    html.split(&start).skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}

/// The links between the pages that lead nowhere, and to no place in a page.
fn dead_links(book: &Path) -> Vec<String> {
    let mut pages: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut folders = vec![book.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            // These have every page, or are made for another address.
            let is_special = ["print.html", "404.html", "toc.html"].iter().any(|name| path.ends_with(name));
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|suffix| suffix == "html") && !is_special {
                pages.insert(path.clone(), fs::read_to_string(path).unwrap());
            }
        }
    }
    let mut dead = Vec::new();
    for (page, html) in &pages {
        let links = values(html, "href").into_iter().chain(values(html, "src"));
        for link in links.filter(|link| !link.contains(':')) {
            let (file, place) = link.split_once('#').unwrap_or((link.as_str(), ""));
            let mut target = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            if target.is_dir() {
                target.push("index.html");
            }
            let target = fs::canonicalize(target).unwrap_or_default();
            let is_there = pages.get(&target).is_none_or(|html| place.is_empty() || values(html, "id").contains(place));
            if !target.is_file() || !is_there {
                dead.push(format!("{}: {link}", page.display()));
            }
        }
    }
    dead
}
