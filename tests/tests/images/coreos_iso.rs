//! CoreOS live ISOs: where the areas are, what we embed and what is embedded, with coreos-installer at the other end.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use acceptance::bases::{coreos_iso, historical_coreos_isos};
use acceptance::peers::{peer, run, run_text};
use imagelib::compression::Compression;
use imagelib::cpio::Archive;
use imagelib::initramfs::read_embed_area;
use imagelib::iso::Volume;
use imagelib::iso::coreos::CoreosIso;
use imagelib::kernel_arguments::{KernelArgumentEdits, KernelArguments};
use imagelib::overlay::{Overlay, Patch};
use imagelib::source::Role;
use serde_json::{Value, json};
use tempfile::TempDir;

const CONFIG: &str = r#"{"ignition":{"version":"3.2.0"},"passwd":{"users":[{"name":"core"}]}}"#;
const KEYFILE: &str = "[connection]\nid=eth0\ntype=ethernet\n\n[ipv4]\nmethod=manual\naddress0=192.0.2.10/24\n";

fn installer(arguments: &[&str], iso: &Path) -> Command {
    let mut command = peer("coreos-installer");
    command.args(arguments).arg(iso);
    command
}

/// All layouts there are: what our generator makes, and what was published since 2020.
fn isos() -> Vec<(String, Vec<u8>)> {
    let options: [&[&str]; 8] = [
        &[],
        &["--layout", "headers"],
        &["--layout", "aarch64"],
        &["--layout", "ppc64le"],
        &["--layout", "s390x"],
        &["--no-features", "--size-mib", "8"],
        &["--area-size", "2048", "--ignition-size", "1048576"],
        &["--kargs", "console=tty0 console=ttyS0,115200n8 ignition.firstboot"],
    ];
    let made = options.map(|options| (options.join(" "), fs::read(coreos_iso(options)).unwrap()));
    let historical = historical_coreos_isos().into_iter().filter(|(name, _)| name != "synthetic");
    made.into_iter().chain(historical).collect()
}

fn probe(image: &[u8]) -> CoreosIso {
    CoreosIso::probe(&image, &Volume::open(&image).unwrap()).unwrap().unwrap()
}

fn apply(image: &[u8], patches: Vec<Patch>) -> Vec<u8> {
    let overlay = Overlay::patched(Role::Iso, image.len() as u64, patches).unwrap();
    let mut patched = vec![0; image.len()];
    assert_eq!(overlay.read_at(&(Role::Iso, image), 0, &mut patched).unwrap(), image.len());
    patched
}

fn archive() -> Vec<u8> {
    let mut archive = Archive::new();
    archive.file("config.ign".parse().unwrap(), 0o600, CONFIG).unwrap();
    let path = "etc/coreos-firstboot-network/eth0.nmconnection".parse().unwrap();
    archive.file(path, 0o600, KEYFILE).unwrap();
    archive.add_parents(0o755).unwrap();
    Compression::Gzip.compress(&archive.to_bytes()).unwrap()
}

fn written(directory: &TempDir, image: &[u8]) -> std::path::PathBuf {
    let path = directory.path().join("image.iso");
    fs::write(&path, image).unwrap();
    path
}

#[test]
fn coreos_installer_finds_the_same_areas() {
    let directory = tempfile::tempdir().unwrap();
    for (name, image) in isos() {
        let path = written(&directory, &image);
        let iso = probe(&image);
        let ignition: Value =
            serde_json::from_slice(&run(&mut installer(&["dev", "show", "iso", "--ignition"], &path))).unwrap();
        assert_eq!(ignition, json!({"offset": iso.ignition().offset(), "length": iso.ignition().length()}), "{name}");

        let kargs: Value =
            serde_json::from_slice(&run(&mut installer(&["dev", "show", "iso", "--kargs"], &path))).unwrap();
        let Some(areas) = iso.kernel_arguments() else {
            assert_eq!(kargs, Value::Null, "{name}");
            continue;
        };
        assert_eq!(kargs["length"], areas.size(), "{name}");
        assert_eq!(kargs["default"], areas.default().to_string(), "{name}");
        let sorted = |mut offsets: Vec<u64>| {
            offsets.sort_unstable();
            offsets
        };
        let theirs = kargs["kargs"].as_array().unwrap().iter().map(|area| area["offset"].as_u64().unwrap()).collect();
        let ours = areas.areas().iter().map(|area| area.offset()).collect();
        assert_eq!(sorted(ours), sorted(theirs), "{name}");
        assert!(iso.is_pristine(), "{name}");
    }
}

#[test]
fn coreos_installer_reads_what_we_embed_and_resets_it() {
    let directory = tempfile::tempdir().unwrap();
    for (name, pristine) in isos() {
        let iso = probe(&pristine);
        let edits: KernelArgumentEdits =
            serde_json::from_value(json!({"append": ["rd.neednet=1", "console=ttyS1"]})).unwrap();
        let arguments = iso.kernel_arguments().map(|areas| edits.apply_to(areas.default()).unwrap());
        let path = written(&directory, &apply(&pristine, iso.embed(archive(), arguments.as_ref()).unwrap()));

        assert_eq!(run_text(&mut installer(&["iso", "ignition", "show"], &path)), CONFIG, "{name}");
        let network = directory.path().join("network");
        run(installer(&["iso", "network", "extract", "-C"], &network).arg(&path));
        assert_eq!(fs::read_to_string(network.join("eth0.nmconnection")).unwrap(), KEYFILE, "{name}");
        assert_eq!(fs::read_dir(&network).unwrap().count(), 1);
        fs::remove_dir_all(&network).unwrap();
        if let Some(arguments) = arguments {
            let shown = run_text(&mut installer(&["iso", "kargs", "show"], &path));
            assert_eq!(shown.trim_end(), arguments.to_string(), "{name}");
            let default = run_text(&mut installer(&["iso", "kargs", "show", "--default"], &path));
            assert_eq!(default.trim_end(), iso.kernel_arguments().unwrap().default().to_string(), "{name}");
        }
        run(&mut installer(&["iso", "reset"], &path));
        assert!(fs::read(&path).unwrap() == pristine, "{name}: not the pristine image after iso reset");
    }
}

