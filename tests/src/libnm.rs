//! What NetworkManager's own library makes of keyfiles: `tests/peers/libnm.py`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// What libnm makes of keyfiles, by name: `problems`, and `settings`.
pub fn libnm(keyfiles: &BTreeMap<String, String>) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/libnm.py");
    let mut child = Command::new("/usr/bin/python3")
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
