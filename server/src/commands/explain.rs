//! `dayone explain`: explains the codes of findings.

use std::fmt::Write as _;

use serde::Serialize;
use vocabulary::report::{Explanation, NetworkFormat, explain, explanations, fix_in};

use super::failure::Failure;
use super::terminal::{self, HEADING};
use crate::arguments::{ExplainArguments, OutputFormat};

/// How many similar codes an error names at most.
const MAX_SIMILAR: usize = 3;

#[derive(Serialize)]
struct Explained {
    explanations: Vec<&'static Explanation>,
}

pub(super) fn run(arguments: &ExplainArguments) -> Result<(), Failure> {
    let codes = arguments.codes.iter().map(|code| explain(code).ok_or_else(|| unknown(code)));
    let selected: Vec<&Explanation> = codes.collect::<Result<_, _>>()?;
    let all = selected.is_empty();
    match arguments.format {
        OutputFormat::Text if all => terminal::print(&list(explanations())),
        OutputFormat::Text => terminal::print(&selected.into_iter().map(in_full).collect::<Vec<_>>().join("\n")),
        OutputFormat::Json if all => terminal::print_json(&Explained { explanations: explanations().iter().collect() }),
        OutputFormat::Json => terminal::print_json(&Explained { explanations: selected }),
    }
}

fn list(all: &[Explanation]) -> String {
    let width = all.iter().map(|explanation| explanation.code.len()).max().unwrap_or_default();
    let mut text = String::new();
    for Explanation { code, title, .. } in all {
        // Writing to a String does not fail.
        let _ = writeln!(text, "{HEADING}{code:<width$}{HEADING:#}  {title}");
    }
    text
}

fn in_full(Explanation { code, title, effect, fix, example }: &Explanation) -> String {
    let mut text = format!("{HEADING}{code}{HEADING:#}: {title}\n\n");
    // Writing to a String does not fail.
    let _ = write!(text, "Effect: {effect}\n\nFix: {fix}\n");
    for format in NetworkFormat::ALL {
        if let Some(fix) = fix_in(code, format) {
            let _ = write!(text, "\nFix in {}: {fix}\n", format.name());
        }
    }
    for (index, line) in example.unwrap_or_default().lines().enumerate() {
        let _ = writeln!(text, "{}    {line}", if index == 0 { "\n" } else { "" });
    }
    text
}

fn unknown(code: &str) -> Failure {
    let near = nearest(code);
    let near = match near.as_slice() {
        [] => "dayone explain lists all".to_owned(),
        some => format!("similar are: {}", some.join(", ")),
    };
    Failure::System(format!(
        "no finding has the code {code:?}; {near}. This command knows findings about documents and images; docs/doctor.md explains \
         those of dayone doctor, and dayone config check prints a fix with each of its own"
    ))
}

/// Returns the codes that are similar to `code`, the most similar first.
fn nearest(code: &str) -> Vec<&'static str> {
    let code: String = code.chars().take(80).collect::<String>().to_ascii_lowercase();
    let mut near: Vec<(f64, &str)> = explanations()
        .iter()
        .map(|explanation| (strsim::jaro_winkler(&code, explanation.code), explanation.code))
        .filter(|(likeness, known)| *likeness > 0.85 || (code.len() > 3 && known.contains(&code)))
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    near.into_iter().take(MAX_SIMILAR).map(|(_, code)| code).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_codes_are_named() {
        assert_eq!(nearest("ip-not-enable").first(), Some(&"ip-not-enabled"));
        assert_eq!(nearest("IP_not_enabled").first(), Some(&"ip-not-enabled"));
        assert!(nearest("base64").contains(&"secret-not-base64"));
        assert!(nearest("zzz").is_empty());
    }

    #[test]
    fn an_explanation_has_the_fixes_of_all_formats() {
        let text = anstream::adapter::strip_str(&in_full(explain("vlan-on-port").unwrap())).to_string();
        let fixes = "\n\nFix: Name the bond as base-iface.\n\nFix in netplan: Name the bond as link.\n\n\
                     Fix in network-config version 1: Name the bond as vlan_link.\n\n\
                     Fix in network_data.json: Name the bond as vlan_link.\n";
        assert!(text.ends_with(fixes), "{text}");
    }

    #[test]
    fn an_explanation_has_its_example() {
        let text = anstream::adapter::strip_str(&in_full(explain("ip-not-enabled").unwrap())).to_string();
        assert!(text.starts_with("ip-not-enabled: "), "{text}");
        assert!(text.contains("\n\n    interfaces:\n    - name: eth0\n"), "{text}");
    }
}
