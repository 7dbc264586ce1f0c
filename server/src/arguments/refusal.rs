//! Messages about a wrong command line. They may get into a log, so they have no credential of a URL.

use clap::error::{ContextKind, ContextValue};
use vocabulary::url_credentials;

/// Prints a message as clap does: help goes to standard output.
pub(crate) fn print(error: &clap::Error) {
    let message = error.render().to_string();
    let shown = without_credentials(error, &message);
    if shown == message {
        // If standard error fails, there is nowhere to report that.
        let _ = error.print();
    } else {
        eprint!("{shown}");
    }
}

/// The message on one or several lines, without colours.
pub(crate) fn text(error: &clap::Error) -> String {
    without_credentials(error, error.render().to_string().trim_end())
}

fn without_credentials(error: &clap::Error, message: &str) -> String {
    let message = match error.get(ContextKind::InvalidValue) {
        Some(ContextValue::String(value)) if !value.is_empty() => {
            message.replace(value, &url_credentials::hide_in_value(value))
        }
        _ => message.to_owned(),
    };
    url_credentials::hide_with_queries(&message)
}
