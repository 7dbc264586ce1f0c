//! Data images, as the programs read them for which they are made.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use acceptance::peers::{run, run_text};
use imagelib::data_image::{Combustion, ConfigDrive, DataImage, DataSpec, NoCloud};
use imagelib::network::Keyfile;
use imagelib::overlay::{Overlay, Sizes};
use serde_json::{Value, json};

/// Writes the drive; returns the directory to which it is unpacked.
fn unpack(directory: &Path, spec: &DataSpec) -> PathBuf {
    let segments = DataImage::build(spec).unwrap().iso().unwrap();
    let overlay = Overlay::concatenated(&Sizes::new(), segments).unwrap();
    let mut image = vec![0; usize::try_from(overlay.size()).unwrap()];
    overlay.read_at(&BTreeMap::<_, Vec<u8>>::new(), 0, &mut image).unwrap();
    let (path, tree) = (directory.join("data.iso"), directory.join("tree"));
    fs::write(&path, image).unwrap();
    run(Command::new("xorriso")
        .args(["-osirrox", "on:auto_chmod_on", "-indev"])
        .arg(&path)
        .args(["-extract", "/"])
        .arg(&tree));
    tree
}

/// Runs Python code with cloud-init's modules; what it prints is JSON.
fn cloud_init(code: &str, argument: &Path) -> Value {
    let output = run(Command::new("/usr/bin/python3").args(["-c", code]).arg(argument));
    serde_json::from_slice(&output).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output)))
}

#[test]
fn cloud_init_reads_a_config_drive() {
    let directory = tempfile::tempdir().unwrap();
    let network = json!({
        "links": [{"id": "eth0", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:01", "mtu": 1500}],
        "networks": [{"id": "n0", "link": "eth0", "type": "ipv4", "ip_address": "192.0.2.5", "netmask": "255.255.255.0"}],
        "services": []
    });
    let spec = DataSpec::ConfigDrive(ConfigDrive {
        network_data: Some(network.to_string().into()),
        user_data: Some("#cloud-config\nssh_pwauth: false\n".into()),
        hostname: Some("node-1.example.org".parse().unwrap()),
        ..ConfigDrive::default()
    });
    let tree = unpack(directory.path(), &spec);
    let found = cloud_init(
        "import sys, json
from cloudinit.sources.helpers.openstack import ConfigDriveReader
found = ConfigDriveReader(sys.argv[1]).read_v2()
print(json.dumps({'metadata': found['metadata'], 'userdata': found['userdata'].decode(), 'networkdata': found['networkdata']}))",
        &tree,
    );
    assert_eq!(found["metadata"]["local-hostname"], "node-1.example.org");
    assert_eq!(found["metadata"]["instance-id"].as_str().unwrap().len(), 36);
    assert_eq!(found["userdata"], "#cloud-config\nssh_pwauth: false\n");
    assert_eq!(found["networkdata"], network);
}

#[test]
fn cloud_init_reads_a_seed() {
    let directory = tempfile::tempdir().unwrap();
    let config = "version: 2\nethernets:\n  eth0:\n    dhcp4: true\n";
    let spec = DataSpec::NoCloud(NoCloud {
        network_config: Some(config.into()),
        hostname: Some("123".parse().unwrap()),
        ..NoCloud::default()
    });
    let tree = unpack(directory.path(), &spec);
    let found = cloud_init(
        "import sys, json
from cloudinit import util
found = util.pathprefix2dict(sys.argv[1], required=['user-data', 'meta-data'], optional=['vendor-data', 'network-config'])
config = util.load_yaml(found['user-data'])
print(json.dumps({'meta-data': util.load_yaml(found['meta-data']), 'config': config, 'network': found['network-config'].decode()}))",
        &tree,
    );
    assert_eq!(found["meta-data"]["local-hostname"], "123");
    assert_eq!(found["meta-data"]["instance-id"].as_str().unwrap().len(), 36);
    assert_eq!(found["config"], json!({}));
    assert_eq!(found["network"], config);
}

/// What Combustion does with a drive: the script runs in its directory, for the initramfs and for the system, each with
/// an `/etc` of its own.
#[test]
fn combustions_script_installs_the_profiles_for_root_alone() {
    let directory = tempfile::tempdir().unwrap();
    let keyfile = |name: &str| Keyfile { name: name.parse().unwrap(), content: format!("[connection]\nid={name}\n") };
    let spec = DataSpec::Combustion(Combustion {
        keyfiles: vec![keyfile("bond0.nmconnection"), keyfile("eth0.nmconnection")],
        hostname: Some("node-1".parse().unwrap()),
        script: Some("#!/bin/sh\n# combustion: prepare\ncp other /etc/run-\"${1-system}\"\n".into()),
        files: BTreeMap::from([("other".to_owned(), "other".into())]),
    });
    let tree = unpack(directory.path(), &spec).join("combustion");
    for (argument, hostname) in [("--prepare", None), ("", Some("node-1\n"))] {
        let etc = directory.path().join(format!("etc{argument}"));
        fs::create_dir_all(etc.join("NetworkManager")).unwrap();
        fs::copy("/etc/passwd", etc.join("passwd")).unwrap();
        let script = "mount --bind \"$0\" /etc && cd \"$1\" && exec ./script $2";
        run(Command::new("unshare")
            .args(["--mount", "--map-root-user", "sh", "-c", script])
            .args([&etc, &tree])
            .arg(argument));
        let listing = run_text(
            Command::new("find")
                .arg(etc.join("NetworkManager/system-connections"))
                .args(["-type", "f", "-printf", "%m %f\n"]),
        );
        let mut listing: Vec<&str> = listing.lines().collect();
        listing.sort_unstable();
        assert_eq!(listing, ["600 bond0.nmconnection", "600 eth0.nmconnection"], "{argument}");
        assert_eq!(fs::read_to_string(etc.join("hostname")).ok().as_deref(), hostname);
        let ran = if argument.is_empty() { "run-system" } else { "run---prepare" };
        assert_eq!(fs::read_to_string(etc.join(ran)).unwrap(), "other");
    }
}
