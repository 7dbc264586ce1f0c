//! Against `serde_yaml`, which reads documents for nmstate, and which stands on libyaml.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde::Deserialize as _;
use serde_yaml::Mapping;
use vocabulary::report::LineColumn;

use super::*;

fn read(text: &str) -> Result<Vec<Value>, Problem> {
    let documents = values::documents(readable(text.as_bytes())?, &mut Budget::within(Limits::FILES))?;
    Ok(documents.into_iter().map(|document| document.value).collect())
}

/// What `serde_yaml` makes of the documents; none where it refuses one.
fn peer(text: &str) -> Option<Vec<Value>> {
    let documents: Result<Vec<_>, _> = serde_yaml::Deserializer::from_str(text).map(Value::deserialize).collect();
    Some(documents.ok()?.into_iter().filter(|value| !value.is_null()).map(merged).collect())
}

/// Merge keys resolved, and tags without what they are of, from the inside out.
fn merged(value: Value) -> Value {
    match value {
        Value::Mapping(members) => {
            mapping::merged(members.into_iter().map(|(key, value)| (merged(key), merged(value))).collect::<Mapping>())
        }
        Value::Sequence(items) => items.into_iter().map(merged).collect::<Vec<_>>().into(),
        Value::Tagged(tagged) => match (tagged.tag.to_string().trim_start_matches('!'), &tagged.value) {
            (invalid::UNSAFE, Value::String(text)) => InvalidValue::mark_unsafe(text),
            (invalid::UNSAFE, Value::Number(number)) => InvalidValue::mark_unsafe(&number.to_string()),
            (tag, _) => InvalidValue::UnknownTag(tag.to_owned()).mark(),
        },
        other => other,
    }
}

fn has_invalid(value: &Value) -> bool {
    match value {
        Value::Mapping(members) => members.iter().any(|(key, value)| has_invalid(key) || has_invalid(value)),
        Value::Sequence(items) => items.iter().any(has_invalid),
        other => InvalidValue::of(other).is_some(),
    }
}

/// All YAML below a directory.
fn texts(directory: &Path, texts: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            self::texts(&path, texts);
        } else if path.extension().is_some_and(|end| end == "yaml" || end == "yml") {
            texts.extend(fs::read_to_string(&path).ok().map(|text| (path.display().to_string(), text)));
        }
    }
}

#[test]
fn documents_of_all_fixtures_are_what_they_are_to_nmstate() {
    let mut all = Vec::new();
    texts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures"), &mut all);
    assert!(all.len() > 500, "{}", all.len());
    for (path, text) in all {
        let Ok(text) = readable(text.as_bytes()) else { continue };
        match (read(text), peer(text)) {
            (Ok(ours), Some(theirs)) => assert_eq!(ours, theirs, "{path}"),
            // Keys that stand twice, and numbers beyond 64 bits, are flaws of their values here.
            (Ok(ours), None) => assert!(ours.iter().any(has_invalid), "{path}"),
            (Err(_), None) => {}
            (Err(problem), Some(_)) => panic!("{path}: {problem}"),
        }
    }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "how long it takes is the question")]
fn what_costs_other_parsers_much_is_read_or_refused_in_time() {
    let begun = Instant::now();
    for bomb in [
        "[",
        "{a: ",
        "- [\n",
        "{\"]\": ",
        "%TAG !a! b\n",
        "{a \"b: \"]]\", c \"d: [ \n",
        "- ",
        "? ",
        "a: ",
        "!a ",
        "&a ",
        "*a ",
        "\"",
        "'",
        "|\n",
        "# \n",
        "- !!a\n",
        "[a, ",
        "{? ",
        "---\n",
        "...\n",
        "\u{85}",
        "a: b: ",
    ] {
        let text = bomb.repeat(300_000 / bomb.len());
        let _: Result<_, _> = read(&text);
        let nested = format!("a: {text}");
        let _: Result<_, _> = read(&nested);
    }
    // Each of them is read in milliseconds; the parser's slowest takes a second where nothing is optimised.
    assert!(begun.elapsed() < Duration::from_mins(1), "{:?}", begun.elapsed());
}

