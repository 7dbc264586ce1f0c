//! Any text as a settings file of each program, and as a file of the API's clients: no panic, errors of one line each that name a place
//! in the text, and the same answer each time. Nothing shows a password in a URL, and no error shows the query of one or a token. Settings
//! that are read are shown as a file, which has the same settings.
#![no_main]

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::fs;

use dayone::arguments::Program;
use dayone::fuzzing::{client_names, load_settings, settings_file};
use dayone::settings::Place;
use libfuzzer_sys::fuzz_target;

/// What stands for a secret in the input: a URL with a password and a query, and a token in a file of clients.
const PLACEHOLDER: &str = "SECRET";
const PASSWORD: &str = "s3cr3tpassword00";
const QUERY: &str = "s3cr3tquery00000";

fuzz_target!(|data: &[u8]| {
    let Some((kind, text)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    // Each setting is read as an option of a command line, which takes long.
    if text.len() > 4096 {
        return;
    }
    match Program::ALL.get(usize::from(kind % 4)) {
        Some(program) => settings(*program, text),
        None => clients(text),
    }
});

fn settings(program: Program, text: &str) {
    let text = text.replace(PLACEHOLDER, &format!("https://user:{PASSWORD}@host/file?{QUERY}"));
    let read = settings_file(program, &text);
    same(&read, &settings_file(program, &text));
    let problems = match read {
        Ok(shown) => {
            assert_no_secret(&shown);
            return loaded(program, &text);
        }
        Err(problems) => problems,
    };
    assert!(!problems.is_empty());
    for problem in problems {
        let Place::File { at, .. } = &problem.place else { panic!("{problem:?}") };
        assert_in(&text, at.line, at.column);
        let shown = problem.to_string();
        assert_no_secret(&shown);
        assert!(!shown.contains(char::is_control), "{shown:?}");
        assert!(shown.len() <= 16 * text.len() + 2048, "{} bytes", shown.len());
    }
}

/// Loads settings that are good one by one. If they are also good together, they are the same after they were shown as a file.
fn loaded(program: Program, text: &str) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("settings.yaml");
    let load = |text: &str| {
        fs::write(&path, text).expect("a file");
        load_settings(program, &path).map_err(|error| error.to_string())
    };
    match load(text) {
        Ok((shown, debug)) => {
            assert_no_secret(&debug);
            // A base may have a path in which a URL is.
            assert!(shown.contains("\nbases:") || !shown.contains(PASSWORD), "{shown}");
            let (again, _) = load(&shown).unwrap_or_else(|error| panic!("{error}\n{shown}"));
            // The comments say where a value is from. A value with a password is not shown, and has its default then.
            let values = |text: &str| text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect();
            let (values, again): (Vec<_>, Vec<_>) = (values(&shown), values(&again));
            let is_same = if shown.contains("(hidden, ") {
                values.iter().all(|value| again.contains(value))
            } else {
                values == again
            };
            assert!(is_same, "{text}\n{values:?}\n{again:?}");
        }
        Err(error) => assert_no_secret(&error),
    }
}

fn clients(text: &str) {
    let text = text.replace(PLACEHOLDER, PASSWORD);
    let read = client_names(&text);
    same(&read, &client_names(&text));
    match read {
        Ok(names) => {
            assert!(!names.is_empty());
            assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "two clients of one name");
        }
        Err((at, mistake)) => {
            assert_in(&text, at.line, at.column);
            assert_no_secret(&mistake);
            assert!(mistake.len() < 512 && !mistake.contains(char::is_control), "{mistake:?}");
        }
    }
}

fn same(one: &impl Debug, other: &impl Debug) {
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
}

fn assert_no_secret(shown: &str) {
    assert!(!shown.contains(PASSWORD) && !shown.contains(QUERY), "{shown}");
}

/// Checks that a text has a line and a column. The end of a text and of a line is a place, too.
fn assert_in(text: &str, line: usize, column: usize) {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let found = line.checked_sub(1).and_then(|index| text.split('\n').nth(index));
    let found = found.unwrap_or_else(|| panic!("line {line} of {text:?}"));
    assert!((1..=found.chars().count() + 1).contains(&column), "column {column} of {found:?}");
}
