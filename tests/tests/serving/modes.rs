//! A data directory on a file system without modes, such as FAT or SMB. bindfs shows all files with mode 0755.

use std::fs;
use std::process::Command;

use acceptance::bases::coreos_iso;
use acceptance::file_system::Fuse;
use acceptance::server::{dayone, free_address};

#[test]
fn a_file_system_without_modes_is_refused_before_anything_is_published() {
    let directory = tempfile::tempdir().unwrap();
    let shown = directory.path().join("shown");
    fs::create_dir(&shown).unwrap();
    fs::write(shown.join("a-file"), "").unwrap();
    let fuse = Fuse::mount(&shown, directory.path().join("mounted"), "perms=0755");
    // A server that starts would not end by itself.
    let mut command = Command::new("timeout");
    command.arg("60").arg(dayone().get_program()).args(["serve", "--data-dir"]).arg(fuse.path().join("data"));
    command.args(["--base", &format!("coreos={}", coreos_iso(&[]).display())]);
    let media = free_address();
    command.args(["--api-listen", &free_address(), "--media-listen", &media]);
    let output = command.args(["--media-url", &format!("http://{media}")]).env("NO_COLOR", "1").output().unwrap();
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the mode 0755") && said.contains("umask=0077"), "{said}");
    assert!(!shown.join("data/key").exists(), "a key that others can read");
}
