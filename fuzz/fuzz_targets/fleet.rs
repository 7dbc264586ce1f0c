//! Fleets: any template text, and any table or inventory beside it.

#![no_main]

use hosts::input::{Text, read_all};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    // The first byte says what the table is; a zero byte ends the template.
    let Some((kind, rest)) = data.split_first() else { return };
    let (template, table) = match rest.iter().position(|byte| *byte == 0) {
        Some(end) => (&rest[..end], &rest[end + 1..]),
        None => (rest, &b"name,v\na,1\n"[..]),
    };
    let (key, name) = [
        ("csvFile", "t.csv"),
        ("inventoryFile", "t.ini"),
        ("inventoryFile", "t.yaml"),
        ("csvFile", "t.tsv"),
        ("xlsxFile", "t.xlsx"),
    ][usize::from(*kind % 5)];
    // On one line of a quoted text, so that the document around it stays one.
    let role: String =
        String::from_utf8_lossy(template).chars().map(|c| if c.is_control() || c == '\'' { ' ' } else { c }).collect();
    let fleet = format!(
        "{{apiVersion: dayone.metal3.io/v1alpha1, kind: HostFleet, metadata: {{name: f}}, spec: {{hosts: {{{key}: {name}}}, \
         template: {{role: '{role}', network: {{interfaces: []}}}}}}}}"
    );
    let read = |table: &[u8]| {
        read_all([Text { name: Some("fleet.yaml"), text: fleet.as_bytes() }, Text { name: Some(name), text: table }])
    };
    let input = read(table);
    // Which character separates the columns makes no difference, if the table has no other one of them. The line of names tells it.
    let is_blank = |line: &[u8]| line.iter().all(|byte| byte.is_ascii_whitespace() || *byte == b';');
    let mut lines = table.split(|byte| matches!(byte, b'\n' | b'\r')).filter(|line| !line.starts_with(b"#"));
    let has_semicolons = lines.find(|line| !is_blank(line)).is_some_and(|names| names.contains(&b';'));
    let is_plain = table.is_ascii() && !table.iter().any(|byte| matches!(byte, b'"' | b',' | b'\t'));
    if name == "t.csv" && has_semicolons && is_plain {
        let with_commas: Vec<u8> = table.iter().map(|byte| if *byte == b';' { b',' } else { *byte }).collect();
        assert_eq!(read(&with_commas).hosts, input.hosts);
    }
    for host in &input.hosts {
        let role = host.role.as_deref().unwrap_or_default();
        assert!(!role.contains(char::is_control), "{role:?}");
    }
});
