//! Every code of a finding is explained, and `docs/reference/findings.md` says so.

#![allow(clippy::format_push_string)] // Plainer, and fast enough for tests.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_yaml::Value;

use hosts::{input, network};
use vocabulary::report::{Explanation, NetworkFormat, explain, explanations, fix_in};

/// The sources of every crate that makes findings, but for the catalogue and for tests.
fn sources() -> Vec<(PathBuf, String)> {
    fn walk(directory: &Path, found: &mut Vec<(PathBuf, String)>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() {
                if !matches!(name, "catalogue" | "tests") {
                    walk(&path, found);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") && name != "tests.rs" {
                let text = fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap().to_owned();
                found.push((path, code));
            }
        }
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for crate_ in ["hosts", "imagelib", "server", "vocabulary"] {
        walk(&here.join("..").join(crate_).join("src"), &mut found);
    }
    found
}

/// The texts in code that stand where a finding's code does: right behind `call`, as the argument `number`.
fn codes<'a>(text: &'a str, call: &str, number: usize) -> Vec<&'a str> {
    let behind = text.match_indices(call).filter_map(|(at, _)| text.get(at + call.len()..));
    let arguments = behind.filter_map(|rest| rest.split(',').nth(number));
    let literals = arguments.filter_map(|argument| argument.trim().strip_prefix('"')?.split('"').next());
    literals.filter(|code| code.contains('-') && code.chars().all(|c| c.is_ascii_lowercase() || c == '-')).collect()
}

#[test]
fn every_code_in_the_sources_is_explained() {
    let mut found = 0;
    for (path, text) in sources() {
        let calls = [
            (".error(", 0),
            ("report.refuse(", 0),
            (".warning(", 0),
            (".warn(", 0),
            ("Problem::new(", 0),
            (".wrong(", 1),
            (".add(", 1),
        ];
        for (call, number) in calls {
            for code in codes(&text, call, number) {
                found += 1;
                assert!(explain(code).is_some(), "{code} in {} has no entry in report/catalogue", path.display());
            }
        }
    }
    assert!(found > 80, "{found}");
}

#[test]
fn every_explanation_is_of_findings_that_are_made() {
    let sources = sources();
    let between_quotes: BTreeSet<&str> = sources.iter().flat_map(|(_, text)| text.split('"')).collect();
    for explanation in explanations() {
        assert!(between_quotes.contains(explanation.code), "nothing makes {}", explanation.code);
    }
}

#[test]
fn explanations_are_told_apart_and_read_alike() {
    let all = explanations();
    let different: BTreeSet<&str> = all.iter().map(|explanation| explanation.code).collect();
    assert_eq!(different.len(), all.len());
    for Explanation { code, title, effect, fix, .. } in all {
        assert!(!code.is_empty() && code.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
        assert!(!title.ends_with('.') && title.chars().count() <= 80, "{code}: {title}");
        let in_formats = NetworkFormat::ALL.into_iter().filter_map(|format| fix_in(code, format));
        for sentence in [*effect, *fix].into_iter().chain(in_formats) {
            assert!(sentence.len() > 8 && !sentence.contains('\n') && !sentence.contains("  "), "{code}: {sentence}");
        }
        assert!(effect.ends_with('.'), "{code}: {effect}");
    }
}

/// Examples show what is right: those that are whole hosts have no findings.
#[test]
fn examples_are_right() {
    let mut hosts = 0;
    for Explanation { code, example, .. } in explanations() {
        let Some(example) = example else { continue };
        assert!(example.ends_with('\n'), "{code}");
        let documents: Vec<Value> = serde_yaml::Deserializer::from_str(example)
            .map(|document| serde::Deserialize::deserialize(document).unwrap())
            .collect();
        assert!(!documents.is_empty());
        if !example.contains("interfaces:") || example.starts_with("stringData") {
            continue;
        }
        let mut input = input::read(example.as_bytes());
        for host in &input.hosts {
            input.report.append(network::convert(host).1);
            hosts += 1;
        }
        assert!(input.report.is_empty(), "{code}: {:?}", input.report.findings());
    }
    assert!(hosts > 5, "{hosts}");
}

/// `docs/reference/findings.md` is made of the catalogue: `UPDATE_GOLDEN=1` writes it anew.
#[test]
fn the_page_of_findings_is_the_catalogue() {
    let mut page = String::from(
        "# Findings\n\nThe meaning of each code. `dayone explain CODE` prints the same text; \
         `GET /v1/explanations/{code}` has only the fix for NMState. [Inputs](../inputs.md#how-findings-read) explains how to read a finding. A test generates this page from \
         `report/catalogue` (`UPDATE_GOLDEN=1`).\n",
    );
    for Explanation { code, title, effect, fix, example } in explanations() {
        page += &format!("\n## {code}\n\nFound: {title}.\n\nEffect: {effect}\n\nFix: {fix}\n");
        for format in NetworkFormat::ALL {
            if let Some(fix) = fix_in(code, format) {
                page += &format!("\nFix in {}: {fix}\n", format.name());
            }
        }
        page += &example.map(|example| format!("\n```yaml\n{example}```\n")).unwrap_or_default();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/findings.md");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == page,
        "docs/reference/findings.md is not up to date: UPDATE_GOLDEN=1 cargo nextest run --workspace catalogue"
    );
}
