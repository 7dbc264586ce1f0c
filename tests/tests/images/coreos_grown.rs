//! CoreOS live ISOs whose areas have been made larger, with coreos-installer at the other end.

use std::fs;
use std::path::Path;
use std::process::Command;

use acceptance::bases::{coreos_iso, historical_coreos_isos};
use acceptance::peers::{cache, peer, run, run_text};
use imagelib::cpio::Archive;
use imagelib::iso::Volume;
use imagelib::iso::coreos::{CoreosIso, Growth, GrowthError, MinimalIso};
use imagelib::kernel_arguments::KernelArguments;
use imagelib::overlay::Overlay;
use imagelib::source::Role;
use serde_json::{Value, json};

const KEYFILE: &str = "[connection]\nid=eth0\ntype=ethernet\n";

/// An Ignition config that is larger than the area of a published ISO.
fn config() -> String {
    format!(r#"{{"ignition":{{"version":"3.2.0"}},"passwd":{{"users":[{{"name":"{}"}}]}}}}"#, "x".repeat(300_000))
}

fn archive() -> Vec<u8> {
    let mut archive = Archive::new();
    archive.file("config.ign".parse().unwrap(), 0o600, config()).unwrap();
    archive.file("etc/coreos-firstboot-network/eth0.nmconnection".parse().unwrap(), 0o600, KEYFILE).unwrap();
    archive.add_parents(0o755).unwrap();
    archive.to_bytes()
}

/// As many bytes of arguments as there may be.
fn longest(default: &KernelArguments) -> KernelArguments {
    let mut arguments = default.clone();
    arguments.append(&"x".repeat(1919 - default.to_string().len() - 1).parse().unwrap());
    arguments
}

fn made(options: &[&str]) -> (String, Vec<u8>) {
    let installer = cache().join("bin/coreos-installer");
    let packed = ["--pack", installer.to_str().expect("a path")];
    (options.join(" "), fs::read(coreos_iso(&[&packed, options].concat())).unwrap())
}

fn probe(image: &[u8]) -> (CoreosIso, Growth) {
    let volume = Volume::open(&image).unwrap();
    let areas = CoreosIso::probe(&image, &volume).unwrap().unwrap();
    let growth = Growth::probe(&image, &volume, &areas).unwrap();
    (areas, growth)
}

fn bytes_of(overlay: &Overlay, base: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; overlay.size() as usize];
    assert_eq!(overlay.read_at(&(Role::Iso, base), 0, &mut bytes).unwrap(), bytes.len());
    bytes
}

struct Written<'a>(&'a Path);

impl Written<'_> {
    fn installer(&self, arguments: &[&str]) -> Command {
        let mut command = peer("coreos-installer");
        command.args(arguments).arg(self.0);
        command
    }

    fn text(&self, arguments: &[&str]) -> String {
        run_text(&mut self.installer(arguments)).trim_end().to_owned()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_slice(&run(&mut self.installer(arguments))).unwrap()
    }

    fn check(&self, name: &str, arguments: Option<&KernelArguments>) {
        assert!(self.text(&["iso", "ignition", "show"]) == config(), "{name}");
        assert!(self.text(&["iso", "network", "extract"]).contains(KEYFILE.trim_end()), "{name}");
        if let Some(arguments) = arguments {
            assert_eq!(self.text(&["iso", "kargs", "show"]), arguments.to_string(), "{name}");
        }
    }
}

