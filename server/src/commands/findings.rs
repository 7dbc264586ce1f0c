//! Findings as text.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use vocabulary::report::{Finding, Position, Report, Severity, explain};

use super::terminal::{ERROR, HEADING, WARNING, plain};

/// Formats one line for each finding, as compilers do: file, line and column, severity, message with its path, code.
pub(super) fn as_text(report: &Report) -> String {
    sorted(report).into_iter().map(finding_line).collect()
}

/// Formats findings like [`as_text`], with the effect and the fix below the first finding of each code. Documents in several
/// formats may have several fixes for a code.
pub(super) fn in_full(report: &Report) -> String {
    let mut text = String::new();
    let mut explained = BTreeSet::new();
    for finding in sorted(report) {
        text.push_str(&finding_line(finding));
        if let Some(explanation) = explain(finding.code).filter(|_| explained.insert((finding.code, finding.fix()))) {
            // Writing to a String does not fail.
            let _ = writeln!(text, "    effect: {}", explanation.effect);
            let _ = writeln!(text, "    fix:    {}", finding.fix());
        }
    }
    text
}

/// Sorts findings by file, line and column. Findings without a position come last, in their order.
fn sorted(report: &Report) -> Vec<&Finding> {
    let mut findings: Vec<&Finding> = report.findings().iter().collect();
    findings.sort_by_key(|finding| finding.position.as_ref().map_or((true, None), |position| (false, Some(position))));
    findings
}

fn finding_line(finding: &Finding) -> String {
    let Finding { severity, code, position, .. } = finding;
    line(&severity.to_string(), position.as_ref(), &finding.to_string(), code)
}

/// Formats a finding, also one from a server.
pub(super) fn line(severity: &str, position: Option<&Position>, sentence: &str, code: &str) -> String {
    let style = if severity == "error" { ERROR } else { WARNING };
    let (mut text, mut sentence) = (String::new(), sentence);
    // Writing to a String does not fail.
    if let Some(Position { file: Some(file), line, column, .. }) = position {
        let _ = write!(text, "{HEADING}{}:{line}:{column}:{HEADING:#} ", plain(file));
        // With several files, the path has the file name as well.
        if let Some(rest) = sentence.strip_prefix(&format!("{file}: ")) {
            sentence = rest;
        }
    }
    let _ = write!(text, "{style}{}:{style:#} {}", plain(severity), plain(sentence));
    if let Some(within) = position.and_then(|position| position.within) {
        let _ = write!(text, " (line {}, column {} of the text there)", within.line, within.column);
    }
    let _ = writeln!(text, " [{}]", plain(code));
    text
}

/// Counts things: `no errors`, `1 warning`.
pub(super) fn counted(number: usize, thing: &str) -> String {
    match number {
        0 => format!("no {thing}s"),
        1 => format!("1 {thing}"),
        _ => format!("{number} {thing}s"),
    }
}

/// Summarises a report: `2 errors, 1 warning`.
pub(super) fn summary(report: &Report) -> String {
    let count = |severity| report.findings().iter().filter(|finding| finding.severity == severity).count();
    format!("{}, {}", counted(count(Severity::Error), "error"), counted(count(Severity::Warning), "warning"))
}

#[cfg(test)]
mod tests {
    use hosts::input::{self, Text};
    use vocabulary::report::DocumentPath;

    use super::*;

    #[test]
    fn a_finding_is_one_line_and_counted() {
        let mut report = Report::new();
        assert_eq!(summary(&report), "no errors, no warnings");
        report.error("out-of-range", &DocumentPath::root().key("interfaces").index(0).key("mtu"), "is\x1b[2J 7");
        report.warning("secret-unused", &DocumentPath::document("Secret/a"), "is not used");
        report.warning("secret-unused", &DocumentPath::document("Secret/b"), "is not used");
        let text = anstream::adapter::strip_str(&as_text(&report)).to_string();
        assert_eq!(
            text,
            "error: interfaces[0].mtu is\\u{1b}[2J 7 [out-of-range]\nwarning: Secret/a: is not used [secret-unused]\n\
             warning: Secret/b: is not used [secret-unused]\n"
        );
        assert_eq!(summary(&report), "1 error, 2 warnings");
    }

    #[test]
    fn findings_are_sorted_by_their_places_and_each_code_is_explained_once() {
        let text = b"{kind: Secret, metadata: {name: a}}\n---\nx: 1\n---\ny: 1\n";
        let mut report = input::read(text).report;
        report.warning("not-hybrid", &DocumentPath::document("base"), "is none");
        input::locate([Text { name: None, text }], &mut report);
        report.in_file("a.yaml");
        let text = anstream::adapter::strip_str(&in_full(&report)).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("a.yaml:1:1: error: document 1: apiVersion is missing"), "{text}");
        assert!(lines[1].starts_with("    effect: ") && lines[2].starts_with("    fix:    "), "{text}");
        assert!(lines[3].starts_with("a.yaml:3:1: error: document 2: has neither"), "{text}");
        assert!(lines[6].starts_with("a.yaml:5:1: error: document 3: has neither"), "{text}");
        assert!(lines[7].starts_with("warning: base: is none [not-hybrid]"), "{text}");
    }
}
