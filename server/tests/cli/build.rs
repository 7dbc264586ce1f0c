use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use imagelib::base::{Base, BaseIdentity, Format, Role};
use imagelib::ignition::Additions;
use imagelib::image::{FileName, Image};
use imagelib::recipe::Recipe;
use serde_json::Value;

use super::images::{Place, coreos_initramfs, initramfs};
use super::{dayone, ended, fixture, run, run_with_input};

pub(crate) const HOST: &str = "inputs/bare-metal-host/same-data.yaml";
/// The name of that host.
const NAME: &str = "worker-0";
const TWO: &str = "inputs/bare-metal-host/two-hosts.yaml";

pub(crate) fn host() -> String {
    fixture(HOST).to_str().unwrap().to_owned()
}

/// What the library makes of a host and a base, as the server would serve it.
fn expected(documents: &[u8], base: &[u8], format: Format) -> BTreeMap<FileName, Vec<u8>> {
    let host = hosts::input::read(documents).hosts.remove(0);
    let network = hosts::network::convert(&host).0.unwrap();
    let role = if base.get(32769..32774) == Some(b"CD001") { Role::Iso } else { Role::Initrd };
    let identity = BaseIdentity::of(&BTreeMap::new());
    let additions = Additions {
        keyfiles: network.keyfiles,
        no_auto_default: true,
        hostname: network.hostname,
        ..Additions::default()
    };
    let recipe = Recipe::new(identity, format, additions);
    let image = Image::plan(&recipe, &Base::probe(&(role, base)).unwrap(), identity).unwrap();
    let files = image.files.iter().map(|(name, file)| {
        let mut bytes = vec![0; usize::try_from(file.size()).unwrap()];
        assert_eq!(file.read_at(&(role, &base), 0, &mut bytes).unwrap(), bytes.len());
        (*name, bytes)
    });
    files.collect()
}

