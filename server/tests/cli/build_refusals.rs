//! What `build` refuses, and what it leaves behind: nothing.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::build::host;
use super::images::{Place, coreos_initramfs, unpack};
use super::{dayone, fixture, run};

/// Refused with this exit code and a sentence that holds this; no file appears.
fn refused(place: &Place, arguments: &[&str], code: i32, sentence: &str) {
    let before = place.names();
    let ended = run(arguments);
    assert_eq!((ended.code, ended.out.as_str()), (code, ""), "{arguments:?}: {}", ended.err);
    assert!(ended.err.contains(sentence), "{arguments:?}: {}", ended.err);
    assert_eq!(place.names(), before, "{arguments:?}");
}

#[test]
fn existing_files_are_not_overwritten() {
    let place = Place::new();
    let base = place.unpack("coreos.iso");
    let pristine = place.read("coreos.iso");
    let there = place.write("there.iso", "mine");
    refused(&place, &["build", &host(), "--base", &base, "-o", &there], 2, "exists; --force replaces it");
    assert_eq!(place.read("there.iso"), b"mine");
    symlink(place.file("coreos.iso"), place.file("link.iso")).unwrap();
    fs::hard_link(place.file("coreos.iso"), place.file("hard.iso")).unwrap();
    for name in ["coreos.iso", "link.iso", "hard.iso"] {
        let out = place.argument(name);
        refused(&place, &["build", "--force", &host(), "--base", &base, "-o", &out], 2, "is the base");
    }
    assert!(place.read("coreos.iso") == pristine);
    let initrd = place.write("initrd.img", coreos_initramfs());
    let directory = place.path().to_str().unwrap();
    let arguments =
        ["build", "--force", &host(), "--host", "worker-0", "--format", "initrd", "--base", &initrd, "-o", directory];
    refused(&place, &arguments, 2, "is the base");
}

#[test]
fn an_unwritable_output_is_refused_before_anything_is_written() {
    let place = Place::new();
    let base = place.unpack("coreos.iso");
    let nowhere = place.argument("no/such/directory/x.iso");
    refused(&place, &["build", &host(), "--base", &base, "-o", &nowhere], 2, "cannot write");
    refused(&place, &["build", &host(), "--base", &base, "-o", "/dev/null"], 2, "use -o -");
    refused(&place, &["build", &host(), "--base", &base, "-o", "/proc/x.iso"], 2, "cannot write");
}

#[test]
fn documents_with_errors_make_no_image() {
    let place = Place::new();
    let base = place.unpack("coreos.iso");
    let out = place.argument("x.iso");
    for name in ["inputs/invalid/several-errors-in-one-host.yaml", "nmstate/invalid/openvswitch-br-ex.yaml"] {
        let bad = fixture(name);
        refused(&place, &["build", bad.to_str().unwrap(), "--base", &base, "-o", &out], 1, "error: ");
    }
    refused(&place, &["build", "/nonexistent", "--base", &base, "-o", &out], 2, "cannot read /nonexistent");
}

#[test]
fn a_file_that_is_no_base_is_refused() {
    let place = Place::new();
    let (tree, text) = (place.unpack("tree.iso"), place.write("text", "not an image, but a text"));
    let (empty, out) = (place.write("empty", ""), place.argument("x.iso"));
    let cases = [
        (tree.as_str(), 1, "no boot menu"),
        (&text, 1, "is no ISO 9660 image, no initramfs and no image of a disk with a partition table"),
        (&empty, 1, "empty is empty"),
        ("/nonexistent.iso", 2, "cannot open /nonexistent.iso"),
        ("/", 2, "neither a file nor a block device"),
        ("kernel:/k", 2, "either an ISO, or an initrd and its kernel"),
    ];
    for (base, code, sentence) in cases {
        refused(&place, &["build", &host(), "--base", base, "-o", &out], code, sentence);
    }
}

