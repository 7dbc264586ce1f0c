//! Variables that are probably meant as settings and are none.

use super::super::similar::nearest;
use super::super::{Place, Problem};
use crate::arguments::Program;

/// Variables that other parts of dayone and its packages read.
const OTHERS: [&str; 6] = [
    "DAYONE_CONFIG",
    "DAYONE_API_TOKEN",
    "DAYONE_BMC_USERNAME",
    "DAYONE_BMC_PASSWORD",
    "DAYONE_COMMIT",
    "DAYONE_CACHE",
];

/// Warns about variables whose names are similar to those of settings. Others may have any name: Kubernetes sets some that begin with
/// `DAYONE_` for a Service of that name.
pub(super) fn misspelt(program: Program) -> Vec<Problem> {
    let known: Vec<String> =
        Program::ALL.into_iter().flat_map(Program::settings).map(|setting| setting.variable).collect();
    let secrets = program.secrets().iter().map(|secret| secret.name.to_owned());
    let own: Vec<String> = program.settings().into_iter().map(|setting| setting.variable).chain(secrets).collect();
    let given = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let given =
        given.filter(|name| name.starts_with("DAYONE_") && !OTHERS.contains(&name.as_str()) && !known.contains(name));
    let problem = |name: String| {
        let near = nearest(&name, own.iter().map(String::as_str))?;
        let message = format!("no setting has the variable {name}");
        Some(Problem::warning(
            "unknown-variable",
            Place::Environment(name.clone()),
            message,
            format!("did you mean {near}?"),
        ))
    };
    given.filter_map(problem).collect()
}
