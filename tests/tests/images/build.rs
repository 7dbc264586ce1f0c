//! `dayone build`, with coreos-installer and xorriso at the other end, and the server beside it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use acceptance::bases::{coreos_iso, fixtures};

use acceptance::peers::{peer, run, run_text};
use acceptance::server::{Server, dayone};
use imagelib::compression::Compression;
use imagelib::cpio::Archive;
use serde_json::Value;
use tempfile::TempDir;

/// Every NMState document that stands for itself, and a BareMetalHost.
fn documents() -> Vec<PathBuf> {
    let scenarios = fs::read_dir(fixtures("nmstate")).unwrap().map(|entry| entry.unwrap().path());
    let needs = |path: &Path, beside: &str| path.join(beside).exists();
    let alone =
        scenarios.filter(|path| needs(path, "nmstate.yaml") && !needs(path, "boot-mac") && !needs(path, "nics.yaml"));
    let mut documents: Vec<PathBuf> = alone.map(|path| path.join("nmstate.yaml")).collect();
    documents.sort();
    assert!(documents.len() > 5);
    documents.push(fixtures("inputs/bare-metal-host/same-data.yaml"));
    documents
}

fn host() -> PathBuf {
    fixtures("inputs/bare-metal-host/same-data.yaml")
}

fn installer(arguments: &[&str], image: &Path) -> Command {
    let mut command = peer("coreos-installer");
    command.args(arguments).arg(image);
    command
}

fn build(host: &Path, base: &str, output: &Path, extra: &[&str]) {
    run(dayone().arg("build").arg("--host").arg(host).args(["--base", base, "-o"]).arg(output).args(extra));
}

fn files_in(directory: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap())).collect()
}

/// The keyfiles that `dayone convert` writes for a document.
fn converted(document: &Path) -> BTreeMap<String, String> {
    let directory = tempfile::tempdir().unwrap();
    run(dayone().arg("convert").arg(document).arg("-o").arg(directory.path()));
    files_in(directory.path())
}

/// An initramfs as CoreOS has it: a small archive that is not compressed, then a large one that is.
fn coreos_initramfs(compression: Compression) -> Vec<u8> {
    let mut early = Archive::new();
    early.file("early_cpio".parse().unwrap(), 0o644, "1\n").unwrap();
    let mut main = Archive::new();
    for (path, content) in
        [("etc/coreos-live-initramfs", ""), ("usr/sbin/NetworkManager", "elf"), ("usr/lib/modules/a.ko", "module")]
    {
        main.file(path.parse().unwrap(), 0o644, content).unwrap();
    }
    main.add_parents(0o755).unwrap();
    [early.to_bytes(), compression.compress(&main.to_bytes()).unwrap()].concat()
}

#[test]
fn coreos_installer_reads_what_build_embeds() {
    let base = coreos_iso(&[]);
    for document in documents() {
        let directory = TempDir::new().unwrap();
        let image = directory.path().join("out.iso");
        build(&document, base.to_str().unwrap(), &image, &[]);
        let keyfiles = directory.path().join("keyfiles");
        fs::create_dir(&keyfiles).unwrap();
        run(&mut installer(&["iso", "network", "extract", "-C", keyfiles.to_str().unwrap()], &image));
        assert_eq!(files_in(&keyfiles), converted(&document), "{}", document.display());
        let config: Value = serde_json::from_slice(&run(&mut installer(&["iso", "ignition", "show"], &image))).unwrap();
        let written: Vec<&str> =
            config["storage"]["files"].as_array().unwrap().iter().filter_map(|file| file["path"].as_str()).collect();
        for name in files_in(&keyfiles).keys() {
            let path = format!("/etc/NetworkManager/system-connections/{name}");
            assert!(written.contains(&path.as_str()), "{}: {written:?}", document.display());
        }
    }
}

#[test]
fn kernel_arguments_are_changed_and_reset_gives_the_base_back() {
    for options in [&[][..], &["--layout", "s390x"], &["--layout", "headers"], &["--area-size", "2048"]] {
        let base = coreos_iso(options);
        let directory = TempDir::new().unwrap();
        let image = directory.path().join("out.iso");
        let published = run_text(&mut installer(&["iso", "kargs", "show"], &base));
        let edits = [
            "--karg-append",
            "console=ttyS0,115200n8",
            "--karg-append",
            "rd.neednet=1",
            "--karg-delete",
            "ignition.firstboot",
            "--karg-replace",
            "mitigations=auto,nosmt=off",
        ];
        build(&host(), base.to_str().unwrap(), &image, &edits);
        let expected = published.trim().replace("ignition.firstboot ", "").replace("auto,nosmt", "off");
        let changed = run_text(&mut installer(&["iso", "kargs", "show"], &image));
        assert_eq!(changed.trim(), format!("{expected} console=ttyS0,115200n8 rd.neednet=1"), "{options:?}");
        assert_eq!(fs::metadata(&image).unwrap().len(), fs::metadata(&base).unwrap().len());
        run(&mut installer(&["iso", "reset"], &image));
        assert!(fs::read(&image).unwrap() == fs::read(&base).unwrap(), "{options:?}");
    }
}

