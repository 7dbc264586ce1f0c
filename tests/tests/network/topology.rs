//! Pictures of networks, shown to an XML parser and to a renderer; and which NetworkManager is in real systems.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use acceptance::bases::{dracut_live_iso, extracted, fixtures, ramdisk_iso};
use acceptance::peers::{run, run_text};
use acceptance::server::dayone;
use hosts::network::NetworkManagerVersion;
use imagelib::cpio::MemberPath;
use imagelib::initramfs;

/// The pictures of all networks in `fixtures/nmstate`, drawn by the binary into `directory`.
fn drawn(directory: &Path) -> Vec<PathBuf> {
    let cases = fs::read_dir(fixtures("nmstate")).unwrap().map(|entry| entry.unwrap().path());
    let mut pictures = Vec::new();
    // With one of the others, the document alone is not the host.
    let alone = |case: &PathBuf| !["boot-mac", "nics.yaml"].iter().any(|file| case.join(file).exists());
    for case in cases.filter(|case| case.join("nmstate.yaml").exists()).filter(alone) {
        let picture = directory.join(case.file_name().unwrap()).with_extension("svg");
        run(dayone().arg("convert").arg("--svg").arg(&picture).arg(case.join("nmstate.yaml")));
        pictures.push(picture);
    }
    assert!(pictures.len() > 25, "{}", pictures.len());
    pictures.push(fixtures("topology").join("large.svg"));
    pictures
}

/// Width and height of a PNG, which its header has (ISO/IEC 15948 §11.2.2).
fn size_of_png(png: &[u8]) -> (u32, u32) {
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    (number(16), number(20))
}

#[test]
fn pictures_are_xml_and_can_be_rendered() {
    let directory = tempfile::tempdir().unwrap();
    let broken = directory.path().join("broken.svg");
    fs::write(&broken, "<svg xmlns=\"http://www.w3.org/2000/svg\"><text>a & b</text></svg>").unwrap();
    assert!(!Command::new("xmllint").args(["--noout", "--nonet"]).arg(&broken).output().unwrap().status.success());
    for picture in drawn(directory.path()) {
        run(Command::new("xmllint").args(["--noout", "--nonet"]).arg(&picture));
        let size = |axis: &str| {
            let mut xmllint = Command::new("xmllint");
            let expression = format!("number(/*/@{axis})");
            run_text(xmllint.args(["--nonet", "--xpath", &expression]).arg(&picture)).trim().parse::<u32>().unwrap()
        };
        let png = run(Command::new("rsvg-convert").args(["--format", "png"]).arg(&picture));
        assert_eq!(size_of_png(&png), (size("width"), size("height")), "{}", picture.display());
    }
}

#[test]
fn the_networkmanager_of_real_systems_is_seen() {
    let directory = tempfile::tempdir().unwrap();
    let ramdisk = ramdisk_iso(&[]);
    let initrd = fs::read(extracted(&ramdisk, "/initrd", directory.path())).unwrap();
    let status: MemberPath = "var/lib/dpkg/status".parse().unwrap();
    let survey = initramfs::survey(&initrd, std::slice::from_ref(&status), 16 << 20).unwrap();
    let packages = String::from_utf8(survey.files[&status].clone()).unwrap();
    let package = packages.split("\n\n").find(|package| package.starts_with("Package: network-manager\n")).unwrap();
    let installed = package.lines().find_map(|line| line.strip_prefix("Version: ")).unwrap();
    let installed: NetworkManagerVersion = installed.parse().unwrap();
    for iso in [ramdisk, dracut_live_iso()] {
        let json = run(dayone().args(["inspect", "--format", "json"]).arg(&iso));
        let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
        assert_eq!(json["network_manager_version"], installed.to_string(), "{json}");
    }
}