#[test]
fn aliases_are_counted_before_they_are_copied() {
    let level =
        |level: usize| format!("a{}: &a{} [{}]\n", level + 1, level + 1, vec![format!("*a{level}"); 10].join(", "));
    let text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned() + &(0..19).map(level).collect::<String>();
    let problem = values::documents(&text, &mut Budget::within(Limits::REQUEST)).unwrap_err();
    assert_eq!(problem.code, "input-too-large");
    let problem = read("a: &a [1, *a]\n").unwrap_err();
    assert_eq!(problem.to_string(), "is not YAML: an alias is inside the value that it refers to (line 1, column 11)");
    let deep = format!("{}x{}", "[".repeat(100), "]".repeat(100));
    assert!(read(&format!("- &a {deep}\n- [*a]\n")).is_ok());
    let problem = read(&format!("- &a {deep}\n- {}*a{}\n", "[".repeat(50), "]".repeat(50))).unwrap_err();
    assert_eq!(problem.message, "is nested more than 128 levels deep");
}

#[test]
fn a_block_that_ends_the_text_gets_no_line_end() {
    for (text, value) in [
        ("- |\n  k", "k"),
        ("- |\n  k: ", "k: "),
        ("- |\n  k\n", "k\n"),
        ("- |\n  k\n  ", "k\n"),
        ("- |\n k\n  ", "k\n "),
        ("- |+\n  k\n\n", "k\n\n"),
        ("- |-\n  k", "k"),
        ("- >\n  a\n  b", "a b"),
        ("- >\n  a\n  b\n", "a b\n"),
        ("- |\n  k\n- |\n  l", "k\n"),
    ] {
        let ours = read(text).unwrap();
        assert_eq!(ours[0][0], value, "{text:?}");
        assert_eq!(Some(ours), peer(text), "{text:?}");
    }
}

#[test]
fn surrogate_pairs_are_read_and_long_keys_only_in_json() {
    assert_eq!(read(r#"a: "\uD834\uDD1E""#).unwrap()[0]["a"], "𝄞");
    assert!(peer(r#"a: "\uD834\uDD1E""#).is_none());
    let long = "k".repeat(2000);
    let problem = read(&format!("{long}: 1\n")).unwrap_err();
    assert_eq!((problem.code, problem.position), ("invalid-yaml", Some(LineColumn { line: 1, column: 2001 })));
    let json = format!("{{\"{long}\": 1}}");
    assert_eq!(documents(json.as_bytes(), &mut Budget::within(Limits::FILES)).unwrap()[0].value[&*long], 1);
}

/// nmstate reads YAML 1.1, in which these end a line.
#[test]
fn characters_that_end_a_line_for_some_readers_are_refused() {
    for (code, c) in [("0085", '\u{85}'), ("2028", '\u{2028}'), ("2029", '\u{2029}')] {
        for text in [format!("c: \n  1{c}5: "), format!("# a{c}b: 1"), format!("a: \"b{c}c\"")] {
            let problem = documents(text.as_bytes(), &mut Budget::within(Limits::FILES)).unwrap_err();
            assert_eq!(problem.code, "invalid-yaml", "{text:?}");
            let escape = format!("write it as \"\\u{code}\" in double quotes");
            assert!(problem.message.contains(&escape) && problem.position.is_some(), "{}", problem.message);
        }
        let escaped = format!("a: \"b\\u{code}c\"");
        let read = documents(escaped.as_bytes(), &mut Budget::within(Limits::FILES)).unwrap();
        assert_eq!(read[0].value["a"], format!("b{c}c"));
        assert_eq!(peer(&escaped).unwrap()[0]["a"], format!("b{c}c"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80 * ProptestConfig::default().cases))]

    /// What both read is the same to both. Where one refuses, a user is told; no text means two things.
    #[test]
    fn any_text_means_what_it_means_to_nmstate(
        text in "(a|b|c: |- |  |\n|\n  |\n- |k: |[|]|\\{|\\}|, |: |#|'|\"|&x |\\*x|<<: |!t |\\||>|%|---\n|~|0|1.5|true|\\\\n|é| ){0,14}"
    ) {
        if let (Ok(ours), Some(theirs)) = (read(&text), peer(&text)) {
            // A document that is text alone is refused, whatever it says, and whatever the documents beside it are.
            let is_read = |value: &&Value| value.is_mapping() || value.is_sequence();
            let is_same = ours == theirs || ours.iter().filter(is_read).eq(theirs.iter().filter(is_read));
            prop_assert!(is_same || ours.iter().any(has_invalid), "{:?}: {:?} {:?}", text, ours, theirs);
        }
    }
}
