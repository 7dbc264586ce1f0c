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

    // A page that cannot be written.
    fs::remove_file(pages.join("dayone-serve.1")).unwrap();
    fs::create_dir(pages.join("dayone-serve.1")).unwrap();
    let failed = write();
    assert!(failed.code == 2 && failed.err.contains("where a set may be incomplete"), "{}", failed.err);

    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let failed = run(&["man-pages", file.to_str().unwrap()]);
    assert_eq!(failed.code, 2, "{}", failed.err);
    assert!(failed.err.contains("cannot write manual pages to"), "{}", failed.err);
}

#[test]
fn help_that_cannot_be_written_is_a_failure() {
    for argument in ["--version", "--help"] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let ended = ended(dayone().arg(argument).stdout(full).stderr(std::process::Stdio::piped()).output().unwrap());
        assert!(ended.code == 2 && ended.err.contains("cannot write to standard output"), "{}", ended.err);
    }
}

#[test]
fn an_argument_that_must_be_utf_8_is_named() {
    use std::os::unix::ffi::OsStrExt as _;
    let base = std::ffi::OsStr::from_bytes(b"/nowhere/\xf6.iso");
    let output = dayone().args(["build", "-o", "x.iso", "host.yaml", "--base"]).arg(base).output().unwrap();
    let ended = ended(output);
    assert!(ended.code == 2 && ended.err.contains("not UTF-8: /nowhere/\u{fffd}.iso"), "{}", ended.err);
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