#[test]
fn xorriso_sees_the_same_boot_tables() {
    let base = coreos_iso(&[]);
    let directory = TempDir::new().unwrap();
    let image = directory.path().join("out.iso");
    build(&host(), base.to_str().unwrap(), &image, &["--karg-append", "a=b"]);
    let report = |iso: &Path| {
        let mut command = Command::new("xorriso");
        command.arg("-indev").arg(iso);
        command.args([
            "-report_el_torito",
            "plain",
            "-report_system_area",
            "plain",
            "-find",
            "/",
            "-exec",
            "report_lba",
        ]);
        run_text(&mut command)
    };
    let tables = report(&image);
    assert!(tables.contains("El Torito boot img") && tables.contains("GPT"), "{tables}");
    assert_eq!(tables, report(&base));
}

#[test]
fn coreos_installer_reads_an_initramfs_that_grew() {
    for compression in [Compression::Gzip, Compression::Xz, Compression::Zstd] {
        let directory = TempDir::new().unwrap();
        let (base, image) = (directory.path().join("initrd.img"), directory.path().join("out.img"));
        let initramfs = coreos_initramfs(compression);
        fs::write(&base, &initramfs).unwrap();
        build(&host(), base.to_str().unwrap(), &image, &["--format", "initrd"]);
        assert!(fs::read(&image).unwrap().starts_with(&initramfs));
        check_initramfs(&image);
    }
}

/// The initramfs carries the host's network: coreos-installer finds it, and all that was there before.
fn check_initramfs(image: &Path) {
    let keyfiles = TempDir::new().unwrap();
    run(&mut installer(&["pxe", "network", "unwrap", "-C", keyfiles.path().to_str().unwrap()], image));
    let expected = converted(&host());
    assert_eq!(files_in(keyfiles.path()), expected);
    let config: Value = serde_json::from_slice(&run(&mut installer(&["pxe", "ignition", "unwrap"], image))).unwrap();
    assert_eq!(config["ignition"]["version"], "3.2.0");
    let listed = run_text(&mut installer(&["dev", "show", "initrd"], image));
    for path in ["early_cpio", "etc/coreos-live-initramfs", "usr/lib/modules/a.ko", "config.ign"] {
        assert!(listed.lines().any(|line| line == path), "{path}: {listed}");
    }
    for name in expected.keys() {
        assert!(listed.contains(&format!("etc/coreos-firstboot-network/{name}")), "{listed}");
    }
}

#[test]
fn an_iso_gives_the_files_for_network_boot() {
    let directory = TempDir::new().unwrap();
    let initrd = directory.path().join("initrd");
    fs::write(&initrd, coreos_initramfs(Compression::Gzip)).unwrap();
    let base = directory.path().join("base.iso");
    let script = fixtures("bases").join("make-coreos-iso.sh");
    run(Command::new(script).arg(&base).args(["--size-mib", "4", "--initrd"]).arg(&initrd));
    let out = directory.path().join("out");
    fs::create_dir(&out).unwrap();
    build(&host(), base.to_str().unwrap(), &out, &["--format", "initrd"]);
    check_initramfs(&out.join("initrd.img"));
    for name in ["vmlinuz", "rootfs.img"] {
        let extracted = directory.path().join(name);
        let mut xorriso = Command::new("xorriso");
        xorriso.args(["-osirrox", "on", "-indev"]).arg(&base);
        run(xorriso.args(["-extract", &format!("/images/pxeboot/{name}")]).arg(&extracted));
        assert!(fs::read(out.join(name)).unwrap() == fs::read(&extracted).unwrap(), "{name}");
    }
}

#[test]
fn the_server_serves_the_same_bytes() {
    let directory = TempDir::new().unwrap();
    let base = coreos_iso(&["--size-mib", "8"]);
    let server = Server::start("fcos", &base);
    let client = reqwest::blocking::Client::new();
    for format in ["iso", "initrd"] {
        let url =
            format!("{}/v1/images?base=fcos&format={format}&karg_append=a%3Db&hostname=other.example", server.api);
        let order = client.post(url).header("content-type", "application/yaml").body(fs::read(host()).unwrap());
        let answer = order.send().unwrap();
        assert!(answer.status().is_success(), "{}", answer.text().unwrap());
        let image: Value = answer.json().unwrap();
        let out = directory.path().join(format);
        fs::create_dir(&out).unwrap();
        let extra = ["--format", format, "--karg-append", "a=b", "--hostname", "other.example"];
        build(&host(), base.to_str().unwrap(), &out, &extra);
        let written: Vec<_> = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(written.len(), if format == "iso" { 1 } else { 3 });
        for path in written {
            let name = path.file_name().unwrap().to_str().unwrap();
            let served = client.get(image["files"][name]["url"].as_str().unwrap()).send().unwrap();
            assert_eq!(served.status(), 200, "{name}");
            assert!(served.bytes().unwrap() == fs::read(&path).unwrap(), "{name}");
        }
    }
}
