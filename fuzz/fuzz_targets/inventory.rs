//! Ansible inventories with their `group_vars` and `host_vars`: any text as any of the files.
#![no_main]

use hosts::input::{Limits, Text, read_all, read_within};
use libfuzzer_sys::fuzz_target;

/// The files beside the inventory, in turn.
const FILES: [&str; 8] = [
    "group_vars/all.yml",
    "host_vars/a.yml",
    "group_vars/web.yaml",
    "host_vars/b/1.yml",
    "host_vars/b/2.json",
    "group_vars/web",
    "host_vars/a.json",
    "group_vars/ungrouped/x.yml",
];
const FLEET: &str = "{apiVersion: dayone.metal3.io/v1alpha1, kind: HostFleet, metadata: {name: f}, spec: {hosts: \
    {inventoryFile: INVENTORY}, template: {role: '${v}', network: {interfaces: []}}}}";

fuzz_target!(|data: &[u8]| {
    let Some((kind, rest)) = data.split_first() else { return };
    let inventory = ["hosts", "t.ini", "t.yaml", "t.json"][usize::from(*kind % 4)];
    let fleet = FLEET.replace("INVENTORY", inventory);
    let mut parts = rest.split(|byte| *byte == 0);
    let table = parts.next().unwrap_or_default();
    let mut texts =
        vec![Text { name: Some("fleet.yaml"), text: fleet.as_bytes() }, Text { name: Some(inventory), text: table }];
    texts.extend(FILES.into_iter().zip(parts).map(|(name, text)| Text { name: Some(name), text }));
    let input = read_all(texts.iter().copied());
    assert!(!input.hosts.is_empty() || !input.flawed.is_empty() || input.report.has_errors());
    for host in &input.hosts {
        let role = host.role.as_deref().unwrap_or_default();
        assert!(!role.contains(char::is_control), "{role:?}");
    }
    // A shell may give files in any order.
    texts[1..].reverse();
    let again = read_all(texts.iter().copied());
    assert_eq!(again.hosts, input.hosts);
    assert_eq!(again.report.has_errors(), input.report.has_errors());
    // Files of a directory are read within larger limits, and no other way.
    let from_files = read_within(Limits::FILES, texts.iter().copied());
    assert!(input.report.has_errors() || from_files.hosts == input.hosts);
});