fn inspected(path: &str) -> Value {
    let ended = run(&["inspect", "--format", "json", path]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    serde_json::from_str(&ended.out).unwrap()
}

#[test]
fn a_host_that_is_to_boot_with_secure_boot_hears_what_the_base_does_not_keep() {
    let place = Place::new();
    let base = place.unpack("coreos.iso");
    let documents = fs::read_to_string(fixture(HOST)).unwrap();
    let secure = documents.replace("\nspec:\n", "\nspec:\n  bootMode: UEFISecureBoot\n");
    let (one, all) = (place.argument("out.iso"), place.argument("all/"));
    for (documents, expected) in [(documents, false), (secure, true)] {
        let file = place.argument("host.yaml");
        fs::write(&file, documents).unwrap();
        for output in [&one, &all] {
            let built = run(&["build", &file, "--base", &base, "--force", "-o", output]);
            assert_eq!(built.code, 0, "{}", built.err);
            assert_eq!(built.err.contains("[secure-boot-not-kept]"), expected, "{output}: {}", built.err);
        }
    }
}

#[test]
fn an_iso_has_the_bytes_that_the_server_serves() {
    let place = Place::new();
    for name in ["coreos.iso", "coreos-headers.iso", "coreos-s390x.iso"] {
        let base = place.unpack(name);
        let pristine = place.read(name);
        let out = place.argument(&format!("out-{name}"));
        let built = run(&["build", &host(), "--base", &base, "--format", "iso", "-o", &out]);
        assert_eq!((built.code, built.out.as_str()), (0, ""), "{}", built.err);
        let image = fs::read(&out).unwrap();
        assert!(image == expected(&fs::read(host()).unwrap(), &pristine, Format::Iso)[&FileName::BootIso], "{name}");
        assert_eq!(image.len(), pristine.len());
        assert!(image != pristine);
        assert!(place.read(name) == pristine, "the base stays as it is");
        assert_eq!(fs::metadata(&out).unwrap().permissions().mode() & 0o7777, 0o600);
    }
    assert_eq!(place.names().len(), 6, "{:?}", place.names());
}

#[test]
fn standard_output_gets_the_same_bytes_as_a_file() {
    let place = Place::new();
    let base = place.unpack("coreos.iso");
    let out = place.argument("out.iso");
    assert_eq!(run(&["build", &host(), "--base", &base, "-o", &out]).code, 0);
    let streamed = dayone().args(["build", &host(), "--base", &base, "-o", "-"]).output().unwrap();
    assert_eq!(streamed.status.code(), Some(0));
    assert!(streamed.stdout == place.read("out.iso"));
    let from_input = run_with_input(
        &["build", "-", "--base", &base, "-o", &place.argument("input.iso")],
        &fs::read(host()).unwrap(),
    );
    assert_eq!(from_input.code, 0, "{}", from_input.err);
    assert!(place.read("input.iso") == place.read("out.iso"));
}

#[test]
fn a_directory_gets_every_file_of_an_image() {
    let place = Place::new();
    let base = place.unpack("coreos.iso");
    let pristine = place.read("coreos.iso");
    let documents = fs::read(host()).unwrap();
    for (format, argument, names) in [
        (Format::Iso, "iso", vec!["boot.iso"]),
        (Format::Initrd, "initrd", vec!["initrd.img", "rootfs.img", "vmlinuz"]),
    ] {
        let parent = Place::new();
        // A name with a slash at its end is that of a directory, even if the directory does not exist yet.
        let (new, out) = (format!("{}/new/", parent.path().display()), Place::new());
        let built = run(&["build", &host(), "--host", NAME, "--base", &base, "--format", argument, "-o", &new]);
        assert_eq!(built.code, 0, "{}", built.err);
        let directory = out.path().to_str().unwrap();
        let built = run(&["build", &host(), "--host", NAME, "--base", &base, "--format", argument, "-o", directory]);
        assert_eq!(built.code, 0, "{}", built.err);
        assert_eq!(out.names(), names);
        for (name, bytes) in expected(&documents, &pristine, format) {
            assert!(out.read(name.as_str()) == bytes, "{name}");
        }
    }
}

#[test]
fn an_initramfs_grows_and_its_kernel_arguments_are_printed() {
    let place = Place::new();
    let initrd = coreos_initramfs();
    let base = place.write("initrd", &initrd);
    let out = place.argument("out.img");
    let built = run(&["build", &host(), "--base", &base, "--format", "initrd", "-o", &out]);
    assert_eq!(built.code, 0, "{}", built.err);
    assert_eq!(built.err, format!("wrote {out}\nkernel arguments: ignition.firstboot ignition.platform.id=metal\n"));
    let image = place.read("out.img");
    assert!(image.starts_with(&initrd) && image.len() > initrd.len());
    assert!(image == expected(&fs::read(host()).unwrap(), &initrd, Format::Initrd)[&FileName::Initrd]);

    let kernel = place.write("kernel", "MZ");
    let rootfs = place.write("rootfs", "hsqs");
    let out = Place::new();
    let base = format!("kernel:{kernel},initrd:{base},rootfs:{rootfs}");
    let directory = out.path().to_str().unwrap();
    let built = run(&["build", &host(), "--host", NAME, "--base", &base, "--format", "initrd", "-o", directory]);
    assert_eq!(built.code, 0, "{}", built.err);
    assert!(built.err.ends_with(" coreos.live.rootfs_url=<URL of rootfs.img>\n"), "{}", built.err);
    assert_eq!(out.names(), ["initrd.img", "rootfs.img", "vmlinuz"]);
    assert!(out.read("initrd.img") == image);
    assert_eq!((out.read("vmlinuz"), out.read("rootfs.img")), (b"MZ".to_vec(), b"hsqs".to_vec()));
}

#[test]
fn quiet_leaves_warnings() {
    let place = Place::new();
    let base = place.write("initrd", initramfs(&[("init", "elf")]));
    let build = |extra: &[&str]| {
        let out = place.argument("out.img");
        let arguments = ["build", &host(), "--base", &base, "--format", "initrd", "-o", &out, "--force"];
        let ended = run(&[&arguments[..], extra].concat());
        assert_eq!(ended.code, 0, "{}", ended.err);
        ended.err
    };
    let warning = "warning: initrd: has no NetworkManager, so nothing in it reads keyfiles, and ";
    assert!(build(&[]).starts_with(warning) && build(&[]).contains("wrote "), "{}", build(&[]));
    assert!(build(&["--quiet"]).starts_with(warning) && !build(&["--quiet"]).contains("wrote "));
}

#[test]
fn one_of_several_hosts_is_picked_by_name() {
    let place = Place::new();
    let base = place.unpack("coreos.iso");
    let documents = fixture(TWO);
    let build = |name: &[&str], out: &str| {
        let arguments = ["build", documents.to_str().unwrap(), "--base", &base, "-o", out];
        run(&[&arguments[..], name].concat())
    };
    for name in ["worker-0", "worker-1"] {
        let out = place.argument(name);
        assert_eq!(build(&["--host", name], &out).code, 0);
    }
    assert!(place.read("worker-0") != place.read("worker-1"));
    let none = build(&[], &place.argument("x"));
    assert_eq!(
        (none.code, none.err.contains("name one of: worker-0, worker-1 (--host NAME)")),
        (2, true),
        "{}",
        none.err
    );
    let unknown = build(&["--host", "worker-7"], &place.argument("x"));
    assert_eq!((unknown.code, unknown.err.contains("the names are: worker-0, worker-1")), (2, true), "{}", unknown.err);
    assert_eq!(place.names(), ["coreos.iso", "worker-0", "worker-1"]);
}

#[test]
fn everything_that_can_be_added_is_in_the_image() {
    let place = Place::new();
    let base = place.unpack("coreos.iso");
    let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f me";
    place.write("keys.pub", format!("# mine\n\n{key}\n"));
    place.write("motd", "hello");
    place.write("hello.service", "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n");
    place.write("idle.service", "[Service]\nExecStart=/bin/true\n");
    let mine =
        r#"{"ignition": {"version": "3.3.0"}, "storage": {"directories": [{"path": "/srv/mine"}], "filez": []}}"#;
    place.write("mine.ign", mine);
    let built = ended(
        dayone()
            .current_dir(place.path())
            .args(["build", &host(), "--base", &base, "-o", "out.iso", "--set-hostname", "other.example"])
            .args(["--ssh-key", "keys.pub", "--file", "/etc/motd=motd", "--file", "/usr/local/bin/x=motd:0755"])
            .args(["--unit", "hello.service", "--unit", "./idle.service", "--ignition", "mine.ign", "--auto-default"])
            .args(["--karg-append", "console=ttyS0", "--karg-append", "a=b", "--karg-delete", "ignition.firstboot"])
            .args(["--karg-replace", "mitigations=auto,nosmt=off"])
            .output()
            .unwrap(),
    );
    assert_eq!(built.code, 0, "{}", built.err);
    assert!(built.err.starts_with("warning: ignition: has $.storage.filez, which"), "{}", built.err);
    let json = inspected(&place.argument("out.iso"));
    let paths: Vec<&str> =
        json["carried"]["ignition"]["paths"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(
        paths,
        [
            "/etc/NetworkManager/system-connections/eno1.nmconnection",
            "/etc/hostname",
            "/etc/motd",
            "/srv/mine",
            "/usr/local/bin/x"
        ]
    );
    assert_eq!(json["carried"]["ignition"]["units"], serde_json::json!(["hello.service", "idle.service"]));
    assert_eq!(json["carried"]["ignition"]["version"], "3.3.0");
    let kargs = json["kernel_arguments"]["current"].as_str().unwrap();
    assert!(kargs.starts_with("mitigations=off ") && kargs.ends_with(" console=ttyS0 a=b"), "{kargs}");
    // The archive is not compressed, so the config can be read where it stands.
    let image = String::from_utf8_lossy(&place.read("out.iso")).into_owned();
    let config = &image[image.find(r#"{"ignition":"#).unwrap()..];
    assert!(config.contains(key) && config.contains(r#""name":"hello.service","enabled":true"#));
    assert!(config.contains(r#""name":"idle.service","enabled":false"#) && config.contains(r#""mode":493"#));
}

#[test]
fn force_replaces_the_output_and_what_a_base_carries() {
    let place = Place::new();
    let base = place.unpack("coreos.iso");
    let (first, second) = (place.argument("first.iso"), place.argument("second.iso"));
    assert_eq!(run(&["build", &host(), "--base", &base, "-o", &first]).code, 0);
    // With more in it than the second image will have: nothing of that may be left.
    let long = place.write("long", "x".repeat(100_000));
    let file = format!("/etc/long={long}");
    let forced = ["build", "--force", &host(), "--base", &base, "-o", &second, "--file", &file];
    assert_eq!(run(&[&forced[..], &["--karg-append", "a=b"]].concat()).code, 0);
    let refused = run(&["build", &host(), "--base", &second, "-o", &place.argument("third.iso")]);
    assert_eq!(refused.code, 1);
    assert!(
        refused.err.contains("already carries a configuration") && refused.err.ends_with(" (--force)\n"),
        "{}",
        refused.err
    );
    let third = place.write("third.iso", "something else");
    assert_eq!(run(&["build", "--force", &host(), "--base", &second, "-o", &third]).code, 0);
    assert!(place.read("third.iso") == place.read("first.iso"));
}

#[test]
fn the_spelling_of_the_first_release_still_works() {
    let place = Place::new();
    let base = place.unpack("coreos.iso");
    let two = fixture(TWO).to_str().unwrap().to_owned();
    let built = run(&[
        "build",
        &two,
        "--host",
        "worker-1",
        "--set-hostname",
        "a",
        "--base",
        &base,
        "-o",
        &place.argument("new"),
    ]);
    assert_eq!((built.code, built.err.matches("note: ").count()), (0, 0), "{}", built.err);
    let old = ["build", "--host", &two, "--host-name", "worker-1", "--hostname", "a", "--base", &base, "-o"];
    let built = run(&[&old[..], &[&place.argument("old")]].concat());
    assert_eq!((built.code, built.err.matches("note: ").count()), (0, 3), "{}", built.err);
    assert!(place.read("old") == place.read("new"));
}