#[test]
fn wrong_values_are_reported_without_secrets() {
    let place = Place::new();
    let base = place.unpack("coreos.iso");
    let out = place.argument("x.iso");
    let key = "-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0\n-----END OPENSSH PRIVATE KEY-----\n";
    let private = place.write("id", key);
    let (none, ign) = (place.write("none.pub", "\n"), place.write("bad.ign", r#"{"ignition": {"version": "2.2.0"}}"#));
    let service = place.write("no-unit.txt", "[Unit]");
    for (option, value, code, sentence) in [
        ("--ssh-key", private.as_str(), 1, "id, line 1: this is a private SSH key"),
        ("--ssh-key", key, 2, "private SSH key"),
        ("--ssh-key", "nonsense", 2, "neither a file nor a public key"),
        ("--ssh-key", &none, 1, "has no SSH key"),
        ("--ignition", &ign, 1, "bad.ign: the Ignition config has spec 2.2.0"),
        ("--ignition", "/nonexistent.ign", 2, "cannot read /nonexistent.ign"),
        ("--unit", &service, 1, "not the name of a systemd unit"),
        ("--file", "/etc/motd=/nonexistent", 2, "cannot read /nonexistent"),
        ("--file", "etc/motd=/etc/hostname", 2, "not an absolute path"),
        ("--karg-append", "a b", 2, "contains a space"),
        ("--karg-delete", "not-there", 1, "has no kernel argument"),
        ("--karg-replace", "a=b", 2, "KEY=OLD=NEW"),
        ("--set-hostname", "under_score", 2, "not a host name"),
        ("--format", "floppy", 2, "use iso, minimal-iso, initrd, usb or data"),
    ] {
        let arguments = ["build", &host(), "--base", &base, "-o", &out, option, value];
        refused(&place, &arguments, code, sentence);
        assert!(!run(&arguments).err.contains("c2VjcmV0"), "{option}");
    }
}

#[test]
fn a_terminal_gets_no_image() {
    let place = Place::new();
    let base = place.unpack("coreos.iso");
    let command = format!("{} build {} --base {base} -o -", env!("CARGO_BIN_EXE_dayone"), host());
    let script = Command::new("script").args(["-qec", &command, "/dev/null"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(script.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&script.stdout).contains("standard output is a terminal"));
}

#[test]
fn a_closed_pipe_is_reported() {
    let place = Place::new();
    let base = place.unpack("coreos.iso");
    let mut child = dayone()
        .args(["build", &host(), "--base", &base, "-o", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.starts_with("dayone: cannot write the image to standard output: Broken pipe"), "{err}");
}

#[test]
fn an_interrupted_build_leaves_nothing() {
    // From another file system, so that no kernel shares blocks and all is over at once. Most of it is a hole.
    let memory = if std::path::Path::new("/dev/shm").is_dir() { "/dev/shm" } else { "/tmp" };
    let base = tempfile::NamedTempFile::new_in(memory).unwrap();
    unpack("coreos.iso", base.path());
    File::options().write(true).open(base.path()).unwrap().set_len(16 << 30).unwrap();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let place = Place::new();
        // A shell that starts a job in the background has it ignore SIGINT, and all that the job starts.
        let child = Command::new("env")
            .args(["--default-signal=INT,TERM,HUP", env!("CARGO_BIN_EXE_dayone"), "build"])
            .args([&host(), "--base", base.path().to_str().unwrap()])
            .args(["-o", &place.argument("x.iso")])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let start = Instant::now();
        while place.names().is_empty() {
            assert!(start.elapsed() < Duration::from_secs(30), "no temporary file appeared");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(place.names()[0].starts_with(".dayone-"), "{:?}", place.names());
        kill_process(Pid::from_child(&child), signal).unwrap();
        // timeout(1) signals the program and its group, and a terminal that goes away sends SIGHUP twice.
        std::thread::sleep(Duration::from_millis(10));
        kill_process(Pid::from_child(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(130), "{err}");
        assert!(err.ends_with("dayone: interrupted; nothing was written\n"), "{err}");
        assert_eq!(place.names(), Vec::<String>::new());
    }
}

#[test]
fn signals_that_are_ignored_stay_so() {
    let memory = if std::path::Path::new("/dev/shm").is_dir() { "/dev/shm" } else { "/tmp" };
    let base = tempfile::NamedTempFile::new_in(memory).unwrap();
    unpack("coreos.iso", base.path());
    File::options().write(true).open(base.path()).unwrap().set_len(256 << 20).unwrap();
    let place = Place::new();
    let child = Command::new("sh")
        .args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_dayone"), "build", &host()])
        .args(["--base", base.path().to_str().unwrap(), "-o", &place.argument("x.iso")])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while place.names().is_empty() {
        std::thread::sleep(Duration::from_millis(1));
    }
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::HUP).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(place.names(), ["x.iso"]);
}

#[test]
fn a_base_that_changes_while_it_is_copied_makes_no_image() {
    let memory = if std::path::Path::new("/dev/shm").is_dir() { "/dev/shm" } else { "/tmp" };
    let base = tempfile::NamedTempFile::new_in(memory).unwrap();
    unpack("coreos.iso", base.path());
    File::options().write(true).open(base.path()).unwrap().set_len(2 << 30).unwrap();
    let place = Place::new();
    let child = dayone()
        .args(["build", &host(), "--base", base.path().to_str().unwrap(), "-o", &place.argument("x.iso")])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while place.names().is_empty() {
        std::thread::sleep(Duration::from_millis(1));
    }
    fs::OpenOptions::new().append(true).open(base.path()).unwrap().set_len((2 << 30) - 4096).unwrap();
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("changed its size"), "{err}");
    assert_eq!(place.names(), Vec::<String>::new());
}