#[test]
fn we_read_what_coreos_installer_embeds_and_reset_it() {
    let directory = tempfile::tempdir().unwrap();
    let keyfile = directory.path().join("eth0.nmconnection");
    fs::write(&keyfile, KEYFILE).unwrap();
    let config = directory.path().join("config.ign");
    fs::write(&config, CONFIG).unwrap();
    for (name, pristine) in isos() {
        let path = written(&directory, &pristine);
        let iso = probe(&pristine);
        let mut expected = BTreeMap::from([("config.ign".to_owned(), CONFIG.as_bytes().to_vec())]);
        run(installer(&["iso", "ignition", "embed", "-i"], &config).arg(&path));
        // It promises no network in the initramfs for images that do not, nor does it embed one there.
        let network =
            peer("coreos-installer").args(["iso", "network", "embed", "-k"]).args([&keyfile, &path]).output().unwrap();
        assert_eq!(network.status.success(), iso.features().live_initrd_network, "{name}");
        if network.status.success() {
            expected.insert("etc/coreos-firstboot-network/eth0.nmconnection".to_owned(), KEYFILE.as_bytes().to_vec());
        }
        if iso.kernel_arguments().is_some() {
            run(&mut installer(&["iso", "kargs", "modify", "--append", "rd.neednet=1"], &path));
        }

        let customised = fs::read(&path).unwrap();
        let found = probe(&customised);
        assert!(!found.is_pristine() && !found.ignition().is_empty(), "{name}");
        assert_eq!(read_embed_area(&found.embedded(&customised).unwrap(), 1 << 20).unwrap(), expected, "{name}");
        let current = found.kernel_arguments().map(|areas| areas.current().to_string());
        let wanted = iso.kernel_arguments().map(|areas| format!("{} rd.neednet=1", areas.default()));
        assert_eq!(current, wanted, "{name}");

        let default = found.kernel_arguments().map(|areas| areas.default().clone());
        let reset = apply(&customised, found.embed(Vec::new(), default.as_ref()).unwrap());
        assert!(reset == pristine, "{name}: not the pristine image after embedding nothing");
    }
}

#[test]
fn kernel_arguments_are_edited_alike() {
    let pristine = fs::read(coreos_iso(&[])).unwrap();
    let iso = probe(&pristine);
    let areas = iso.kernel_arguments().unwrap();
    let directory = tempfile::tempdir().unwrap();
    for (delete, append, replace) in [
        (vec!["mitigations=auto,nosmt"], vec!["a", "b=1"], vec!["b=1=2"]),
        (vec!["ignition.firstboot", "ignition.platform.id=metal"], vec![], vec![]),
        (vec![], vec!["console=tty0", "console=ttyS0,115200n8", "ip=192.0.2.1::192.0.2.254:24::eth0:none"], vec![]),
        (vec![], vec![], vec!["mitigations=auto,nosmt=off", "ignition.platform.id=metal=qemu"]),
    ] {
        let path = written(&directory, &pristine);
        let mut command = peer("coreos-installer");
        command.args(["iso", "kargs", "modify"]);
        for (option, values) in [("--delete", &delete), ("--append", &append), ("--replace", &replace)] {
            values.iter().for_each(|value| {
                command.args([option, value]);
            });
        }
        run(command.arg(&path));
        let edits = json!({"delete": delete, "append": append, "replace": replace});
        let edits: KernelArgumentEdits = serde_json::from_value(edits).unwrap();
        let edited = edits.apply_to(areas.default()).unwrap();
        // Not only the same arguments: the same bytes.
        assert!(
            apply(&pristine, iso.embed(Vec::new(), Some(&edited)).unwrap()) == fs::read(&path).unwrap(),
            "{edited}"
        );
    }
}

#[test]
fn as_much_fits_as_for_coreos_installer() {
    let pristine = fs::read(coreos_iso(&[])).unwrap();
    let iso = probe(&pristine);
    let directory = tempfile::tempdir().unwrap();
    let default = iso.kernel_arguments().unwrap().default();
    let room = iso.kernel_arguments().unwrap().capacity() as usize - default.to_string().len();
    for (length, fits) in [(room, true), (room + 1, false)] {
        // One for the space before it.
        let argument = "x".repeat(length - 1);
        let path = written(&directory, &pristine);
        let theirs = installer(&["iso", "kargs", "modify", "--append", &argument], &path).output().unwrap();
        assert_eq!(theirs.status.success(), fits, "{}", String::from_utf8_lossy(&theirs.stderr));
        let arguments: KernelArguments = format!("{default} {argument}").parse().unwrap();
        match iso.embed(Vec::new(), Some(&arguments)) {
            Ok(patches) => assert!(fits && apply(&pristine, patches) == fs::read(&path).unwrap()),
            Err(error) => assert!(!fits, "{error}"),
        }
    }
}

#[test]
fn bases_are_the_same_each_time() {
    let directory = tempfile::tempdir().unwrap();
    let again = directory.path().join("again.iso");
    run(Command::new(acceptance::bases::fixtures("bases/make-coreos-iso.sh")).arg(&again));
    assert!(fs::read(&again).unwrap() == fs::read(coreos_iso(&[])).unwrap());
}
