use proptest::prelude::*;
use serde_yaml::Value;

use super::super::{Budget, Document, Limits, documents};
use super::*;
use crate::nmstate_document::number;

/// The places that are found in a document; none where it is none.
fn found(text: &str) -> Option<(Mapping, Vec<String>)> {
    let mut documents = documents(text.as_bytes(), &mut Budget::within(Limits::REQUEST)).ok()?;
    let Document { value: Value::Mapping(mapping), ambiguous } = documents.pop()? else { return None };
    let mut report = Report::new();
    check(&mapping, &ambiguous, &DocumentPath::root(), &mut report);
    Some((mapping, report.findings().iter().map(|finding| finding.path.to_string()).collect()))
}

fn places(text: &str) -> Vec<String> {
    found(text).unwrap_or_else(|| panic!("{text}")).1
}

/// The integer that YAML 1.1 makes of a text without quotes (<https://yaml.org/type/int.html>), but for negative ones.
fn old_integer(text: &str) -> Option<u64> {
    let digits = text.strip_prefix('+').unwrap_or(text);
    let of = |digits: &str, radix: u32, begins: &[char]| {
        let is_one = digits.starts_with(begins) && digits.chars().all(|c| c == '_' || c.is_digit(radix));
        let digits = digits.replace('_', "");
        is_one.then(|| u64::from_str_radix(if digits.is_empty() { "0" } else { &digits }, radix).ok())?
    };
    let any: Vec<char> = "0123456789abcdefABCDEF_".chars().collect();
    if let Some(binary) = digits.strip_prefix("0b") {
        return of(binary, 2, &any);
    }
    if let Some(hexadecimal) = digits.strip_prefix("0x") {
        return of(hexadecimal, 16, &any);
    }
    if digits == "0" {
        return Some(0);
    }
    if let Some(octal) = digits.strip_prefix('0') {
        return of(octal, 8, &any);
    }
    let not_zero: Vec<char> = "123456789".chars().collect();
    if let Some((minutes, seconds)) = digits.split_once(':') {
        let seconds: u64 = seconds.parse().ok().filter(|seconds| *seconds < 60)?;
        return Some(of(minutes, 10, &not_zero)? * 60 + seconds);
    }
    of(digits, 10, &not_zero)
}

#[test]
fn numbers_are_sorted() {
    assert!(NUMBERS.is_sorted());
}

#[test]
fn they_are_found_wherever_they_stand() {
    for (text, wanted) in [
        ("mtu: 010", vec!["mtu"]),
        (
            "{interfaces: [{mtu: 024, vlan: {id: +021}}, {mtu: '024'}]}",
            vec!["interfaces[0].mtu", "interfaces[0].vlan.id"],
        ),
        ("a:\n- {mtu: &m 010}\n- {mtu: *m}", vec!["a[0].mtu", "a[1].mtu"]),
        ("x: &x {mtu: 010, id: 011}\na: {<<: *x, id: 9}", vec!["x.mtu", "x.id", "a.mtu"]),
        ("a: {<<: [{mtu: 010}, {mtu: 9, id: 011}]}", vec!["a.mtu", "a.id"]),
        ("a: {mtu: !!str 010, id: \"010\"}", vec![]),
        ("a: {mtu: 018, id: 0o10, metric: 07, 010: 1, priority: 0x10}", vec![]),
        ("a: {name: 010, password: 0123, defaultMode: 0644}", vec![]),
    ] {
        assert_eq!(places(text), wanted, "{text}");
    }
    assert_eq!(places("mtu: |-\n  010\nid: >-\n  010\nmetric: 010"), ["metric"]);
}

proptest! {
    /// Whatever stands there: something is said exactly where YAML 1.1 and dayone read different numbers.
    #[test]
    fn it_is_said_where_readers_differ(
        text in prop_oneof!["[+-]?0[0-9]{0,5}", "[+-]?[0-9xob_:a-f.]{1,6}", "0[0-7]{18,24}", "[ -~]{1,8}"],
        quoted in any::<bool>(),
    ) {
        let document = if quoted { format!("mtu: '{}'\n", text.replace('\'', "''")) } else { format!("mtu: {text}\n") };
        if let Some((mapping, places)) = found(&document) {
            let ours = number(mapping.get("mtu"));
            let theirs = if quoted { ours } else { old_integer(text.trim()) };
            let differ = ours.zip(theirs).is_some_and(|(ours, theirs)| ours != theirs);
            prop_assert_eq!(places.len() == 1, differ, "{} {:?} {:?} {:?}", document, ours, theirs, places);
        }
    }
}
