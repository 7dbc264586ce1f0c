//! `dayone build FILE…`: the images of all hosts.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::images::{Place, coreos_initramfs};
use super::{Ended, fixture, run};

const TWO: &str = "inputs/bare-metal-host/two-hosts.yaml";

fn two() -> String {
    fixture(TWO).to_str().unwrap().to_owned()
}

fn build(base: &str, out: &str, more: &[&str]) -> Ended {
    run(&[&["build", "--base", base, "-o", out][..], more].concat())
}

#[test]
fn each_host_has_the_image_that_it_gets_alone() {
    let place = Place::new();
    let base = place.unpack("coreos.iso");
    let out = place.argument("images/rack/");
    let built = build(&base, &out, &[&two()]);
    assert_eq!((built.code, built.out.as_str()), (0, ""), "{}", built.err);
    let lines: Vec<&str> = built.err.lines().collect();
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["HOST", "IMAGE"]);
    assert_eq!(lines[1..], [format!("worker-0  {out}worker-0.iso"), format!("worker-1  {out}worker-1.iso")]);
    for name in ["worker-0", "worker-1"] {
        let alone = place.argument(name);
        assert_eq!(run(&["build", &two(), "--host", name, "--base", &base, "-o", &alone]).code, 0);
        let path = format!("images/rack/{name}.iso");
        assert!(place.read(&path) == place.read(name));
        assert_eq!(fs::metadata(place.file(&path)).unwrap().permissions().mode() & 0o7777, 0o600);
    }
    assert_eq!(fs::read_dir(place.file("images/rack")).unwrap().count(), 2, "no partial files are left");

    let again = build(&base, &out, &[&two()]);
    assert_eq!(again.code, 1);
    assert!(again.err.contains("worker-1.iso exists; --force replaces it"), "{}", again.err);
    assert!(again.err.ends_with("dayone: 2 of 2 hosts without an image\n"), "{}", again.err);
    assert_eq!(build(&base, &out, &[&two(), "--force", "--quiet", "--karg-append", "a=b"]).err, "");
    assert!(place.read("images/rack/worker-0.iso") != place.read("worker-0"));
}

