//! `dayone completions`, `dayone man-pages` and `dayone --version`.

use std::fs;

use super::{dayone, ended, run, run_with_input};

/// A setting of whoever makes the files, which must not be in them.
const SETTING: (&str, &str) = ("DAYONE_MEDIA_URL", "http://192.0.2.77:8081");

#[test]
fn completions_are_scripts_of_their_shells() {
    for (shell, sign) in [("bash", "_dayone()"), ("zsh", "#compdef dayone"), ("fish", "complete -c dayone")] {
        let completions = ended(dayone().args(["completions", shell]).env(SETTING.0, SETTING.1).output().unwrap());
        assert_eq!((completions.code, completions.err.as_str()), (0, ""));
        assert!(completions.out.contains(sign) && completions.out.contains("media-url"), "{shell}");
        assert!(!completions.out.contains(SETTING.1), "{shell}");
    }
    let unknown = run(&["completions", "csh"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("bash, elvish, fish"), "{}", unknown.err);
}

#[test]
fn each_command_has_a_page_with_the_text_of_its_help() {
    let directory = tempfile::tempdir().unwrap();
    let pages = directory.path().join("share/man/man1");
    let write = || ended(dayone().arg("man-pages").arg(&pages).env(SETTING.0, SETTING.1).output().unwrap());
    for _ in 0..2 {
        let written = write();
        assert_eq!((written.code, written.out.as_str(), written.err.as_str()), (0, "", ""));
    }
    let read = |name: &str| fs::read_to_string(pages.join(name)).unwrap();
    let serve = read("dayone-serve.1");
    assert!(serve.contains("Address of the API") && serve.contains("DAYONE_MEDIA_URL"), "{serve}");
    assert!(!serve.contains(SETTING.1), "{serve}");
    assert!(read("dayone.1").contains(concat!("dayone ", env!("CARGO_PKG_VERSION"))));
    assert!(read("dayone-bmc-probe.1").contains("dayone reads the BMC and changes nothing."));
    assert!(!pages.join("dayone-help.1").exists());

    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let failed = run(&["man-pages", file.to_str().unwrap()]);
    assert_eq!(failed.code, 2, "{}", failed.err);
    assert!(failed.err.contains("cannot write manual pages to"), "{}", failed.err);
}

#[test]
fn the_version_names_nmstates_release() {
    let short = run(&["-V"]).out;
    assert_eq!(short, concat!("dayone ", env!("CARGO_PKG_VERSION"), "\n"));
    let long = run(&["--version"]).out;
    let lines: Vec<&str> = long.lines().collect();
    assert_eq!(lines.len(), 3, "{long}");
    assert_eq!(lines[0], short.trim());
    assert!(lines[1].starts_with("commit: "), "{long}");
    let checked = run_with_input(&["check", "--format", "json", "-"], b"interfaces: []");
    let checked: serde_json::Value = serde_json::from_str(&checked.out).unwrap();
    assert_eq!(lines[2], format!("nmstate: {}", checked["nmstate_version"].as_str().unwrap()));
}
