//! The log on standard error, as text or JSON.

use std::io::{self, Write};

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;
use serde::Deserialize;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::reload;

/// Libraries whose lines repeat our own, or say nothing of a fault: the Kubernetes client logs an error for each failed connection,
/// and the `OpenPGP` library prints keys and signatures as it takes them apart. A filter that names them enables them again.
const REDUNDANT: &str = "kube_client=off,kube_runtime=off,pgp=off";

/// Crates of this project that write to the log: `dayone` in a filter also applies to them.
const OURS: [&str; 3] = ["doctor", "media", "redfish"];

/// The levels of a filter.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Libraries whose lines help to find a fault. Their names alone may be a filter, which enables all their lines.
const LIBRARIES: [&str; 13] = [
    "axum",
    "h2",
    "hyper",
    "hyper_util",
    "kube",
    "kube_client",
    "kube_runtime",
    "mio",
    "notify",
    "pgp",
    "reqwest",
    "rustls",
    "tower",
];

/// Words of other programs for a level.
const OTHER_WORDS: [(&str, &str); 9] = [
    ("warning", "warn"),
    ("verbose", "debug"),
    ("information", "info"),
    ("notice", "info"),
    ("normal", "info"),
    ("critical", "error"),
    ("fatal", "error"),
    ("quiet", "error"),
    ("none", "off"),
];

/// The format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Lines of text.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Why the log does not start.
#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    /// The filter is not valid.
    #[error("--log {0:?} is neither a level (off, error, warn, info, debug, trace) nor a valid filter: {1}")]
    Filter(String, tracing_subscriber::filter::ParseError),
    /// A word in the filter is no level. The library would take it for the name of a crate, and log nothing else.
    #[error(
        "--log: {word:?} is neither a level (off, error, warn, info, debug, trace) nor a filter such as hyper=debug{hint}"
    )]
    Word {
        /// The word.
        word: String,
        /// What is probably meant, or nothing.
        hint: String,
    },
    /// The filter would enable nmstate's own log.
    #[error("--log cannot enable nmstate's own log, because it may contain passwords; findings have its messages")]
    Nmstate,
    /// It has started before.
    #[error("the log has already started")]
    Twice,
    /// The log has ended.
    #[error("cannot change the level of the log: {0}")]
    Reload(reload::Error),
}

/// A checked filter of the log.
pub struct LogFilter(EnvFilter);

impl std::str::FromStr for LogFilter {
    type Err = LoggingError;

    fn from_str(text: &str) -> Result<Self, LoggingError> {
        parse_filter(text).map(Self)
    }
}

/// Changes the filter of the running log.
pub struct LogHandle(Box<dyn Fn(EnvFilter) -> Result<(), reload::Error> + Send + Sync>);

impl LogHandle {
    /// Sets another filter.
    pub fn set(&self, filter: LogFilter) -> Result<(), LoggingError> {
        (self.0)(filter.0).map_err(LoggingError::Reload)
    }
}

/// Standard error, as a place for lines that may be lost: a server whose log cannot be written, because its disk is full or its
/// reader has ended, goes on. The library would report the error there, too, and panic.
struct Output;

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = io::stderr().write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Starts the process's log on standard error. A panic becomes a line of the log with only its place, because the message of a
/// panic may contain a user's data.
pub fn start(format: LogFormat, filter: &str) -> Result<LogHandle, LoggingError> {
    let builder = tracing_subscriber::fmt()
        .with_env_filter(parse_filter(filter)?)
        .with_writer(|| Output)
        .log_internal_errors(false)
        // As all other output: `NO_COLOR` and the like count, too.
        .with_ansi(AutoStream::choice(&io::stderr()) != ColorChoice::Never);
    let handle = match format {
        LogFormat::Text => {
            let builder = builder.with_filter_reloading();
            let handle = builder.reload_handle();
            builder.try_init().map(|()| LogHandle(Box::new(move |filter| handle.reload(filter))))
        }
        LogFormat::Json => {
            let builder = builder.json().flatten_event(true).with_filter_reloading();
            let handle = builder.reload_handle();
            builder.try_init().map(|()| LogHandle(Box::new(move |filter| handle.reload(filter))))
        }
    }
    .map_err(|_| LoggingError::Twice)?;
    std::panic::set_hook(Box::new(|panic| {
        let location = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(location, "dayone has a bug: please report it");
    }));
    Ok(handle)
}

