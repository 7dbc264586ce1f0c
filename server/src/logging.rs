//! The log: lines for people or JSON for machines, on standard error.

use std::io::IsTerminal as _;

use clap::ValueEnum;
use serde::Deserialize;
use tracing_subscriber::EnvFilter;

/// Libraries whose lines say less than ours about the same: the client of the API server has an error for each of its
/// attempts to reach it. A filter that names them brings them back.
const SAID_BY_US: &str = "kube_client=off,kube_runtime=off";

/// Crates of this project with lines of their own: what is said of `dayone` in a filter is meant for them as well.
const OURS: [&str; 3] = ["doctor", "media", "redfish"];

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Why the log cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    /// The filter is not one.
    #[error("--log {filter:?} is not a level (error, warn, info, debug, trace) or a filter: {error}")]
    Filter {
        /// What was given.
        filter: String,
        /// What is wrong with it.
        error: tracing_subscriber::filter::ParseError,
    },
    /// The filter would let nmstate's own log through.
    #[error("--log cannot show nmstate's own log: it may hold passwords; what matters of it is in the findings")]
    Nmstate,
    /// It has been set up before.
    #[error("the log is set up already")]
    Twice,
}

/// Sends the process's log to standard error, and replaces the default report of panics with a line of the log that
/// names the place only: what a panic says may hold what a user sent.
pub fn start(format: LogFormat, filter: &str) -> Result<(), LoggingError> {
    let builder = tracing_subscriber::fmt()
        .with_env_filter(without_nmstate(filter)?)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    match format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    }
    .map_err(|_| LoggingError::Twice)?;
    std::panic::set_hook(Box::new(|panic| {
        let location = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(location, "a fault in dayone: please report it");
    }));
    Ok(())
}

/// The filter, without the nmstate library: at its finer levels it prints whole documents, and at the others it gives
/// advice that is wrong here, such as to write the host name by hand.
fn without_nmstate(filter: &str) -> Result<EnvFilter, LoggingError> {
    if filter.contains("nmstate") {
        return Err(LoggingError::Nmstate);
    }
    let failed = |error| LoggingError::Filter { filter: filter.to_owned(), error };
    // By itself first, so that an error is about what the user wrote.
    EnvFilter::try_new(filter).map_err(failed)?;
    let directives = || filter.split(',').map(str::trim);
    let levels = directives().filter_map(|directive| directive.strip_prefix("dayone="));
    // The media plane was a module of this crate once, and filters name it so.
    let media = directives().filter(|directive| directive.starts_with("dayone::media"));
    let ours: String = levels
        .flat_map(|level| OURS.map(|name| format!("{name}={level},")))
        .chain(media.filter_map(|directive| Some(format!("{},", directive.strip_prefix("dayone::")?))))
        .collect();
    EnvFilter::try_new(format!("{SAID_BY_US},{ours}{filter},nmstate=off")).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nmstate_is_never_logged() {
        for filter in ["info", "trace", "dayone=debug,hyper=off"] {
            assert!(without_nmstate(filter).unwrap().to_string().contains("nmstate=off"), "{filter}");
        }
        let shown = |filter: &str| without_nmstate(filter).unwrap().to_string();
        assert!(shown("info").contains("kube_client=off"));
        assert!(shown("info,kube_client=debug").contains("kube_client=debug"));
        assert!(!shown("info,kube_client=debug").contains("kube_client=off"));
        assert!(shown("warn,dayone=debug").contains("redfish=debug"));
        assert!(shown("dayone=debug,redfish=off").contains("redfish=off"));
        assert!(matches!(without_nmstate("nmstate::nm=trace"), Err(LoggingError::Nmstate)));
        assert!(matches!(without_nmstate("dayone=loud"), Err(LoggingError::Filter { .. })));
    }
}
