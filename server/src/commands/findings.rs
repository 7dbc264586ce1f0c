//! Findings as text.

use std::fmt::Write as _;

use imagelib::report::{Report, Severity};

use super::terminal::{ERROR, WARNING, plain};

/// One line for each finding: severity, sentence with its path, code.
pub(super) fn as_text(report: &Report) -> String {
    let mut text = String::new();
    for finding in report.findings() {
        let style = match finding.severity {
            Severity::Error => ERROR,
            Severity::Warning => WARNING,
        };
        // Writing to a String does not fail.
        let _ =
            writeln!(text, "{style}{}:{style:#} {} [{}]", finding.severity, plain(&finding.to_string()), finding.code);
    }
    text
}

/// `2 errors, 1 warning`.
pub(super) fn summary(report: &Report) -> String {
    let count = |severity| report.findings().iter().filter(|finding| finding.severity == severity).count();
    let counted = |number: usize, what: &str| match number {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    };
    format!("{}, {}", counted(count(Severity::Error), "error"), counted(count(Severity::Warning), "warning"))
}

#[cfg(test)]
mod tests {
    use imagelib::report::DocumentPath;

    use super::*;

    #[test]
    fn a_finding_is_one_line_and_counted() {
        let mut report = Report::new();
        assert_eq!(summary(&report), "no errors, no warnings");
        report.error("mtu-too-small", &DocumentPath::root().key("interfaces").index(0).key("mtu"), "is\x1b[2J 7");
        report.warning("unused", &DocumentPath::document("Secret/a"), "is not used");
        report.warning("unused", &DocumentPath::document("Secret/b"), "is not used");
        let text = anstream::adapter::strip_str(&as_text(&report)).to_string();
        assert_eq!(
            text,
            "error: interfaces[0].mtu is\\u{1b}[2J 7 [mtu-too-small]\nwarning: Secret/a: is not used [unused]\n\
             warning: Secret/b: is not used [unused]\n"
        );
        assert_eq!(summary(&report), "1 error, 2 warnings");
    }
}