/// Parses a user's filter. `dayone=` then means all crates of dayone, and the nmstate library is silent: at its finer levels, nmstate
/// prints whole documents; at other levels, it gives wrong advice, such as to write the host name by hand.
fn parse_filter(filter: &str) -> Result<EnvFilter, LoggingError> {
    if filter.contains("nmstate") {
        return Err(LoggingError::Nmstate);
    }
    let failed = |error| LoggingError::Filter(filter.to_owned(), error);
    // Parse the user's filter alone first, so that an error is about it.
    EnvFilter::try_new(filter).map_err(failed)?;
    let directives = || filter.split(',').map(str::trim);
    directives().try_for_each(check_word)?;
    let levels = directives().filter_map(|directive| directive.strip_prefix("dayone="));
    // The media plane was once a module of this crate, and existing filters still use that name.
    let media = directives().filter(|directive| directive.starts_with("dayone::media"));
    let ours: String = levels
        .flat_map(|level| OURS.map(|name| format!("{name}={level},")))
        .chain(media.filter_map(|directive| Some(format!("{},", directive.strip_prefix("dayone::")?))))
        .collect();
    EnvFilter::try_new(format!("{REDUNDANT},{ours}{filter},nmstate=off")).map_err(failed)
}

/// Refuses a word that stands alone and is neither a level nor a crate whose lines the log may have. Levels are also numbers.
fn check_word(directive: &str) -> Result<(), LoggingError> {
    // Fields of a span may have commas.
    let is_more_than_a_word = directive.contains(['=', '[', ']', '{', '}']) || directive.contains("::");
    let is_number = directive.len() == 1 && directive.bytes().all(|byte| (b'0'..=b'5').contains(&byte));
    let word = directive.to_ascii_lowercase();
    let is_crate = |name: &str| name == directive;
    if is_more_than_a_word
        || directive.is_empty()
        || is_number
        || LEVELS.contains(&word.as_str())
        || is_crate("dayone")
        || OURS.into_iter().chain(LIBRARIES).any(is_crate)
    {
        return Ok(());
    }
    let other = OTHER_WORDS.iter().find(|(other, _)| *other == word).map(|(_, level)| *level);
    let near = || LEVELS.into_iter().find(|level| strsim::damerau_levenshtein(level, &word) <= 2);
    let hint = other.or_else(near).map(|level| format!("; did you mean {level}?")).unwrap_or_default();
    Err(LoggingError::Word { word: directive.to_owned(), hint })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_no_level_is_refused() {
        let error = |filter: &str| parse_filter(filter).err().map(|error| error.to_string());
        let hint = |filter: &str| {
            error(filter).and_then(|text| text.split_once("did you mean ").map(|(_, level)| level.to_owned()))
        };
        for (filter, level) in
            [("warning", "warn?"), ("verbose", "debug?"), ("inof", "info?"), ("info,Debugg", "debug?")]
        {
            assert_eq!(hint(filter).as_deref(), Some(level), "{filter}");
        }
        assert!(error("frobnicate").unwrap().ends_with("such as hyper=debug"), "{:?}", error("frobnicate"));
        for filter in
            ["info", "WARN", "off", "3", "", "dayone", "media", "warn,hyper", "frobnicate=debug", "dayone::store"]
        {
            assert_eq!(error(filter), None, "{filter}");
        }
    }

    #[test]
    fn nmstate_is_never_logged() {
        for filter in ["info", "trace", "dayone=debug,hyper=off"] {
            assert!(parse_filter(filter).unwrap().to_string().contains("nmstate=off"), "{filter}");
        }
        let shown = |filter: &str| parse_filter(filter).unwrap().to_string();
        assert!(shown("info").contains("kube_client=off"));
        assert!(shown("debug").contains("pgp=off") && shown("trace").contains("pgp=off"));
        assert!(shown("debug,pgp=trace").contains("pgp=trace") && !shown("debug,pgp=trace").contains("pgp=off"));
        assert!(shown("info,kube_client=debug").contains("kube_client=debug"));
        assert!(!shown("info,kube_client=debug").contains("kube_client=off"));
        assert!(shown("warn,dayone=debug").contains("redfish=debug"));
        assert!(shown("dayone=debug,redfish=off").contains("redfish=off"));
        assert!(matches!(parse_filter("nmstate::nm=trace"), Err(LoggingError::Nmstate)));
        assert!(matches!(parse_filter("dayone=loud"), Err(LoggingError::Filter(..))));
    }
}
