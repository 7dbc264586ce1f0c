//! Any text as the answer file of an installer: no panic, and what comes out is the text with the network behind it, which dayone
//! finds no mistakes in when it gets it back. A profile for Agama gets scripts, and is the same without them.
#![no_main]

use std::sync::LazyLock;

use hosts::answers::{self, InstalledSystem};
use hosts::network::{ConvertedNetwork, Target, convert_network};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

/// Behind each, the first byte of an input chooses it.
const KINDS: [&str; 4] = ["preseed", "kickstart", "autoinstall", "agama"];
/// Interfaces of each kind that answers can be about.
const DOCUMENT: &[u8] = b"
hostname: {config: worker-0.example.com}
interfaces:
- {name: eno1, type: ethernet, state: up, mtu: 9000, ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]},
   ipv6: {enabled: true, address: [{ip: '2001:db8::10', prefix-length: 64}]}}
- {name: lan, type: ethernet, state: up, identifier: mac-address, mac-address: '52:54:00:00:00:01', ipv4: {enabled: true, dhcp: true}}
- {name: eno2, type: ethernet, state: up}
- {name: eno3, type: ethernet, state: up}
- {name: bond0, type: bond, state: up, link-aggregation: {mode: active-backup, port: [eno2]}}
- {name: bond0.7, type: vlan, state: up, vlan: {base-iface: bond0, id: 7}}
- {name: br0, type: linux-bridge, state: up, bridge: {port: [{name: eno3}]}}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: eno1}]}
dns-resolver: {config: {server: [192.0.2.53], search: [example.com]}}
";

/// The host's network for an installer. It is always the same one.
fn network(kind: &str) -> ConvertedNetwork {
    let input = hosts::input::read(DOCUMENT);
    let [host] = input.hosts.as_slice() else { panic!("one host") };
    let kind = serde_json::from_value(json!(kind)).expect("an installer");
    let target = Target { files: answers::network_files(kind), ..Target::default() };
    convert_network(host, target).0.expect("the document is good")
}

/// A profile, with all members that dayone may add.
fn profile(text: &str) -> Value {
    let mut profile: Value = if text.trim().is_empty() { json!({}) } else { serde_json::from_str(text).expect("JSON") };
    let scripts = profile.as_object_mut().expect("an object").entry("scripts").or_insert(json!({}));
    scripts.as_object_mut().expect("an object").entry("post").or_insert(json!([]));
    profile
}

/// A completed profile without the scripts that dayone adds.
fn without_scripts(text: &str) -> Value {
    let mut profile = profile(text);
    let scripts = profile["scripts"]["post"].as_array_mut().expect("an array");
    let network = scripts.pop().expect("the second script");
    let remove = scripts.pop().expect("the first script");
    assert!(remove["name"] == "dayone-remove-copies" && network["name"] == "dayone-network");
    profile
}

fuzz_target!(|data: &[u8]| {
    static NETWORKS: LazyLock<[ConvertedNetwork; KINDS.len()]> = LazyLock::new(|| KINDS.map(network));
    let Some((kind, text)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let kind = usize::from(*kind) % KINDS.len();
    let network = &NETWORKS[kind];
    let system = InstalledSystem { network, hostname: network.hostname.as_ref(), no_auto_default: true };
    let complete = |text: &str| {
        let answers = serde_json::from_value(json!({"kind": KINDS[kind], "text": text})).expect("answers");
        let mut report = hosts::network::release_findings(None);
        let files = answers::complete(&answers, system, &mut report);
        assert_eq!(files.is_err(), report.has_errors());
        files.ok()
    };
    let Some(files) = complete(text) else { return };
    let completed = files.iter().find(|file| file.is_secret).expect("the answer file");
    if KINDS[kind] == "agama" {
        assert_eq!(without_scripts(&completed.content), profile(text));
        return;
    }
    // The member around an autoinstall file goes.
    assert!(completed.content.starts_with(text) || KINDS[kind] == "autoinstall");
    assert!(complete(&completed.content).is_some(), "dayone refuses what it has written");
});
