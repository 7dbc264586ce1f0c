//! The minimal ISO: the same bytes as coreos-installer's, and read by it when something is embedded.

use std::fs;
use std::path::Path;

use acceptance::bases::{coreos_iso, historical_coreos_isos};
use acceptance::peers::{cache, peer, run, run_text};
use imagelib::cpio::Archive;
use imagelib::iso::Volume;
use imagelib::iso::coreos::MinimalIso;
use imagelib::kernel_arguments::KernelArguments;
use imagelib::overlay::Overlay;
use imagelib::source::Role;
use tempfile::TempDir;

const CONFIG: &str = r#"{"ignition":{"version":"3.2.0"}}"#;
const KEYFILE: &str = "[connection]\nid=eth0\ntype=ethernet\n";
const URL: &str = "http://192.0.2.1:8080/i/abc/rootfs.img";

/// ISOs that hold the description of a minimal one: of all architectures, and as they were published.
fn isos() -> Vec<(String, Vec<u8>)> {
    let installer = cache().join("bin/coreos-installer");
    let packed = ["--pack", installer.to_str().expect("a path")];
    let options: [&[&str]; 6] = [
        &[],
        &["--layout", "aarch64"],
        &["--layout", "ppc64le"],
        &["--layout", "s390x"],
        &["--size-mib", "8"],
        &["--area-size", "2048", "--ignition-size", "1048576"],
    ];
    let made = options.map(|options| (options.join(" "), fs::read(coreos_iso(&[&packed, options].concat())).unwrap()));
    let published =
        ["2021-12", "2022-02", "2022-09", "2023-03.x86_64", "2023-07.x86_64", "2023-07.s390x"].map(|name| {
            let name = format!("embed-areas-{name}");
            historical_coreos_isos().into_iter().find(|(found, _)| *found == name).expect("a published ISO")
        });
    made.into_iter().chain(published).collect()
}

fn probe(full: &[u8]) -> MinimalIso {
    MinimalIso::probe(&full, &Volume::open(&full).unwrap()).unwrap().unwrap()
}

fn bytes_of(overlay: &Overlay, full: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; overlay.size() as usize];
    assert_eq!(overlay.read_at(&(Role::Iso, full), 0, &mut bytes).unwrap(), bytes.len());
    bytes
}

fn extracted(directory: &TempDir, full: &Path, options: &[&str]) -> Vec<u8> {
    let output = directory.path().join("minimal.iso");
    run(peer("coreos-installer").args(["iso", "extract", "minimal-iso"]).args(options).args([full, &output]));
    let bytes = fs::read(&output).unwrap();
    fs::remove_file(&output).unwrap();
    bytes
}

fn published(minimal: &MinimalIso) -> KernelArguments {
    minimal.areas().kernel_arguments().unwrap().default().clone()
}

fn with_rootfs(minimal: &MinimalIso) -> KernelArguments {
    let mut arguments = published(minimal);
    arguments.append(&format!("coreos.live.rootfs_url={URL}").parse().unwrap());
    arguments
}

#[test]
fn it_is_the_one_that_coreos_installer_extracts() {
    let directory = tempfile::tempdir().unwrap();
    for (name, full) in isos() {
        let path = directory.path().join("full.iso");
        fs::write(&path, &full).unwrap();
        let minimal = probe(&full);
        minimal.verify(&full).unwrap();
        let plain = minimal.plan(Vec::new(), &published(&minimal)).unwrap().overlay;
        assert!(bytes_of(&plain, &full) == extracted(&directory, &path, &[]), "{name}");
        let fetching = minimal.plan(Vec::new(), &with_rootfs(&minimal)).unwrap().overlay;
        assert!(bytes_of(&fetching, &full) == extracted(&directory, &path, &["--rootfs-url", URL]), "{name}");
    }
}

#[test]
fn coreos_installer_reads_what_is_embedded_in_it_and_resets_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("minimal.iso");
    let installer = |arguments: &[&str]| {
        let mut command = peer("coreos-installer");
        command.args(arguments).arg(&path);
        command
    };
    for (name, full) in isos() {
        let minimal = probe(&full);
        let mut archive = Archive::new();
        archive.file("config.ign".parse().unwrap(), 0o600, CONFIG).unwrap();
        archive.file("etc/coreos-firstboot-network/eth0.nmconnection".parse().unwrap(), 0o600, KEYFILE).unwrap();
        archive.add_parents(0o755).unwrap();
        let arguments = with_rootfs(&minimal);
        fs::write(&path, bytes_of(&minimal.plan(archive.to_bytes(), &arguments).unwrap().overlay, &full)).unwrap();

        assert_eq!(run_text(&mut installer(&["iso", "ignition", "show"])), CONFIG, "{name}");
        assert!(run_text(&mut installer(&["iso", "network", "extract"])).contains(KEYFILE), "{name}");
        assert_eq!(run_text(&mut installer(&["iso", "kargs", "show"])).trim_end(), arguments.to_string(), "{name}");
        let default = published(&minimal).to_string();
        assert_eq!(run_text(&mut installer(&["iso", "kargs", "show", "--default"])).trim_end(), default, "{name}");
        run(&mut installer(&["iso", "reset"]));
        let plain = minimal.plan(Vec::new(), &published(&minimal)).unwrap().overlay;
        assert!(fs::read(&path).unwrap() == bytes_of(&plain, &full), "{name}");
    }
}

#[test]
fn an_iso_that_was_changed_elsewhere_is_refused_by_both() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("full.iso");
    for (name, mut full) in isos() {
        let kernel = Volume::open(&full).unwrap().find(&full, "images/pxeboot/vmlinuz").unwrap().unwrap();
        full[kernel.extents[0].offset as usize] ^= 1;
        fs::write(&path, &full).unwrap();
        let output = directory.path().join("minimal.iso");
        let mut installer = peer("coreos-installer");
        let theirs = installer.args(["iso", "extract", "minimal-iso"]).args([&path, &output]).output().unwrap();
        assert!(String::from_utf8_lossy(&theirs.stderr).contains("wrong final digest"), "{name}");
        let ours = probe(&full).verify(&full).unwrap_err().to_string();
        assert!(ours.contains("was changed outside its embed areas"), "{name}: {ours}");
    }
}

#[test]
fn there_is_none_where_coreos_installer_extracts_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("full.iso");
    let packed: Vec<String> = isos().into_iter().map(|(name, _)| name).collect();
    for (name, full) in historical_coreos_isos() {
        if name == "synthetic" || packed.contains(&name) {
            continue;
        }
        fs::write(&path, &full).unwrap();
        let output = directory.path().join("minimal.iso");
        let theirs = peer("coreos-installer").args(["iso", "extract", "minimal-iso"]).args([&path, &output]).output();
        assert!(!theirs.unwrap().status.success(), "{name}");
        let ours = MinimalIso::probe(&full, &Volume::open(&full).unwrap());
        assert!(!matches!(ours, Ok(Some(_))), "{name}");
    }
}
