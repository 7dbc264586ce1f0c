//! `build --data`: drives without a base.

use super::build::host;
use super::images::Place;
use super::run;

/// With the MAC address by which a config drive's readers find the NIC.
const HOST: &str = "\
interfaces:
- name: eno1
  type: ethernet
  state: up
  identifier: mac-address
  mac-address: 52:54:00:12:34:56
  ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}
";

#[test]
fn a_drive_is_built_from_the_documents() {
    let place = Place::new();
    let directory = place.path().to_str().unwrap().to_owned();
    let host = place.write("host.yaml", HOST);
    let user_data = place.write("user-data", "#cloud-config\npassword: hunter2\n");
    for (kind, file_system, name, holds) in [
        ("config-2", "iso", "data.iso", "openstack"),
        ("config-2", "vfat", "data.img", "CONFIG-2"),
        ("cidata", "iso", "data.iso", "cidata"),
        ("combustion", "vfat", "data.img", "COMBUSTION"),
    ] {
        let arguments = ["build", "--format", "data", "--data", kind, "--file-system", file_system, &host];
        let built = run(&[&arguments[..], &["--user-data", &user_data, "-o", &directory, "--force"]].concat());
        let shown = format!("HOST  IMAGE\n-     {directory}/{name}\n");
        assert_eq!(built.code, 0, "{kind}");
        // Only keyfiles tell every reader that there is no IPv6.
        let (findings, written) = built.err.split_at(built.err.find("HOST").unwrap());
        assert_eq!(
            (findings.contains("[ipv6-not-switched-off]"), written),
            (kind != "combustion", &*shown),
            "{findings}"
        );
        let image = String::from_utf8_lossy(&place.read(name)).into_owned();
        assert!(image.contains(holds) && image.contains("password: hunter2"), "{kind}");
    }
    assert_eq!(place.names(), ["data.img", "data.iso", "host.yaml", "user-data"]);
}

#[test]
fn everything_that_a_drive_can_hold_comes_from_files() {
    let place = Place::new();
    let out = place.argument("out.iso");
    let file = |name: &str, content: &str| place.write(name, content);
    let built = run(&[
        "build",
        "--data",
        "config-2",
        "--network-data",
        &file("network", r#"{"links": ["network"]}"#),
        "--meta-data",
        &file("meta", r#"{"uuid": "meta"}"#),
        "--user-data",
        &file("user", "user\n"),
        "--vendor-data",
        &file("vendor", r#"{"vendor": 1}"#),
        "--publisher",
        "a-publisher",
        "--quiet",
        "-o",
        &out,
    ]);
    assert_eq!((built.code, built.err.as_str()), (0, ""));
    let image = String::from_utf8_lossy(&place.read("out.iso")).into_owned();
    for content in [r#"{"links": ["network"]}"#, r#"{"uuid": "meta"}"#, "user\n", r#"{"vendor": 1}"#, "a-publisher"] {
        assert!(image.contains(content), "{content}");
    }
}

#[test]
fn arguments_that_make_no_drive_are_refused() {
    let place = Place::new();
    let (out, host) = (place.argument("x"), host());
    let base = place.write("base.iso", "");
    for (arguments, code, reason) in [
        (&["--format", "data", &host][..], 2, "--data config-2, --data cidata or --data combustion"),
        (&["--data", "floppy", &host], 2, "\"floppy\""),
        (&["--data", "cidata", "--base", &base, &host], 2, "leave --base out"),
        (&["--data", "cidata", "--format", "iso", &host], 2, "images of the format data only"),
        (&["--data", "cidata", "--network-data", &base, &host], 2, "the network is given twice"),
        (&["--user-data", &base, &host], 2, "--data"),
        (&[&host], 2, "--base BASE"),
        (&["--base", &base], 2, "dayone build FILE"),
        (&["--data", "cidata"], 1, "would be empty"),
        (&["--data", "cidata", "--karg-append", "a", &host], 1, "a kernel argument has no effect"),
        (&["--data", "cidata", "--network-data", "nowhere"], 2, "nowhere"),
    ] {
        let ended = run(&[&["build", "-o", &out], arguments].concat());
        assert_eq!(ended.code, code, "{arguments:?}: {}", ended.err);
        assert!(ended.err.contains(reason), "{arguments:?}: {}", ended.err);
    }
    assert_eq!(place.names(), ["base.iso"]);
}
