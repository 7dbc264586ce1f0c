//! Pictures of the networks in `fixtures/nmstate` against those in `fixtures/topology`, and against what an XML parser
//! makes of them. `UPDATE_GOLDEN=1` rewrites them.

use std::fs;
use std::path::{Path, PathBuf};

use hosts::model::Topology;
use hosts::network::Keyfile;
use hosts::topology::svg::Picture;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures")
}

/// The keyfiles of a case of `fixtures/nmstate`.
fn keyfiles(case: &str) -> Vec<Keyfile> {
    let directory = fs::read_dir(fixtures().join("nmstate").join(case).join("expected")).unwrap();
    let mut keyfiles: Vec<Keyfile> = directory
        .map(|entry| entry.unwrap())
        .map(|entry| Keyfile {
            name: entry.file_name().to_str().unwrap().parse().unwrap(),
            content: fs::read_to_string(entry.path()).unwrap(),
        })
        .collect();
    keyfiles.sort();
    keyfiles
}

/// A host with forty NICs: bonds of two, with VLANs on them, and bridges and addresses on those.
fn large() -> Vec<Keyfile> {
    let keyfile = |name: &str, content: String| Keyfile {
        name: format!("{name}.nmconnection").parse().unwrap(),
        content: format!("[connection]\nid={name}\ninterface-name={name}\n{content}"),
    };
    let mut keyfiles = Vec::new();
    for bond in 0..10 {
        let address = format!("[ipv4]\nmethod=manual\naddress1=10.{bond}.0.10/24,10.{bond}.0.1\n");
        keyfiles.push(keyfile(&format!("bond{bond}"), format!("type=bond\n[bond]\nmode=802.3ad\n{address}")));
        for nic in 0..2 {
            let name = format!("ens{bond}f{nic}");
            keyfiles.push(keyfile(&name, format!("type=ethernet\nmaster=bond{bond}\nslave-type=bond\n")));
        }
        let on = format!("bond{bond}.{}", 100 + bond);
        let port =
            format!("type=vlan\nmaster=br{bond}\nslave-type=bridge\n[vlan]\nid={}\nparent=bond{bond}\n", 100 + bond);
        keyfiles.push(keyfile(&on, port));
    }
    for bridge in 0..10 {
        keyfiles.push(keyfile(&format!("br{bridge}"), "type=bridge\n[ipv6]\nmethod=disabled\n".to_owned()));
    }
    keyfiles
}

const CASES: [&str; 8] = [
    "bond-vlans",
    "external-bridge",
    "ipv6-dual-stack",
    "mac-identified-vlan",
    "routes-and-rules",
    "static-ipv4-baremetalhost",
    "virtual-ips-install-config-master-0",
    "vrf",
];

#[test]
fn pictures_are_those_of_the_fixtures() {
    let mut wrong = Vec::new();
    for case in CASES.into_iter().chain(["large"]) {
        let keyfiles = if case == "large" { large() } else { keyfiles(case) };
        let hostname = Some("worker-0.example.com".parse().unwrap());
        let topology = Topology::from_keyfiles(&keyfiles, hostname.as_ref());
        let boot_mac = Some("52:54:00:ab:cd:02".parse().unwrap());
        let bmc = (case != "vrf").then_some("redfish-virtualmedia+https://192.0.2.5/redfish/v1/Systems/1");
        let picture = Picture { topology: &topology, bmc, boot_mac: boot_mac.filter(|_| bmc.is_some()) };
        let svg = picture.to_svg();
        let path = fixtures().join(format!("topology/{case}.svg"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&path, &svg).unwrap();
        } else if fs::read_to_string(&path).unwrap_or_default() != svg {
            wrong.push(format!("{}: found\n{svg}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
