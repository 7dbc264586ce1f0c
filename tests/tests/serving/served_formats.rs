//! Images of all kinds over HTTP: what is ordered is what is served, and what is changed of the base is listed.

use std::fs;
use std::path::Path;
use std::process::Command;

use acceptance::bases::{coreos_iso, debian_live_iso, fixtures};
use acceptance::peers::{cache, peer, run, run_text};
use acceptance::server::Server;
use reqwest::blocking::{Client, Response};
use serde_json::Value;
use tempfile::TempDir;

fn order(server: &Server, query: &str) -> Response {
    let document = fs::read(fixtures("scenarios").join("static-ipv4-baremetalhost.yaml")).unwrap();
    let url = format!("{}/v1/images?{query}", server.api);
    Client::new().post(url).body(document).send().unwrap()
}

fn made(server: &Server, query: &str) -> Value {
    let answer = order(server, query);
    let status = answer.status();
    let text = answer.text().unwrap();
    assert!(status.is_success(), "{query}: {text}");
    serde_json::from_str(&text).unwrap()
}

fn fetched(url: &Value, directory: &Path) -> std::path::PathBuf {
    let bytes = reqwest::blocking::get(url.as_str().unwrap()).unwrap().error_for_status().unwrap().bytes().unwrap();
    let path = directory.join("fetched");
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn a_minimal_iso_names_the_url_under_which_its_root_file_system_is_served() {
    let installer = cache().join("bin/coreos-installer");
    let base = coreos_iso(&["--pack", installer.to_str().unwrap()]);
    let server = Server::start("fcos", &base);
    let image = made(&server, "base=fcos&format=minimal-iso");
    let directory = TempDir::new().unwrap();
    let iso = fetched(&image["url"], directory.path());

    let rootfs = image["files"]["rootfs.img"]["url"].as_str().unwrap();
    let arguments = run_text(peer("coreos-installer").args(["iso", "kargs", "show"]).arg(&iso));
    assert!(arguments.contains(&format!("coreos.live.rootfs_url={rootfs}")), "{arguments}");
    assert!(!arguments.contains("coreos.liveiso="), "{arguments}");
    let keyfiles = run_text(peer("coreos-installer").args(["iso", "network", "extract"]).arg(&iso));
    assert!(keyfiles.contains("address1=") || keyfiles.contains("address0="), "{keyfiles}");

    let unpacked = directory.path().join("rootfs.img");
    let extract = ["-osirrox", "on", "-indev", base.to_str().unwrap(), "-extract", "/images/pxeboot/rootfs.img"];
    run(Command::new("xorriso").args(extract).arg(&unpacked));
    let served = reqwest::blocking::get(rootfs).unwrap().bytes().unwrap();
    assert!(fs::read(&unpacked).unwrap() == served);

    // Nothing is stored for this one, so nothing would be served beside it.
    let unstored = Client::new()
        .post(format!("{}/v1/images?base=fcos&format=minimal-iso", server.api))
        .header("accept", "application/octet-stream")
        .body(fs::read(fixtures("scenarios").join("static-ipv4-baremetalhost.yaml")).unwrap())
        .send()
        .unwrap();
    assert_eq!(unstored.status(), 422);
    assert!(unstored.text().unwrap().contains("rootfs_url"));
}

#[test]
fn what_an_image_changes_of_a_live_iso_is_listed_and_nothing_else_differs() {
    let base = debian_live_iso();
    let server = Server::start("live", &base);
    let described: Value = reqwest::blocking::get(format!("{}/v1/bases/live", server.api)).unwrap().json().unwrap();
    assert_eq!((&described["kind"], &described["profile"]), (&"live-iso".into(), &"initramfs-tools".into()));

    let image = made(&server, "base=live&karg_append=dayone.test=1");
    let id = image["id"].as_str().unwrap();
    let listed: Value =
        reqwest::blocking::get(format!("{}/v1/images/{id}/changes", server.api)).unwrap().json().unwrap();
    let changes = listed["changes"].as_array().unwrap();
    let subjects: Vec<&str> = changes.iter().map(|change| change["subject"].as_str().unwrap()).collect();
    assert!(subjects.iter().any(|subject| subject.contains("initrd")), "{subjects:?}");
    assert!(subjects.contains(&"/boot/grub/grub.cfg"), "{subjects:?}");
    assert!(subjects.contains(&"/boot/grub/grub.cfg in /md5sum.txt"), "{subjects:?}");

    let directory = TempDir::new().unwrap();
    let customised = fetched(&image["url"], directory.path());
    let (before, after) = (files(&base), files(&customised));
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    for (path, digest) in &before {
        let line_of = format!(" in {path}");
        let listed = subjects.iter().any(|subject| subject == path || subject.ends_with(&line_of));
        assert_eq!(digest != &after[path], listed, "{path}: {subjects:?}");
    }
}

/// What bsdtar, which did not write it, finds in an ISO: the SHA-256 of every file.
fn files(iso: &Path) -> std::collections::BTreeMap<String, String> {
    let listing = run_text(Command::new("bsdtar").args(["-cf", "-", "--format=mtree", "--options=sha256"]).arg({
        let mut archive = std::ffi::OsString::from("@");
        archive.push(iso);
        archive
    }));
    let entry = |line: &str| {
        let path = line.split(' ').next()?.strip_prefix('.')?.to_owned();
        Some((path, line.split(' ').find_map(|word| word.strip_prefix("sha256digest="))?.to_owned()))
    };
    listing.lines().filter_map(entry).collect()
}
