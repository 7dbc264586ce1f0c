use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use proptest::sample::select;

use super::super::{Budget, Limits, divided};
use super::each;
use crate::input::Text;
use crate::input::documents::Documents;
use crate::input::shapes::Scope;
use vocabulary::report::Report;

fn limits() -> impl Strategy<Value = Limits> {
    let few = (0..40_usize, 0..200_usize).prop_map(|(values, bytes)| Limits { values, bytes, ..Limits::FILES });
    prop_oneof![Just(Limits::REQUEST), few]
}

/// What begins, ends and divides documents, what only looks so, and what is wrong.
fn stream() -> impl Strategy<Value = String> {
    let line = select(vec![
        "---",
        "---",
        "---",
        "---",
        "--- # again",
        "--- {a: [1, 2]}",
        "---\ta: b",
        "--- |",
        "--- >-",
        "--- 'x",
        "---a",
        "----",
        " ---",
        "  ---",
        "...",
        "... # end",
        ".",
        "%YAML 1.1",
        "%TAG ! tag:x,2000:",
        "%",
        "# a comment",
        "#",
        "",
        "a: 1",
        "b: {c: d, e: [f]}",
        "k: |",
        "l: >",
        "m: |+",
        "  text",
        "    more",
        "- x",
        "- - y",
        "plain",
        "'quoted",
        "\"",
        "end'",
        "n: &n 1",
        "o: *n",
        "*n",
        "&n",
        "<<: {a: 1}",
        "? q",
        ": r",
        "~",
        "null",
        "!!str",
        "!x y",
        "[",
        "]",
        "{",
        "}",
        "a: [",
        "a: 'b",
        "\u{feff}",
        "\u{feff}---",
        "\u{feff}a: 1",
        "\u{85}",
        "p: \u{2028}---",
        "r: 1\r---",
        "\t",
        "s:\t1",
        "\u{1}",
        "é: ü",
    ]);
    let lines = prop::collection::vec((line, select(vec!["\n", "\n", "\n", "\n", "\r\n", "\r"])), 0..24);
    let lines = lines.prop_map(|lines| lines.iter().fold(String::new(), |text, (line, end)| text + line + end));
    prop_oneof![
        lines.clone(),
        lines.prop_map(|text| text.replace("\r\n", "\n").replace('\n', "\r\n")),
        "[-.%#a:' \\[|\n]{0,40}"
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20 * ProptestConfig::default().cases))]

    /// A stream that several read is what one reads: the documents, what is wrong with them and where, and what is left to
    /// read.
    #[test]
    fn a_divided_stream_is_the_stream(text in stream(), limits in limits(), size in 1..30_usize) {
        let (mut apart, mut in_turn) = (Budget::within(limits), Budget::within(limits));
        let by_many = divided(&text, size, &mut apart);
        prop_assert_eq!(by_many, divided(&text, usize::MAX, &mut in_turn), "{:?}", text);
        prop_assert_eq!(apart, in_turn, "{:?}", text);
    }
}

/// Hosts whose Secrets hold more or less text, are shared, are missing or are no NMState.
fn hosts() -> impl Strategy<Value = String> {
    let secret =
        (0..6_usize, select(vec!["{interfaces: []}", "{interfaces: [}", "{a: b}", "[]", "", "{dns-resolver: {}}"]));
    let host = (0..8_usize, any::<bool>());
    (prop::collection::vec(secret, 0..6), prop::collection::vec(host, 1..12)).prop_map(|(secrets, hosts)| {
        let mut text = String::new();
        for (number, (items, network)) in secrets.iter().enumerate() {
            let comments = "    # nothing\n".repeat(*items);
            write!(text, "---\napiVersion: v1\nkind: Secret\nmetadata: {{name: s{number}}}\nstringData:\n  nmstate: |\n{comments}    {network}\n")
                .unwrap();
        }
        for (number, (secret, named)) in hosts.iter().enumerate() {
            let spec = if *named { format!("{{preprovisioningNetworkDataName: s{secret}}}") } else { "{}".to_owned() };
            write!(text, "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: h{number}}}\nspec: {spec}\n")
                .unwrap();
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4 * ProptestConfig::default().cases))]

    /// Hosts that several read are what one reads, finding by finding, also where not all can be read.
    #[test]
    fn hosts_read_apart_are_those_read_in_turn(text in hosts(), bytes in prop::option::of(0..600_usize), at_once in 1..4_usize) {
        let mut budget = Budget::within(Limits::REQUEST);
        let documents = Documents::read([Text { name: None, text: text.as_bytes() }], &mut budget, &mut Report::new()).unwrap();
        let budget = Budget::within(bytes.map_or(Limits::REQUEST, |bytes| Limits { bytes, ..Limits::REQUEST }));
        let read = |at_once| {
            let mut budget = budget.clone();
            let (found, reports): (Vec<_>, Vec<_>) =
                documents.read_hosts(Scope::Hosts, at_once, &mut budget).into_iter().unzip();
            let parts = found.into_iter().flat_map(|found| found.parts);
            let hosts: Vec<_> = parts.map(|part| part.finish(&mut Report::new())).collect();
            (hosts, reports, budget)
        };
        prop_assert_eq!(read(at_once), read(usize::MAX), "{}", text);
    }
}

#[test]
fn only_parts_that_need_more_than_their_share_are_read_again() {
    let limits = Limits { bytes: 100, ..Limits::REQUEST };
    let read = |sizes: &[usize]| {
        let (mut budget, mut in_turn, reads) = (Budget::within(limits), Budget::within(limits), AtomicUsize::new(0));
        let results = each(sizes, 1, &mut budget, |size, budget| {
            reads.fetch_add(1, Ordering::Relaxed);
            budget.take_bytes(*size).is_ok()
        });
        let expected: Vec<bool> = sizes.iter().map(|size| in_turn.take_bytes(*size).is_ok()).collect();
        assert_eq!((&results, &budget), (&expected, &in_turn), "{sizes:?}");
        (results, reads.into_inner())
    };
    assert_eq!(read(&[20, 25, 10, 0]), (vec![true; 4], 4));
    // One large item beside small ones. The second one leaves less than a share, so those behind it are read again, too.
    assert_eq!(read(&[1, 60, 1, 1]), (vec![true; 4], 5));
    assert_eq!(read(&[1, 90, 1, 1]), (vec![true; 4], 7));
    assert_eq!(read(&[90, 90]), (vec![true, false], 4));
    assert_eq!(read(&[1]), (vec![true], 1));
}