#[test]
fn coreos_installer_reads_and_resets_larger_areas() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("grown.iso");
    let written = Written(&path);
    let made = [&["--layout", "current"][..], &["--layout", "aarch64"], &["--size-mib", "8", "--area-size", "1500"]];
    let historical = historical_coreos_isos().into_iter();
    let historical = historical.filter(|(name, _)| name != "synthetic" && !name.contains("s390x"));
    for (name, pristine) in made.map(self::made).into_iter().chain(historical) {
        let (iso, growth) = probe(&pristine);
        // Those before kargs.json keep their areas for kernel arguments.
        let described = Volume::open(&pristine).unwrap().find(&pristine, "coreos/kargs.json").unwrap().is_some();
        let arguments = iso.kernel_arguments().filter(|_| described).map(|areas| longest(areas.default()));
        let grown = growth.plan(&iso, archive(), arguments.as_ref()).unwrap();
        fs::write(&path, bytes_of(&grown.overlay, &pristine)).unwrap();
        written.check(&name, arguments.as_ref());

        let (found, _) = probe(&fs::read(&path).unwrap());
        let area = json!({"offset": found.ignition().offset(), "length": found.ignition().length()});
        assert_eq!(written.json(&["dev", "show", "iso", "--ignition"]), area, "{name}");
        assert_eq!(found.ignition().length(), 524_288, "{name}");
        if arguments.is_some() {
            assert_eq!(written.json(&["dev", "show", "iso", "--kargs"])["length"], 2048, "{name}");
        }

        // What coreos-installer leaves of it is an image in which nothing is embedded, as long as the grown one.
        run(&mut written.installer(&["iso", "reset"]));
        let reset = fs::read(&path).unwrap();
        assert!(probe(&reset).0.is_pristine() && reset.len() as u64 == grown.overlay.size(), "{name}");
        // It has room for another one as large.
        let config_file = directory.path().join("config.ign");
        fs::write(&config_file, config()).unwrap();
        run(peer("coreos-installer").args(["iso", "ignition", "embed", "-i"]).args([&config_file, &path]));
        assert!(written.text(&["iso", "ignition", "show"]) == config(), "{name}");
    }
}

#[test]
fn the_minimal_iso_is_the_same_after_its_base_has_grown() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("grown.iso");
    for layout in ["current", "aarch64"] {
        let (name, pristine) = made(&["--layout", layout]);
        let extracted = || {
            let output = directory.path().join("minimal.iso");
            run(peer("coreos-installer").args(["iso", "extract", "minimal-iso"]).args([&path, &output]));
            let bytes = fs::read(&output).unwrap();
            fs::remove_file(&output).unwrap();
            bytes
        };
        fs::write(&path, &pristine).unwrap();
        let expected = extracted();
        let (iso, growth) = probe(&pristine);
        let arguments = longest(iso.kernel_arguments().unwrap().default());
        let grown = growth.plan(&iso, archive(), Some(&arguments)).unwrap();
        fs::write(&path, bytes_of(&grown.overlay, &pristine)).unwrap();
        run(&mut Written(&path).installer(&["iso", "reset"]));
        assert!(extracted() == expected, "{name}");
    }
}

#[test]
fn the_areas_of_a_minimal_iso_grow_as_well() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("minimal.iso");
    for layout in ["current", "aarch64"] {
        let (name, full) = made(&["--layout", layout]);
        let minimal = MinimalIso::probe(&full, &Volume::open(&full).unwrap()).unwrap().unwrap();
        let default = minimal.areas().kernel_arguments().unwrap().default().clone();
        let arguments = longest(&default);
        let grown = minimal.plan(archive(), &arguments).unwrap();
        fs::write(&path, bytes_of(&grown.overlay, &full)).unwrap();
        Written(&path).check(&name, Some(&arguments));
        assert_eq!(Written(&path).text(&["iso", "kargs", "show", "--default"]), default.to_string());
        run(&mut Written(&path).installer(&["iso", "reset"]));
        assert!(probe(&fs::read(&path).unwrap()).0.is_pristine());
    }
}

#[test]
fn areas_that_firmware_or_another_file_system_knows_stay() {
    for (layout, reason) in [("s390x", "/images/cdboot.img"), ("ppc64le", "HFS+")] {
        let (_, pristine) = made(&["--layout", layout]);
        let (iso, growth) = probe(&pristine);
        let error = growth.plan(&iso, archive(), None).unwrap_err();
        assert!(matches!(error, GrowthError::Ignition { .. }) && error.to_string().contains(reason), "{error}");
        let arguments = longest(iso.kernel_arguments().unwrap().default());
        let error = growth.plan(&iso, Vec::new(), Some(&arguments)).unwrap_err();
        assert!(matches!(error, GrowthError::KernelArguments { .. }) && error.to_string().contains(reason), "{error}");
        // What fits is embedded all the same.
        assert!(growth.plan(&iso, vec![1; 262_144], None).unwrap().changes.is_empty());
    }
}
