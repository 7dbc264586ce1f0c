//! A base lies on a file system whose attributes the kernel remembers for a while: FUSE, mounted read-only, as bindfs and sshfs are. NFS 4
//! does the same if it is mounted with `noatime`. Somebody writes to the file on the other side, and nobody gets a byte of that.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use acceptance::bases::{coreos_iso, fixtures};
use acceptance::file_system::Fuse;
use acceptance::server::{Server, dayone};
use reqwest::blocking::{Client, Response};

/// A file, and the directory that shows it.
fn remembered(directory: &Path) -> (PathBuf, Fuse) {
    let shown = directory.join("shown");
    fs::create_dir(&shown).unwrap();
    let file = shown.join("base.iso");
    fs::copy(coreos_iso(&["--size-mib", "8"]), &file).unwrap();
    settle();
    // The kernel keeps the attributes for ten minutes, and no bytes.
    let options = "ro,direct_io,attr_timeout=600,entry_timeout=600";
    (file, Fuse::mount(&shown, directory.join("mounted"), options))
}

/// Waits until a file is so old that it is not taken for one that is being written.
fn settle() {
    thread::sleep(Duration::from_millis(2500));
}

#[test]
fn no_byte_is_sent_of_a_base_that_was_overwritten_on_the_other_side() {
    let directory = tempfile::tempdir().unwrap();
    let (file, fuse) = remembered(directory.path());
    let server = Server::start("coreos", &fuse.path().join("base.iso"));
    let image = server.image("coreos", &fixtures("scenarios").join("static-ipv4-baremetalhost.yaml"));
    let url = image["url"].as_str().unwrap();
    let client = Client::builder().no_proxy().build().unwrap();
    let range = |begin: u64| -> Response {
        client.get(url).header("Range", format!("bytes={begin}-{}", begin + 65535)).send().unwrap()
    };
    assert_eq!(range(4 << 20).status(), 206);

    let overwritten: Vec<u8> = fs::read(&file).unwrap().iter().map(|byte| !byte).collect();
    OpenOptions::new().write(true).open(&file).unwrap().write_all(&overwritten).unwrap();
    let answer = range(6 << 20);
    let status = answer.status();
    // Before the first byte, a change is an answer, and later it ends the connection.
    assert!(status == 503 || answer.bytes().is_err(), "{status}: {}", server.log());
}

#[test]
fn a_base_that_was_written_before_it_is_opened_has_not_changed() {
    let directory = tempfile::tempdir().unwrap();
    let (file, fuse) = remembered(directory.path());
    let base = fuse.path().join("base.iso");
    let known = fs::metadata(&base).unwrap().modified().unwrap();
    fs::write(&file, fs::read(&file).unwrap()).unwrap();
    settle();
    assert_eq!(fs::metadata(&base).unwrap().modified().unwrap(), known);
    let mut command = dayone();
    command.arg("build").arg("--base").arg(&base).arg("-o").arg(directory.path().join("image.iso"));
    let output = command.arg(fixtures("scenarios").join("static-ipv4-baremetalhost.yaml")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
