use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::{fixture, golden, run, run_with_input};

const TWO: &str = "inputs/bare-metal-host/two-hosts.yaml";
const BAD: &str = "inputs/invalid/several-errors-in-one-host.yaml";

fn scenario(name: &str) -> (String, Vec<(String, String)>) {
    let folder = fixture("nmstate").join(name);
    let mut expected: Vec<_> = fs::read_dir(folder.join("expected"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(&path).unwrap()))
        .collect();
    expected.sort();
    (folder.join("nmstate.yaml").to_str().unwrap().to_owned(), expected)
}

fn files_in(directory: &Path) -> Vec<(String, String)> {
    let mut files: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn keyfiles_are_written_for_their_owner_only() {
    let (document, expected) = scenario("bond-vlans");
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("new/keyfiles");
    let ended = run(&["convert", &document, "-o", target.to_str().unwrap()]);
    assert_eq!((ended.code, ended.out.as_str()), (0, ""), "{}", ended.err);
    assert_eq!(files_in(&target), expected);
    for entry in fs::read_dir(&target).unwrap() {
        assert_eq!(entry.unwrap().metadata().unwrap().permissions().mode() & 0o7777, 0o600);
    }
    assert_eq!(target.metadata().unwrap().permissions().mode() & 0o7777, 0o700);
}

#[test]
fn files_of_another_content_are_replaced_only_with_force() {
    let (document, expected) = scenario("bond-vlans");
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().to_str().unwrap();
    let last = directory.path().join(&expected.last().unwrap().0);
    fs::write(&last, "mine").unwrap();
    let refused = run(&["convert", &document, "-o", target]);
    assert_eq!(refused.code, 2);
    assert_eq!(
        refused.err,
        format!("dayone: {} exists with a different content; --force replaces it\n", last.display())
    );
    assert_eq!(files_in(directory.path()).len(), 1, "nothing may be written before everything can be");
    assert_eq!(run(&["convert", &document, "-o", target, "--force"]).code, 0);
    assert_eq!(files_in(directory.path()), expected);
    assert_eq!(run(&["convert", &document, "-o", target]).code, 0, "the same content is no conflict");
}

#[test]
fn several_hosts_have_a_directory_each() {
    let directory = tempfile::tempdir().unwrap();
    let ended = run(&["convert", fixture(TWO).to_str().unwrap(), "-o", directory.path().to_str().unwrap()]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    for (host, address) in [("worker-0", "192.0.2.10/24"), ("worker-1", "192.0.2.11/24")] {
        let [(name, content)] = files_in(&directory.path().join(host)).try_into().unwrap();
        assert_eq!(name, "eno1.nmconnection");
        assert!(content.contains(address));
    }
}

#[test]
fn text_has_every_file_below_its_name() {
    let two = run(&["convert", fixture(TWO).to_str().unwrap()]);
    assert_eq!((two.code, two.err.as_str()), (0, ""));
    golden("convert-two-hosts.txt", &two.out);
    let (document, expected) = scenario("ipv6-dual-stack");
    let one = run_with_input(&["convert", "-"], &fs::read(document).unwrap());
    let [(name, content)] = expected.try_into().unwrap();
    assert_eq!(one.out, format!("#=== {name} ===\n{content}"));
}

#[test]
fn json_has_everything_at_once() {
    let ended = run(&["convert", "--format", "json", fixture(TWO).to_str().unwrap()]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    golden("convert-two-hosts.json", &ended.out);
}

#[test]
fn with_errors_nothing_is_written_and_the_exit_code_is_1() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("out");
    let bad = fixture(BAD);
    let ended = run(&["convert", bad.to_str().unwrap(), "-o", target.to_str().unwrap()]);
    assert_eq!((ended.code, ended.out.as_str()), (1, ""));
    let expected = format!("{}:8:19: error: BareMetalHost/worker-0: spec.bootMACAddress ", bad.display());
    assert!(ended.err.starts_with(&expected), "{}", ended.err);
    assert!(!target.exists());
    // A host without errors beside one with: it is not written either, but JSON shows it.
    let mixed = format!(
        "{}---\n{}",
        fs::read_to_string(fixture(TWO)).unwrap(),
        fs::read_to_string(&bad).unwrap().replace("worker-0", "worker-9")
    );
    let ended = run_with_input(&["convert", "-", "-o", target.to_str().unwrap(), "--format", "json"], mixed.as_bytes());
    assert_eq!(ended.code, 1);
    assert!(!target.exists());
    let json: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((json["hosts"].as_array().unwrap().len(), json["findings"].as_array().unwrap().len()), (2, 3));
}

#[test]
fn a_write_error_exits_with_2() {
    let (document, _) = scenario("bond-vlans");
    let ended = run(&["convert", &document, "-o", "/proc/nowhere"]);
    assert_eq!(ended.code, 2);
    assert!(ended.err.starts_with("dayone: cannot "), "{}", ended.err);
}

#[test]
fn hosts_without_names_are_called_by_their_mac_addresses() {
    let document = fixture("inputs/agent-config/two-without-names.yaml");
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().to_str().unwrap();
    let ended = run(&["convert", document.to_str().unwrap(), "-o", target]);
    assert_eq!((ended.code, ended.out.as_str()), (0, ""), "{}", ended.err);
    for host in ["52-54-00-00-00-10", "52-54-00-00-00-20"] {
        assert_eq!(files_in(&directory.path().join(host)).len(), 1, "{host}");
    }
}
