//! Directories where commands take documents.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::{dayone, ended, run};

const NMSTATE: &str = "interfaces:\n- {name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}\n";

fn write(directory: &Path, name: &str, text: &str) {
    let path = directory.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn secret(name: &str) -> String {
    let indented: String = NMSTATE.lines().map(|line| format!("    {line}\n")).collect();
    format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}}}\nstringData:\n  nmstate: |\n{indented}")
}

fn host(name: &str) -> String {
    format!(
        "{{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {{name: {name}}}, \
         spec: {{preprovisioningNetworkDataName: {name}-network}}}}"
    )
}

#[test]
fn a_directory_is_all_documents_below_it() {
    let place = tempfile::tempdir().unwrap();
    let top = place.path();
    write(top, "hosts/worker-1.json", &host("worker-1"));
    write(top, "hosts/worker-0.YML", &host("worker-0"));
    write(top, "secrets/0.yaml", &secret("worker-0-network"));
    write(top, "secrets/1.yaml", &secret("worker-1-network"));
    // None of these is a document.
    for other in ["README.md", ".hidden.yaml", ".git/config.yaml", "secrets/0.yaml~", "run.sh", "hosts/~$rack.xlsx"] {
        write(top, other, "a: [");
    }
    symlink("..", top.join("hosts/up")).unwrap();
    symlink("../secrets", top.join("hosts/secrets")).unwrap();
    let ended = run(&["check", top.to_str().unwrap()]);
    assert_eq!((ended.code, ended.out.as_str()), (0, "2 hosts: no errors, no warnings\n"), "{}", ended.err);
    let ended = run(&["convert", "--format", "json", top.to_str().unwrap()]);
    let json: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(json["hosts"][0]["name"], "worker-0");
}

/// Files that people bring from other systems have names in other encodings.
#[test]
fn a_path_need_not_be_utf_8() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join(OsStr::from_bytes(b"h\xf6ste.yaml"));
    fs::write(&path, NMSTATE).unwrap();
    for argument in [place.path(), &path] {
        let ended = ended(dayone().arg("check").arg(argument).output().unwrap());
        assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    }
    // It is taken for a document, and not for an address.
    let probed = ended(dayone().args(["bmc", "probe"]).arg(&path).output().unwrap());
    assert!(probed.code != 0 && !probed.err.contains("UTF-8") && !probed.err.contains("address of"), "{}", probed.err);
}

#[test]
fn an_output_that_is_a_device_or_a_pipe_is_refused() {
    let place = tempfile::tempdir().unwrap();
    write(place.path(), "host.yaml", NMSTATE);
    let (host, pipe) = (place.path().join("host.yaml"), place.path().join("pipe"));
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    // A device that never ends, by a link: nobody loses the device if this fails.
    let endless = place.path().join("endless");
    symlink("/dev/zero", &endless).unwrap();
    for output in [&pipe, &endless] {
        let (host, output) = (host.to_str().unwrap(), output.to_str().unwrap());
        let ended = run(&["convert", host, "--svg", output, "--force"]);
        assert_eq!(ended.code, 2, "{}", ended.err);
        assert!(ended.err.ends_with(&format!("{output} is neither a file nor a directory\n")), "{}", ended.err);
    }
    assert!(fs::symlink_metadata(&endless).unwrap().is_symlink());
}

#[test]
fn findings_name_files_from_the_directory_on() {
    let place = tempfile::tempdir().unwrap();
    let (one, two) = (place.path().join("one"), place.path().join("two"));
    write(&one, "hosts/a.yaml", NMSTATE);
    write(&two, "hosts/a.yaml", NMSTATE);
    write(&one, "b.yml", "x: [");
    let one = one.to_str().unwrap();
    let ended = run(&["check", one]);
    assert!(ended.out.starts_with("b.yml:1:4: error: the input is not YAML"), "{}", ended.out);
    fs::remove_file(place.path().join("one/b.yml")).unwrap();
    let ended = run(&["check", one, two.to_str().unwrap()]);
    let expected = format!("{}/hosts/a.yaml:1:1: error: is a second NMState document", two.display());
    assert!(ended.out.starts_with(&expected), "{}", ended.out);
}

/// Ansible reads every file of an inventory's directory, whatever its name.
#[test]
fn inventories_of_any_name_are_read_or_said_to_be_unused() {
    let place = tempfile::tempdir().unwrap();
    let fleet = "apiVersion: dayone.metal3.io/v1alpha1\nkind: HostFleet\nmetadata: {name: f}\nspec:\n  hosts: {inventoryFile: \
                 inv/production}\n  template:\n    name: ${inventory_hostname}\n    network:\n      interfaces: [{name: eth0, type: \
                 ethernet, ipv4: {enabled: true, dhcp: true}}]\n";
    write(place.path(), "fleet.yaml", fleet);
    write(place.path(), "inv/production", "[web]\nw0\nw1\n");
    let in_place = |arguments: &[&str]| ended(dayone().current_dir(place.path()).args(arguments).output().unwrap());
    let named = in_place(&["check", "fleet.yaml", "inv/production"]);
    assert_eq!((named.code, named.out.as_str()), (0, "2 hosts: no errors, no warnings\n"), "{}", named.err);
    // Only beside an inventory, or the variables of one, a file in a directory may be an inventory, too.
    write(place.path(), "inv/group_vars/web.yml", "a: b\n");
    write(place.path(), "inv/02-more", "w2\n");
    write(place.path(), "inv/README", "Hosts of two racks.\n");
    fs::write(place.path().join("inv/tool"), b"\x7fELF\0\xff").unwrap();
    write(place.path(), "inv/vault_pass", "hunter2\n");
    write(place.path(), "notes", "w3\n");
    let found = in_place(&["check", "--short", "."]);
    assert_eq!(found.code, 0, "{}{}", found.out, found.err);
    assert!(found.out.contains("inv/02-more") && found.out.contains("[fleet-file-unused]"), "{}", found.out);
    assert!(found.out.ends_with("2 hosts: no errors, 1 warning\n"), "{}", found.out);
}

