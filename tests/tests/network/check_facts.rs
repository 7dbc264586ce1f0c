//! What checks take for granted of other readers and of the kernel, against these.

use std::fs;
use std::process::Command;

use acceptance::peers::{peer, run_text};
use hosts::every_host::convert;
use hosts::input;
use serde_yaml::Value;

/// The codes of what is found in a document.
fn codes(document: &str) -> Vec<&'static str> {
    let converted = convert(input::read(document.as_bytes()));
    converted.report.findings().iter().map(|finding| finding.code).collect()
}

/// Texts that may be numbers, without quotes.
fn texts() -> Vec<String> {
    let numbers = (0..130).flat_map(|number| [format!("0{number}"), format!("00{number}"), format!("+0{number}")]);
    let others =
        ["0", "00", "1500", "0x10", "0b11", "0o10", "01_0", "0_10", "1_0", "1:30", "08.5", "007", "0800", "-010"];
    numbers.chain(others.map(str::to_owned)).collect()
}

/// A policy with an MTU, as far as dayone reads it: the number, and whether it is said that others read another one.
fn ours(text: &str) -> (Option<u64>, bool) {
    let document = format!(
        "apiVersion: nmstate.io/v1\nkind: NodeNetworkConfigurationPolicy\nmetadata: {{name: p}}\nspec:\n  nodeSelector: \
         {{kubernetes.io/hostname: a}}\n  desiredState:\n    interfaces:\n    - {{name: eth0, type: ethernet, mtu: {text}, ipv4: \
         {{enabled: true, dhcp: true}}}}\n"
    );
    let input = input::read(document.as_bytes());
    let nmstate = input.hosts[0].network.as_nmstate().unwrap();
    let number = match &nmstate.value["interfaces"][0]["mtu"] {
        Value::Number(number) => number.as_u64(),
        // As nmstate reads text.
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    (number, input.report.findings().iter().any(|finding| finding.code == "number-octal"))
}

/// What a reader makes of each text, and where dayone says something else than the two numbers do.
fn compare(reader: &str, theirs: &[Value]) {
    let texts = texts();
    assert_eq!(theirs.len(), texts.len());
    let mut said = 0;
    for (text, theirs) in texts.iter().zip(theirs) {
        let (ours, is_said) = ours(text);
        let differ = ours.zip(theirs.as_u64()).is_some_and(|(ours, theirs)| ours != theirs);
        assert_eq!(is_said, differ, "{text}: {ours:?}, {reader} {theirs:?}");
        said += usize::from(is_said);
    }
    assert!(said > 100, "{said}");
}

#[test]
fn numbers_are_told_that_yaml_1_1_reads_otherwise() {
    let list = texts().iter().map(|text| format!("- {text}\n")).collect::<String>();
    let script = "import json, sys, yaml; json.dump(yaml.safe_load(sys.argv[1]), sys.stdout)";
    let python = run_text(Command::new("/usr/bin/python3").args(["-c", script, &list]));
    compare("PyYAML", &serde_yaml::from_str::<Vec<Value>>(&python).unwrap());
    // kubectl reads with the same library as kustomize.
    let directory = tempfile::tempdir().unwrap();
    let object = format!("apiVersion: example.com/v1\nkind: Numbers\nmetadata: {{name: n}}\nspec:\n{list}");
    fs::write(directory.path().join("n.yaml"), object).unwrap();
    fs::write(directory.path().join("kustomization.yaml"), "resources: [n.yaml]\n").unwrap();
    let kustomize: Value =
        serde_yaml::from_str(&run_text(peer("kustomize").arg("build").arg(directory.path()))).unwrap();
    compare("kustomize", kustomize["spec"].as_sequence().unwrap());
}

/// Whether the kernel takes each of these arguments of `ip`, one after the other in a network of its own.
fn kernel(commands: &[&str]) -> Vec<bool> {
    let lines = commands.iter().map(|command| format!("ip {command} 2>/dev/null && echo yes || echo no"));
    let script = lines.collect::<Vec<_>>().join("\n");
    let answers = run_text(Command::new("unshare").args(["--map-root-user", "--net", "sh", "-c", &script]));
    answers.lines().map(|answer| answer == "yes").collect()
}

#[test]
fn mtus_are_refused_that_the_kernel_refuses() {
    for mtu in [15, 67, 68, 1500, 9000, 65_535, 65_536, 70_000] {
        let set = format!("link set v0 mtu {mtu}");
        let [true, taken] = kernel(&["link add v0 type veth peer name v1", &set])[..] else { panic!("no pair") };
        let document = format!(
            "interfaces: [{{name: v0, type: veth, mtu: {mtu}, veth: {{peer: v1}}, ipv4: {{enabled: true, dhcp: true}}}}]"
        );
        assert_eq!(codes(&document).contains(&"mtu-unusable"), !taken, "{mtu}");
    }
}

#[test]
fn pairs_are_refused_that_the_kernel_refuses() {
    for (first, second) in
        [(("v0", "v0"), None), (("v0", "v1"), Some(("v1", "v2"))), (("v0", "v1"), Some(("v2", "v3")))]
    {
        let pairs: Vec<_> = [first].into_iter().chain(second).collect();
        let commands = pairs.iter().map(|(name, peer)| format!("link add {name} type veth peer name {peer}"));
        let commands: Vec<String> = commands.collect();
        let taken = kernel(&commands.iter().map(String::as_str).collect::<Vec<_>>());
        let entry = |(name, peer): &(&str, &str)| format!("{{name: {name}, type: veth, veth: {{peer: {peer}}}}}");
        let document = format!("interfaces: [{}]", pairs.iter().map(entry).collect::<Vec<_>>().join(", "));
        assert_eq!(codes(&document).contains(&"veth-peer"), taken.contains(&false), "{document}");
    }
}

#[test]
fn routes_are_refused_whose_source_the_kernel_refuses() {
    let own = ["192.0.2.10/24", "2001:db8::10/64"];
    for (destination, gateway, source) in [
        ("10.0.0.0/8", "192.0.2.1", "192.0.2.10"),
        ("10.0.0.0/8", "192.0.2.1", "192.0.2.11"),
        ("10.0.0.0/8", "192.0.2.1", "127.0.0.1"),
        ("2001:db8:1::/48", "2001:db8::1", "2001:db8::10"),
        ("2001:db8:1::/48", "2001:db8::1", "2001:db8::11"),
    ] {
        let address = |own: &str| format!("address add {own} dev v0 nodad");
        let route = format!("route add {destination} via {gateway} dev v0 src {source}");
        let (first, second) = (address(own[0]), address(own[1]));
        let taken = kernel(&[
            "link set lo up",
            "link add v0 type veth peer name v1",
            "link set v1 up",
            "link set v0 up",
            &first,
            &second,
            &route,
        ]);
        assert_eq!(taken[..6], [true; 6], "{taken:?}");
        let document = format!(
            "interfaces:\n- name: v0\n  type: veth\n  veth: {{peer: v1}}\n  ipv4: {{enabled: true, address: [{{ip: 192.0.2.10, \
             prefix-length: 24}}]}}\n  ipv6: {{enabled: true, address: [{{ip: '2001:db8::10', prefix-length: 64}}]}}\nroutes: \
             {{config: [{{destination: '{destination}', next-hop-address: '{gateway}', next-hop-interface: v0, source: '{source}'}}]}}\n"
        );
        assert_eq!(codes(&document).contains(&"route-source-not-own"), !taken[6], "{destination} from {source}");
    }
}
