//! Boot configurations of `fixtures/boot-config`: what is understood of them, and what changes make of them.
//! `UPDATE_GOLDEN=1` rewrites what is expected.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use imagelib::boot_config::{Boots, Edits, FileSystem, Found, LinuxBoot, discover};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/boot-config")
}

fn entries_of(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// The files below `directory`, by their paths from there.
fn tree(root: &Path, directory: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for path in entries_of(directory) {
        if path.is_dir() {
            tree(root, &path, files);
        } else {
            let name = format!("/{}", path.strip_prefix(root).unwrap().to_str().unwrap());
            files.insert(name, fs::read(&path).unwrap());
        }
    }
}

fn found(files: &BTreeMap<String, Vec<u8>>) -> Vec<Found> {
    discover(&[FileSystem::new(files.keys().map(String::as_str), |path| files.get(path).cloned())])
}

fn edits(found: &[Found]) -> Edits {
    let entries = found.iter().flat_map(|found| found.config.entries());
    let has_quiet =
        |boots: &Boots| matches!(boots, Boots::Linux(linux) if linux.arguments.iter().any(|a| a == "quiet"));
    let delete = if entries.into_iter().any(|entry| has_quiet(&entry.boots)) { vec!["quiet"] } else { vec![] };
    let arguments = serde_json::json!({"append": ["console=ttyS0", "rd.x=\"p q\""], "delete": delete});
    Edits {
        arguments: serde_json::from_value(arguments).unwrap(),
        initrds: vec!["/dayone.img".parse().unwrap()],
        ..Edits::default()
    }
}

fn described(found: &Found, linux: &LinuxBoot) -> String {
    let paths = std::iter::once(&linux.kernel).chain(&linux.initrds);
    let mut text = paths.fold(String::new(), |mut text, written| {
        let resolved = found.config.resolve(written, &found.directory);
        writeln!(text, "    {written} = {}", resolved.as_deref().unwrap_or("?")).unwrap();
        text
    });
    writeln!(text, "    [{}]", linux.arguments.iter().collect::<Vec<_>>().join("] [")).unwrap();
    text
}

fn listed(found: &[Found]) -> String {
    let mut text = String::new();
    for found in found {
        writeln!(text, "{} {}", found.config.loader(), found.path).unwrap();
        for included in found.config.includes() {
            let resolved = found.config.resolve(included, &found.directory);
            writeln!(text, "  includes {included} = {}", resolved.as_deref().unwrap_or("?")).unwrap();
        }
        for entry in found.config.entries() {
            let id = entry.id.as_deref().unwrap_or("-");
            let id = if entry.implicit { "no label" } else { id };
            writeln!(text, "  {:?} ({id}) {}-{}", entry.title, entry.lines.start(), entry.lines.end()).unwrap();
            match &entry.boots {
                Boots::Linux(linux) => text.push_str(&described(found, linux)),
                Boots::Other(reason) => writeln!(text, "    {reason}").unwrap(),
            }
            if let Some(device) = &entry.device {
                writeln!(text, "    from {device}").unwrap();
            }
            if let Some(program) = &entry.program {
                let resolved = found.config.resolve(program, &found.directory);
                writeln!(text, "    starts {program} = {}", resolved.as_deref().unwrap_or("?")).unwrap();
            }
        }
    }
    text
}

/// Compares, or rewrites, a golden file.
fn compare(path: &Path, found: &[u8], wrong: &mut Vec<String>) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, found).unwrap();
    } else if fs::read(path).unwrap_or_default() != found {
        wrong.push(format!("{}: found\n{}", path.display(), String::from_utf8_lossy(found)));
    }
}

#[test]
fn real_configurations_are_understood_and_changed() {
    let mut wrong = Vec::new();
    for case in entries_of(&fixtures().join("media")) {
        let name = case.file_name().unwrap();
        let expected = fixtures().join("expected").join(name);
        let mut files = BTreeMap::new();
        tree(&case, &case, &mut files);
        let found = found(&files);
        assert_eq!(found.len(), files.len(), "{}: each file is found", case.display());
        compare(&expected.join("entries"), listed(&found).as_bytes(), &mut wrong);

        let configs: Vec<_> = found.iter().map(|found| &found.config).collect();
        let edited = edits(&found).apply_to(&configs).unwrap();
        for (found, text) in found.iter().zip(edited.texts) {
            if let Some(text) = text {
                compare(&expected.join(found.path.trim_start_matches('/')), &text, &mut wrong);
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