#[test]
fn unreadable_files_of_a_directory_are_reported() {
    let place = tempfile::tempdir().unwrap();
    let top = place.path();
    let ended = run(&["check", top.to_str().unwrap()]);
    assert_eq!(ended.code, 1);
    assert!(ended.err.contains("has no documents (files that end in .yaml, "), "{}", ended.err);
    symlink("nowhere", top.join("a.yaml")).unwrap();
    let ended = run(&["check", top.to_str().unwrap()]);
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("cannot read ") && ended.err.contains("/a.yaml"), "{}", ended.err);
}

#[test]
fn no_command_writes_to_a_name_that_means_standard_output_elsewhere() {
    let place = tempfile::tempdir().unwrap();
    write(place.path(), "host.yaml", NMSTATE);
    let digest = "0".repeat(64);
    let fetch = ["base", "fetch", "https://127.0.0.1:1/a.iso", "--sha256", &digest, "-o", "-"];
    for arguments in [
        &fetch[..],
        &["convert", "host.yaml", "-o", "-"],
        &["convert", "host.yaml", "--svg", "-"],
        &["manifests", "host.yaml", "-o", "-"],
        &["second-step", "host.yaml", "-o", "-"],
    ] {
        let refused = ended(dayone().current_dir(place.path()).args(arguments).output().unwrap());
        assert_eq!(refused.code, 2, "{arguments:?}: {}", refused.err);
        assert!(refused.err.contains("this is not standard output here"), "{arguments:?}: {}", refused.err);
    }
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    let named = ended(dayone().current_dir(place.path()).args(["convert", "host.yaml", "-o", "./-"]).output().unwrap());
    assert!(named.code == 0 && place.path().join("-").is_dir(), "{}", named.err);
}

/// Ansible reads variables under each name of a directory, and a host may have a name that ends as that of notes.
#[test]
fn variables_belong_to_the_group_and_the_host_that_their_path_names() {
    let place = tempfile::tempdir().unwrap();
    let fleet = "apiVersion: dayone.metal3.io/v1alpha1\nkind: HostFleet\nmetadata: {name: f}\nspec:\n  hosts: {inventoryFile: \
                 inv/hosts}\n  template:\n    network:\n      interfaces: [{name: eth0, type: ethernet, state: up, ipv4: {enabled: true, \
                 dhcp: false, address: [{ip: \"${address}\", prefix-length: 24}]}}]\n      routes: {config: [{destination: 0.0.0.0/0, \
                 next-hop-address: \"${gateway}\", next-hop-interface: eth0}]}\n";
    for (name, text) in [
        ("fleet.yaml", fleet),
        ("inv/hosts", "[rack1]\nw0.example.md\n[rack2]\nw1\n"),
        ("inv/group_vars/all.yml", "gateway: 192.0.2.254\naddress: 192.0.2.99\n"),
        ("inv/group_vars/rack1/net.yml", "gateway: 192.0.2.1\n"),
        ("inv/host_vars/w0.example.md", "address: 192.0.2.10\n"),
        ("inv/host_vars/w1.yml", "address: 192.0.2.11\n"),
        ("inv/host_vars/README.md", "Notes: [\n"),
    ] {
        write(place.path(), name, text);
    }
    let in_place = |arguments: &[&str]| ended(dayone().current_dir(place.path()).args(arguments).output().unwrap());
    let links = place.path().join("inv/group_vars");
    symlink("..", links.join("rack1/up")).unwrap();
    // Also if the link comes before the directory that it leads to.
    for (link, target) in [("rack2", "rack1"), ("rack1", "rack2")] {
        if link == "rack1" {
            fs::remove_file(links.join("rack2")).unwrap();
            fs::rename(links.join("rack1"), links.join("rack2")).unwrap();
        }
        symlink(target, links.join(link)).unwrap();
        let checked = in_place(&["check", "--short", "fleet.yaml", "inv"]);
        assert_eq!(checked.out, "2 hosts: no errors, no warnings\n", "{}", checked.err);
        let out = in_place(&["convert", "fleet.yaml", "inv"]).out;
        assert!(out.matches("0.0.0.0/0,192.0.2.1").count() == 2 && !out.contains("192.0.2.254"), "{out}");
        assert!(out.contains("192.0.2.10/24") && out.contains("192.0.2.11/24"), "{out}");
    }
}

/// Each level doubles the names of the last directory.
#[test]
fn links_to_links_end_in_an_error_in_seconds() {
    let place = tempfile::tempdir().unwrap();
    let variables = place.path().join("group_vars");
    for level in 0..25 {
        let directory = variables.join(format!("level{level}"));
        fs::create_dir_all(&directory).unwrap();
        for name in ["a", "b"] {
            symlink(format!("../level{}", level + 1), directory.join(name)).unwrap();
        }
    }
    fs::create_dir(variables.join("level25")).unwrap();
    let checked = ended(dayone().current_dir(place.path()).args(["check", "."]).output().unwrap());
    assert!(checked.code == 2 && checked.err.contains("lead to directories again"), "{}", checked.err);
}
