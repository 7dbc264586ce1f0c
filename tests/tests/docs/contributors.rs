//! What the pages for contributors say of commands and places.

use std::fs;
use std::process::Command;

use acceptance::bases::fixtures;
use acceptance::peers::run_text;

fn read(path: &str) -> String {
    fs::read_to_string(fixtures("..").join(path)).unwrap()
}

/// A text in one line.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A test of the package `dayone` writes each page of the reference.
#[test]
fn the_page_has_the_command_that_writes_the_reference() {
    let page = joined(&read("docs/ARCHITECTURE.md"));
    let tests = ["catalogue.rs", "config.rs"].map(|file| read(&format!("server/tests/cli/{file}")));
    for entry in fs::read_dir(fixtures("../docs/reference")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(tests.iter().any(|test| test.contains(&format!("docs/reference/{name}"))), "no test writes {name}");
        let (before, _) = page.split_once(&format!("writes [reference/{name}]")).unwrap_or_else(|| panic!("{name}"));
        let (_, command) = before.rsplit_once("`UPDATE_GOLDEN=1 cargo test -p ").expect("a command");
        assert!(command.starts_with("dayone "), "{name}: {command}");
    }
}

#[test]
fn the_page_says_where_the_fuzzer_keeps_what_it_has_found() {
    let script = read("scripts/fuzz.sh");
    let is_definition = |line: &&str| line.starts_with("declare -A max_len=") || line.starts_with("corpus_of()");
    let definitions = script.lines().filter(is_definition).collect::<Vec<_>>().join("\n");
    let shell =
        |command: &str| run_text(Command::new("bash").args(["-euc", &format!("corpus=C\n{definitions}\n{command}")]));
    assert_eq!(shell("corpus_of cpio"), "C/cpio\n");
    let page = joined(&read("docs/testing.md"));
    let sentence = page.split(". ").find(|sentence| sentence.contains("`fuzz/corpus/`")).expect("a sentence");
    let large = shell("echo \"${!max_len[@]}\"");
    assert!(large.split_whitespace().count() > 3, "{large}");
    for target in large.split_whitespace() {
        assert_eq!(shell(&format!("corpus_of {target}")), format!("fuzz/corpus/{target}\n"));
        assert!(sentence.contains(&format!("`{target}`")), "{target}: {sentence}");
    }
    // Nothing else in the script chooses between the two directories.
    assert_eq!(script.matches("\"$corpus/").count(), 1);
}
