//! What NetworkManager's own library makes of keyfiles: `tests/peers/libnm.py`.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::peers::{cache, run_text};

/// What libnm makes of keyfiles, by name: `problems`, and `settings`.
pub fn libnm(keyfiles: &BTreeMap<String, String>) -> Value {
    asked(python(), keyfiles)
}

/// [`libnm`], of the release that a Debian has; `scripts/setup-peers.sh` unpacks it.
pub fn libnm_of(debian: &str, keyfiles: &BTreeMap<String, String>) -> Value {
    asked(python_with(debian), keyfiles)
}

/// The release of libnm that a Debian has.
pub fn release_of(debian: &str) -> String {
    let script = "import gi; gi.require_version('NM', '1.0'); from gi.repository import NM; \
                  print('%d.%d.%d' % (NM.MAJOR_VERSION, NM.MINOR_VERSION, NM.MICRO_VERSION))";
    run_text(python_with(debian).args(["-c", script])).trim().to_owned()
}

/// The properties of libnm's settings as the release that a Debian has describes them: `tests/peers/libnm_properties.py`.
pub fn properties_of(debian: &str) -> BTreeMap<String, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/libnm_properties.py");
    serde_json::from_str(&run_text(python_with(debian).arg(script))).expect("JSON")
}

fn python() -> Command {
    Command::new("/usr/bin/python3")
}

fn python_with(debian: &str) -> Command {
    let root = cache().join("libnm").join(debian);
    assert!(root.is_dir(), "{} is missing; run scripts/setup-peers.sh", root.display());
    let libraries = fs::read_dir(root.join("usr/lib")).expect("libraries").map(|entry| entry.expect("an entry").path());
    let libraries = libraries.into_iter().find(|path| path.join("girepository-1.0").is_dir()).expect("a typelib");
    let mut python = python();
    python.env("GI_TYPELIB_PATH", libraries.join("girepository-1.0")).env("LD_LIBRARY_PATH", libraries);
    python
}

fn asked(mut python: Command, keyfiles: &BTreeMap<String, String>) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/libnm.py");
    let mut child = python
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3, see scripts/setup-peers.sh");
    let input = serde_json::to_vec(keyfiles).expect("texts");
    child.stdin.take().expect("a pipe").write_all(&input).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// What libnm finds wrong with keyfiles, as `NAME: PROBLEM`.
pub fn problems(keyfiles: &BTreeMap<String, String>) -> Vec<String> {
    let found = libnm(keyfiles);
    let found = found.as_object().expect("an object").iter();
    let problems = found.flat_map(|(name, found)| {
        let problems = found["problems"].as_array().expect("a list").iter();
        problems.map(move |problem| format!("{name}: {}", problem.as_str().expect("a text")))
    });
    problems.collect()
}
