//! Modes of MACVLANs, given to NetworkManager: it creates those that dayone takes for supported, and no others.

use std::collections::BTreeMap;

use acceptance::network_manager::{Host, bring_up};
use hosts::network::{Keyfile, convert};
use serde_json::Value;
use vocabulary::host::{HostSpec, KeyfileDocument, NetworkDocument};
use vocabulary::report::DocumentPath;

const ADDRESS: &str = "192.0.2.10/24";

/// The profiles of a NIC and of a MACVLAN on it, with this line for its mode.
fn profiles(mode: &str) -> [(&'static str, String); 2] {
    let profile = |id: &str, kind: &str, uuid: &str, rest: &str| {
        format!(
            "[connection]\nid={id}\nuuid={uuid}\ntype={kind}\ninterface-name={id}\nautoconnect=true\n\n{rest}\n[ipv6]\n\
             method=disabled\n"
        )
    };
    let macvlan = format!("[macvlan]\nparent=eth0\n{mode}\n[ipv4]\nmethod=manual\naddress0={ADDRESS}\n");
    let uuids = ["0523c0a1-5f5e-5603-bcf2-68155d5d322e", "0523c0a1-5f5e-5603-bcf2-68155d5d322f"];
    [
        ("eth0.nmconnection", profile("eth0", "802-3-ethernet", uuids[0], "[ipv4]\nmethod=disabled\n")),
        ("mac0.nmconnection", profile("mac0", "macvlan", uuids[1], &macvlan)),
    ]
}

fn host(name: &str, mode: &str) -> Host {
    let keyfiles = profiles(mode).map(|(name, content)| Keyfile { name: name.parse().unwrap(), content });
    let mut host = Host::new(name, &Value::Null, keyfiles.into());
    host.nics = BTreeMap::from([("eth0".to_owned(), "52:54:00:aa:00:01".to_owned())]);
    host
}

fn does_dayone_warn(mode: &str) -> bool {
    let documents = profiles(mode).map(|(name, content)| KeyfileDocument {
        name: name.to_owned(),
        content,
        path: DocumentPath::document(name),
    });
    let host = HostSpec::with_network(NetworkDocument::Keyfiles(documents.into()));
    convert(&host).1.findings().iter().any(|finding| finding.code == "macvlan-mode-unsupported")
}

#[test]
fn network_manager_creates_macvlans_with_four_modes() {
    let modes = [
        ("vepa", "mode=1\n"),
        ("bridge", "mode=2\n"),
        ("private", "mode=3\n"),
        ("passthru", "mode=4\n"),
        ("source", "mode=5\n"),
        ("none", ""),
    ];
    let found = bring_up(&modes.map(|(name, mode)| host(name, mode)));
    for (name, mode) in modes {
        let report = &found[name];
        let is_created = report.addresses("mac0").iter().any(|address| address == ADDRESS);
        let is_expected = !["source", "none"].contains(&name);
        assert_eq!(is_created, is_expected, "{name}: {}", report.lines("log").join("\n"));
        assert_eq!(does_dayone_warn(mode), !is_created, "{name}");
    }
}