#[test]
fn the_errors_of_one_host_leave_the_others_their_images() {
    let place = Place::new();
    let base = place.unpack("coreos.iso");
    let fleet = "apiVersion: dayone.metal3.io/v1alpha1\nkind: HostFleet\nmetadata: {name: rack}\nspec:\n  hosts: {csvFile: hosts.csv}\n  \
                 template:\n    network: {interfaces: [{name: eth0, type: ethernet, state: up, ipv4: {enabled: true, address: \
                 [{ip: '${address}', prefix-length: 24}]}}]}\n";
    let fleet = place.write("fleet.yaml", fleet);
    let table = place.write(
        "hosts.csv",
        "name,address\nworker-0,192.0.2.10\nworker-1,192.0.2.300\nworker-2,192.0.2.12\nworker-3,192.0.2.12\nworker-4,192.0.2.14\n",
    );
    let out = place.argument("images/");
    let built = build(&base, &out, &[&fleet, &table]);
    assert_eq!(built.code, 1, "{}", built.err);
    let images = |out: &str| {
        let entries = fs::read_dir(place.file(out)).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(images("images"), ["worker-0.iso", "worker-4.iso"], "{}", built.err);
    assert!(built.err.contains("[address-of-two-hosts]") && built.err.contains("192.0.2.300"), "{}", built.err);
    assert!(built.err.contains("worker-1  not written: it has errors\n"), "{}", built.err);
    assert!(built.err.ends_with("dayone: 3 of 5 hosts without an image\n"), "{}", built.err);

    // What concerns all hosts.
    let broken = place.write("broken.yaml", "interfaces: [");
    let refused = build(&base, &place.argument("none/"), &[&two(), &broken]);
    assert_eq!((refused.code, place.file("none").exists()), (1, false), "{}", refused.err);
    let unreadable = build(&place.argument("nowhere.iso"), &place.argument("none/"), &[&two()]);
    assert_eq!((unreadable.code, place.file("none").exists()), (2, false), "{}", unreadable.err);
}

#[test]
fn an_image_for_network_boot_shares_the_kernel() {
    let place = Place::new();
    let (kernel, initrd) = (place.write("kernel", "MZ"), place.write("initrd", coreos_initramfs()));
    let rootfs = place.write("rootfs", "hsqs");
    let base = format!("kernel:{kernel},initrd:{initrd},rootfs:{rootfs}");
    let out = Place::new();
    let built = build(&base, out.path().to_str().unwrap(), &[&two(), "--format", "initrd"]);
    assert_eq!(built.code, 0, "{}", built.err);
    assert_eq!(out.names(), ["rootfs.img", "vmlinuz", "worker-0.initrd.img", "worker-1.initrd.img"]);
    assert_eq!((out.read("vmlinuz"), out.read("rootfs.img")), (b"MZ".to_vec(), b"hsqs".to_vec()));
    assert_eq!(built.err.matches("kernel arguments: ").count(), 1, "{}", built.err);
}

#[test]
fn wrong_combinations_are_refused() {
    let place = Place::new();
    let base = place.unpack("coreos.iso");
    let named = build(&base, &place.argument("none/"), &[&two(), "--set-hostname", "a"]);
    assert_eq!((named.code, named.err.contains("--set-hostname is for one host")), (2, true), "{}", named.err);
    let several = build(&base, &place.argument("none/"), &[&two(), "--host", "worker-0", "--host", "worker-1"]);
    assert_eq!((several.code, several.err.contains("one host with --host")), (2, true), "{}", several.err);
    for output in ["-", &place.argument("none")] {
        let one = build(&base, output, &[&two()]);
        assert_eq!(
            (one.code, one.err.contains("name one of: worker-0, worker-1 (--host NAME)")),
            (2, true),
            "{}",
            one.err
        );
    }
    let file = build(&base, &format!("{base}/"), &[&two()]);
    assert_eq!((file.code, file.err.contains("cannot create the directory")), (2, true), "{}", file.err);
    assert_eq!(place.names(), ["coreos.iso"]);
}

#[test]
fn a_workbook_and_an_inventory_with_its_variables_are_whole_fleets() {
    let place = Place::new();
    let base = place.unpack("coreos.iso");
    let path = |name: &str| fixture(&format!("inputs/fleet/{name}")).to_str().unwrap().to_owned();
    for (input, hosts) in
        [(path("xlsx-own-document/fleet.xlsx"), ["worker-0", "worker-1"]), (path("inventory-directory"), ["w1", "w2"])]
    {
        let checked = run(&["check", &input]);
        assert_eq!(checked.code, 0, "{}{}", checked.out, checked.err);
        assert!(checked.out.contains("2 hosts: no errors"), "{}", checked.out);
        let converted = run(&["convert", &input, "--format", "json"]);
        let converted: serde_json::Value = serde_json::from_str(&converted.out).unwrap();
        assert_eq!([0, 1].map(|index| converted["hosts"][index]["name"].as_str().unwrap()), hosts);
        let out = place.argument(&format!("{}/", hosts[0]));
        let built = build(&base, &out, &[&input]);
        assert_eq!(built.code, 0, "{}", built.err);
        for host in hosts {
            assert!(place.file(&format!("{}/{host}.iso", hosts[0])).exists());
        }
    }
    // From standard input, by its content.
    let workbook = fs::File::open(path("xlsx-own-document/fleet.xlsx")).unwrap();
    let piped = super::dayone().args(["check", "-"]).stdin(workbook).output().unwrap();
    assert!(String::from_utf8_lossy(&piped.stdout).contains("2 hosts: no errors"), "{piped:?}");
}
