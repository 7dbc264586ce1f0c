//! Users' keyfiles, against libnm: what is taken it takes without a word, and what is refused it refuses, or ignores in part.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use hosts::input::{Text, read_all};
use hosts::network::convert;
use serde_json::Value;

const BASE: &str = "[connection]\nid=a\nuuid=0523c0a1-5f5e-5603-bcf2-68155d5d322e\n";

/// Profiles, without what all have.
const CASES: &[&str] = &[
    "type=ethernet\ninterface-name=eth0\n",
    "type=ethernt\ninterface-name=eth0\n",
    "type=vlan\ninterface-name=v\n",
    "type=vlan\ninterface-name=v\n[vlan]\nid=5\nparent=eth0\n",
    "type=dummy\ninterface-name=d\n[dummy]\n",
    "interface-name=eth0\n",
    "interface-name=eth0\n[ethernet]\nmtu=1400\n",
    "type=ethernet\ninterface-name=a-name-that-is-too-long\n",
    "type=ethernet\ninterface-name=a:b\n",
    "type=ethernet\ninterface-name=eth0\nautoconnect=no\n",
    "type=ethernet\ninterface-name=eth0\nautoconnect=1\n",
    "type=ethernet\ninterface-name=eth0\nmaster=bond0\n",
    "type=ethernet\ninterface-name=eth0\nslave-type=bond\n",
    "type=ethernet\ninterface-name=eth0\nmaster=bond0\nslave-type=bond\n",
    "type=ethernet\ninterface-name=eth0\nmaster=bond0\nslave-type=bondd\n",
    "type=ethernet\n[ethernet]\nmac-address=52:54:00\n",
    "type=ethernet\n[ethernet]\nmac-address=82;84;0;0;0;1;\n",
    "type=ethernet\n[802-3-ethernet]\nmac-address=52-54-00-00-00-01\n",
    "type=ethernet\ninterface-name=eth0\n[ipv4]\nmethod=manual\n",
    "type=ethernet\ninterface-name=eth0\n[ipv4]\nmethod=manual\naddress1=192.0.2.1/24,192.0.2.254\n",
    "type=ethernet\ninterface-name=eth0\n[ipv4]\nmethod=manual\naddress1=192.0.2.1x/24\n",
    "type=ethernet\ninterface-name=eth0\n[ipv4]\nmethod=manual\naddress1=192.0.2.1/33\n",
    "type=ethernet\ninterface-name=eth0\n[ipv4]\nmethod=manual\naddress1=192.0.2.1/24,192.0.2.x\n",
    "type=ethernet\ninterface-name=eth0\n[ipv4]\nmethod=manual\naddress1=192.0.2.1/24\naddress2=x\n",
    "type=ethernet\ninterface-name=eth0\n[ipv4]\nmethod=manual\naddress1=2001:db8::1/64\n",
    "type=ethernet\ninterface-name=eth0\n[ipv4]\nmethod=manual\naddress1=192.0.2.1/24\ngateway=x\n",
    "type=ethernet\ninterface-name=eth0\n[ipv4]\nmethod=dhcp\n",
    "type=ethernet\ninterface-name=eth0\n[ipv4]\nmethod=disabled\naddress1=192.0.2.1/24\n",
    "type=ethernet\ninterface-name=eth0\n[ipv4]\naddress1=192.0.2.1/24\n",
    "type=ethernet\ninterface-name=eth0\n[ipv6]\nmethod=static\n",
    "type=ethernet\ninterface-name=eth0\n[ipv6]\nmethod=manual\naddresses=2001:db8::1/64\n",
    "type=ethernet\ninterface-name=eth0\\x\n",
    "type=ethernet\ninterface-name=eth0\nnonsense\n",
    "type=ethernet\ninterface-name=eth0\n=x\n",
    "type=ethernet\ninterface-name=eth0\n[a[b]\n",
    "type=ethernet\ninterface-name=eth0\n a ]=b\n",
];

fn libnm(keyfiles: &BTreeMap<String, String>) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/libnm.py");
    let mut child = Command::new("/usr/bin/python3")
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3, see scripts/setup-peers.sh");
    child.stdin.take().unwrap().write_all(&serde_json::to_vec(keyfiles).unwrap()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn libnm_takes_what_is_taken_and_nothing_else() {
    let keyfiles: BTreeMap<_, _> = CASES.iter().map(|case| ((*case).to_owned(), format!("{BASE}{case}"))).collect();
    let found = libnm(&keyfiles);
    let mut wrong = Vec::new();
    let (mut taken, mut refused) = (0, 0);
    for (case, content) in &keyfiles {
        let read = read_all([Text { name: Some("a.nmconnection"), text: content.as_bytes() }]);
        let (network, report) = convert(&read.hosts[0]);
        let problems = found[case]["problems"].as_array().unwrap();
        if network.is_some() != problems.is_empty() {
            wrong.push(format!("{case}\nlibnm: {problems:?}\ndayone: {:?}", report.findings()));
        }
        *(if network.is_some() { &mut taken } else { &mut refused }) += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(taken >= 10 && refused > 20, "{taken} {refused}");
}

#[test]
fn libnm_takes_addresses_from_ports_and_dayone_says_so() {
    let port = |kind: &str| {
        format!(
            "{BASE}type=ethernet\ninterface-name=eth0\nmaster=c\nslave-type={kind}\n[ipv4]\nmethod=manual\naddress1=192.0.2.1/24\n"
        )
    };
    for (kind, has_addresses) in [("bond", false), ("bridge", false), ("vrf", true)] {
        let content = port(kind);
        let found = libnm(&BTreeMap::from([(kind.to_owned(), content.clone())]));
        assert_eq!(found[kind]["problems"], serde_json::json!([]), "{kind}");
        assert_eq!(found[kind]["settings"].get("ipv4").is_some(), has_addresses, "{kind}: {found}");
        let read = read_all([Text { name: Some("a.nmconnection"), text: content.as_bytes() }]);
        let (network, report) = convert(&read.hosts[0]);
        let is_said = report.findings().iter().any(|finding| finding.code == "keyfile-address-on-port");
        assert_eq!((network.is_some(), is_said), (has_addresses, !has_addresses), "{kind}: {:?}", report.findings());
    }
}
