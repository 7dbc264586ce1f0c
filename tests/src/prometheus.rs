//! Metrics as Prometheus reads them, and what expressions name.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::peers::cache;

/// A metric with all its samples.
#[derive(Debug, Deserialize)]
pub struct Family {
    /// Without the suffixes of its samples.
    pub name: String,
    /// `counter`, `gauge`, `histogram`, `info`, …
    pub r#type: String,
    /// Such as `seconds`, or empty.
    pub unit: String,
    /// What it counts.
    pub help: String,
    /// Its values.
    pub samples: Vec<Sample>,
}

/// A value.
#[derive(Debug, Deserialize)]
pub struct Sample {
    /// The name in expressions.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The value.
    pub value: f64,
}

impl Family {
    /// The names of its samples in expressions, also before there are any.
    fn names(&self) -> Vec<String> {
        let suffixes: &[&str] = match self.r#type.as_str() {
            "counter" => &["_total"],
            "histogram" => &["_bucket", "_count", "_sum"],
            "info" => &["_info"],
            _ => &[""],
        };
        suffixes.iter().map(|suffix| format!("{}{suffix}", self.name)).collect()
    }
}

/// What Prometheus' own library reads in an answer of `/metrics`. It refuses what breaks the rules of the format.
pub fn families(text: &str) -> Vec<Family> {
    let python = cache().join("prometheus-client-0.26.0/bin/python");
    assert!(python.exists(), "{} is missing; run scripts/setup-peers.sh", python.display());
    let mut command = Command::new(python);
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/peers/openmetrics.py"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("python starts");
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The names that expressions can use.
pub fn sample_names(families: &[Family]) -> BTreeSet<String> {
    families.iter().flat_map(Family::names).collect()
}

/// A metric in an expression, with the labels that it is selected by.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Selector {
    /// The name of the metric.
    pub metric: String,
    /// The names of the labels.
    pub labels: BTreeSet<String>,
}

/// The metrics of dayone and of its process in an expression: their names are told from functions and labels by how they
/// begin.
pub fn selectors(expression: &str) -> BTreeSet<Selector> {
    let in_name = |character: char| character.is_ascii_alphanumeric() || character == '_' || character == ':';
    let mut found = BTreeSet::new();
    let mut rest = expression;
    while let Some(start) = rest.find(in_name) {
        let word = &rest[start..];
        let end = word.find(|character| !in_name(character)).unwrap_or(word.len());
        let (name, after) = word.split_at(end);
        rest = after;
        if name.starts_with("dayone_") || name.starts_with("process_") {
            let braces = after.strip_prefix('{').and_then(|inner| inner.split_once('}')).map_or("", |(inner, _)| inner);
            let labels = braces.split(',').filter_map(|one| Some(one.split_once(['=', '!'])?.0.trim().to_owned()));
            found.insert(Selector { metric: name.to_owned(), labels: labels.collect() });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_name_metrics_and_labels() {
        let found = selectors(
            r#"sum by (code) (rate(dayone_a_total{code=~"5..", job!="x"}[5m])) / process_b > dayone_a_total"#,
        );
        let selector = |metric: &str, labels: &[&str]| Selector {
            metric: metric.to_owned(),
            labels: labels.iter().map(ToString::to_string).collect(),
        };
        let expected =
            [selector("dayone_a_total", &["code", "job"]), selector("process_b", &[]), selector("dayone_a_total", &[])];
        assert_eq!(found, expected.into());
    }
}
