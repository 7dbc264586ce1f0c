//! Gives bonds, VXLANs and MACVLANs to NetworkManager: it does not bring up the interfaces that dayone reports, and brings up the
//! others.

use std::collections::BTreeMap;

use acceptance::network_manager::{Host, bring_up};
use hosts::network::{Keyfile, convert};
use serde_json::Value;
use vocabulary::host::{HostSpec, KeyfileDocument, NetworkDocument};
use vocabulary::report::DocumentPath;

const ADDRESS: &str = "192.0.2.10/24";

/// An interface: the name of the case, the type, the settings of that type in the profile, and dayone's finding about them.
type Case = (&'static str, &'static str, &'static str, Option<&'static str>);

const CASES: [Case; 18] = [
    ("delay", "bond", "mode=active-backup\nmiimon=100\nupdelay=250\n", None),
    ("system", "bond", "mode=802.3ad\nad_actor_system=00:00:00:00:00:00\n", None),
    ("system-group", "bond", "mode=802.3ad\nad_actor_system=03:00:00:00:00:05\n", Some("bond-option-refused")),
    (
        "target-twice",
        "bond",
        "mode=active-backup\narp_interval=1000\narp_ip_target=192.0.2.1,192.0.2.1\n",
        Some("bond-option-refused"),
    ),
    (
        "target-of-all",
        "bond",
        "mode=active-backup\narp_interval=1000\narp_ip_target=255.255.255.255\n",
        Some("bond-option-refused"),
    ),
    ("local", "vxlan", "id=10\nparent=eth0\nlocal=192.0.2.77\n", None),
    ("link-local", "vxlan", "id=10\nparent=eth0\nlocal=fe80::2\nremote=fe80::1\n", None),
    (
        "half-link-local",
        "vxlan",
        "id=10\nparent=eth0\nlocal=fe80::2\nremote=2001:db8::1\n",
        Some("vxlan-address-refused"),
    ),
    ("remote-link-local", "vxlan", "id=10\nparent=eth0\nremote=fe80::1\n", Some("vxlan-address-refused")),
    ("local-group", "vxlan", "id=10\nparent=eth0\nlocal=239.1.1.1\nremote=192.0.2.1\n", Some("vxlan-address-refused")),
    ("port-zero", "vxlan", "id=10\nparent=eth0\nremote=192.0.2.1\ndestination-port=0\n", Some("vxlan-port-zero")),
    ("vepa", "macvlan", "parent=eth0\nmode=1\n", None),
    ("bridge", "macvlan", "parent=eth0\nmode=2\n", None),
    ("private", "macvlan", "parent=eth0\nmode=3\n", None),
    ("passthru", "macvlan", "parent=eth0\nmode=4\n", None),
    ("source", "macvlan", "parent=eth0\nmode=5\n", Some("macvlan-mode-unsupported")),
    ("mode-none", "macvlan", "parent=eth0\n", Some("macvlan-mode-unsupported")),
    ("loopback", "macvlan", "parent=lo\nmode=2\n", Some("parent-refused")),
];

/// The profiles of the interface and of a NIC, which is a port of the interface if the interface is a bond.
fn profiles((_, kind, rest, _): &Case) -> [(&'static str, String); 2] {
    let profile = |id: &str, kind: &str, uuid: &str, rest: &str| {
        format!(
            "[connection]\nid={id}\nuuid={uuid}\ntype={kind}\ninterface-name={id}\nautoconnect=true\n{rest}\n[ipv6]\n\
             method=disabled\n"
        )
    };
    let nic = if *kind == "bond" { "master=upper0\nslave-type=bond\n" } else { "\n[ipv4]\nmethod=disabled\n" };
    let upper = format!("\n[{kind}]\n{rest}\n[ipv4]\nmethod=manual\naddress0={ADDRESS}\n");
    let uuids = ["0523c0a1-5f5e-5603-bcf2-68155d5d322e", "0523c0a1-5f5e-5603-bcf2-68155d5d322f"];
    [
        ("eth0.nmconnection", profile("eth0", "802-3-ethernet", uuids[0], nic)),
        ("upper0.nmconnection", profile("upper0", kind, uuids[1], &upper)),
    ]
}

fn host(case: &Case) -> Host {
    let keyfiles = profiles(case).map(|(name, content)| Keyfile { name: name.parse().unwrap(), content });
    let mut host = Host::new(case.0, &Value::Null, keyfiles.into());
    host.nics = BTreeMap::from([("eth0".to_owned(), "52:54:00:aa:00:01".to_owned())]);
    host
}

/// The codes of dayone's findings, without those about interfaces that come up.
fn codes(case: &Case) -> Vec<&'static str> {
    let documents = profiles(case).map(|(name, content)| KeyfileDocument {
        name: name.to_owned(),
        content,
        path: DocumentPath::document(name),
    });
    let host = HostSpec::with_network(NetworkDocument::Keyfiles(documents.into()));
    let report = convert(&host).1;
    let codes = report.findings().iter().map(|finding| finding.code);
    codes.filter(|code| !["bond-delay-rounded", "bond-of-one-port"].contains(code)).collect()
}

#[test]
fn network_manager_brings_up_what_dayone_does_not_warn_about() {
    let found = bring_up(&CASES.map(|case| host(&case)));
    for case in &CASES {
        let (name, _, _, code) = case;
        let report = &found[*name];
        let is_up = report.addresses("upper0").iter().any(|address| address == ADDRESS);
        assert_eq!(is_up, code.is_none(), "{name}: {}", report.lines("log").join("\n"));
        assert_eq!(codes(case), code.iter().copied().collect::<Vec<_>>(), "{name}");
    }
}
