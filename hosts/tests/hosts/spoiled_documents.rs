//! Documents of every shape with something wrong in them, through all that dayone does with documents: there are hosts or
//! there is an error, every finding is somewhere, and it comes to an end.

use std::fs;
use std::path::{Path, PathBuf};

use hosts::every_host::convert;
use hosts::input::{self, Text};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde::Deserialize;
use serde_yaml::Value;

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "yaml" || extension == "json") {
            let name = path.to_string_lossy();
            if ![".hosts.json", ".cluster.json"].iter().any(|end| name.ends_with(end)) {
                found.push(path);
            }
        }
    }
}

/// The documents of `fixtures/inputs` and `fixtures/scenarios`.
fn documents() -> Vec<String> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    let mut paths = Vec::new();
    for directory in ["inputs", "scenarios"] {
        files(&fixtures.join(directory), &mut paths);
    }
    paths.sort();
    let texts: Vec<String> = paths.iter().filter_map(|path| fs::read_to_string(path).ok()).collect();
    assert!(texts.len() > 200, "{}", texts.len());
    // Those that are there for their size take their time, whatever is changed in them.
    texts.into_iter().filter(|text| text.len() < 16 << 10).collect()
}

/// What goes wrong when people edit a text.
#[derive(Debug, Clone)]
enum Slip {
    Cut,
    DropLines(usize),
    RepeatLines(usize),
    SwapLines(Index),
    Indent(usize),
    /// What a key has for its value.
    Value(&'static str),
    DropNode,
    RepeatNode,
    SwapNodes(Index),
    Node(&'static str),
}

fn slip() -> impl Strategy<Value = Slip> {
    let values = select(vec![
        "",
        "0",
        "-1",
        "true",
        "null",
        "[]",
        "{}",
        "[{}]",
        "1.5",
        "text",
        "'2001:db8::1'",
        "!x y",
        "*a",
        "|",
    ]);
    let nodes = select(vec!["~", "0", "-1", "true", "[]", "{}", "[{}]", "1.5", "text", "10.0.0.1", "4294967296", "''"]);
    prop_oneof![
        1 => Just(Slip::Cut),
        1 => (1..5_usize).prop_map(Slip::DropLines),
        1 => (1..5_usize).prop_map(Slip::RepeatLines),
        1 => any::<Index>().prop_map(Slip::SwapLines),
        1 => (1..4_usize).prop_map(Slip::Indent),
        2 => values.prop_map(Slip::Value),
        2 => Just(Slip::DropNode),
        2 => Just(Slip::RepeatNode),
        2 => any::<Index>().prop_map(Slip::SwapNodes),
        4 => nodes.prop_map(Slip::Node),
    ]
}

fn apply(text: &str, slip: &Slip, place: Index) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.is_empty() {
        return String::new();
    }
    let at = place.index(lines.len());
    match slip {
        Slip::Cut => {
            let ends: Vec<usize> = text.char_indices().map(|(index, _)| index).collect();
            return text[..ends[place.index(ends.len())]].to_owned();
        }
        Slip::DropLines(count) => drop(lines.drain(at..(at + count).min(lines.len()))),
        Slip::RepeatLines(count) => {
            let some = lines[at..(at + count).min(lines.len())].to_vec();
            lines.splice(at..at, some);
        }
        Slip::SwapLines(other) => {
            let other = other.index(lines.len());
            lines.swap(at, other);
        }
        Slip::Indent(by) => lines[at].insert_str(0, &" ".repeat(*by)),
        Slip::Value(value) => {
            if let Some((key, _)) = lines[at].split_once(": ") {
                lines[at] = format!("{key}: {value}");
            }
        }
        _ => return apply_to_nodes(text, slip, place),
    }
    lines.join("\n") + "\n"
}

fn apply_to_nodes(text: &str, slip: &Slip, place: Index) -> String {
    let documents: Result<Vec<Value>, _> = serde_yaml::Deserializer::from_str(text).map(Value::deserialize).collect();
    let Ok(documents) = documents else { return text.to_owned() };
    let mut all = Value::Sequence(documents);
    let count = count(&all);
    if count < 2 {
        return text.to_owned();
    }
    let at = 1 + place.index(count - 1);
    let copy = |all: &mut Value, at: usize| {
        let mut copy = Value::Null;
        visit(all, &mut { at }, &mut |value| copy = value.clone());
        copy
    };
    match slip {
        Slip::SwapNodes(other) => {
            let value = copy(&mut all, 1 + other.index(count - 1));
            visit(&mut all, &mut { at }, &mut |old| *old = value.clone());
        }
        Slip::Node(value) => {
            visit(&mut all, &mut { at }, &mut |old| *old = serde_yaml::from_str(value).unwrap());
        }
        _ => {
            visit(&mut all, &mut { at }, &mut |value| match (value, slip) {
                (Value::Sequence(list), Slip::DropNode) => drop(list.pop()),
                (Value::Sequence(list), _) => list.extend(list.last().cloned()),
                (Value::Mapping(map), Slip::DropNode) => {
                    let first = map.keys().next().cloned();
                    first.and_then(|key| map.shift_remove(&key));
                }
                (value, Slip::RepeatNode) => *value = Value::Sequence(vec![value.clone(); 2]),
                (value, _) => *value = Value::Null,
            });
        }
    }
    let documents = all.as_sequence().unwrap().iter();
    documents.map(|document| format!("---\n{}", serde_yaml::to_string(document).unwrap())).collect::<Vec<_>>().concat()
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Sequence(list) => list.iter().map(count).sum(),
        Value::Mapping(map) => map.values().map(count).sum(),
        _ => 0,
    }
}

/// Calls `change` for the value that comes as number `place` in a walk over all of them.
fn visit(value: &mut Value, place: &mut usize, change: &mut dyn FnMut(&mut Value)) -> bool {
    if *place == 0 {
        change(value);
        return true;
    }
    *place -= 1;
    match value {
        Value::Sequence(list) => list.iter_mut().any(|value| visit(value, place, change)),
        Value::Mapping(map) => map.values_mut().any(|value| visit(value, place, change)),
        _ => false,
    }
}

/// What a document of this size may be made into: aliases are no way to make much of little.
const MAX_BYTES: usize = 1 << 20;

proptest! {
    #![proptest_config(ProptestConfig { cases: 4 * ProptestConfig::default().cases, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_slip_gives_hosts_or_findings(
        document in select(documents()),
        slips in prop::collection::vec((slip(), any::<Index>()), 1..4),
    ) {
        let text = slips.iter().fold(document, |text, (slip, place)| apply(&text, slip, *place));
        let input = input::read(text.as_bytes());
        prop_assert!(!input.hosts.is_empty() || !input.report.is_empty());
        let hosts = input.hosts.len();
        let mut converted = convert(input);
        prop_assert_eq!(converted.hosts.len(), hosts);
        prop_assert!(converted.hosts.iter().all(|(_, network)| network.is_some()) || converted.report.has_errors());
        input::locate([Text { name: None, text: text.as_bytes() }], &mut converted.report);
        let mut size = 0;
        for finding in converted.report.findings() {
            let line = finding.to_string();
            prop_assert!(!line.contains(char::is_control), "{}", line);
            size += line.len();
            if let Some(position) = &finding.position {
                prop_assert!(position.line >= 1 && position.line <= text.lines().count().max(1) + 1, "{:?}", finding);
            }
        }
        prop_assert!(size < MAX_BYTES, "{} bytes of findings", size);
    }
}
