//! Messages about a wrong command line. They may get into a log, so they have no credential of a URL.

use std::ffi::OsString;
use std::io;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use vocabulary::text::one_line;
use vocabulary::url_credentials;

/// Prints a message as clap does: help goes to standard output. Returns the exit code.
pub(crate) fn print(error: &clap::Error) -> i32 {
    let message = error.render().to_string();
    let shown = without_credentials(error, &message);
    if shown == message {
        match error.print() {
            // If standard error fails, there is nowhere to report that. With a broken pipe, the reader has read enough.
            Err(failed) if !error.use_stderr() && failed.kind() != io::ErrorKind::BrokenPipe => {
                eprintln!("dayone: cannot write to standard output: {failed}");
                return 2;
            }
            _ => {}
        }
    } else {
        eprint!("{shown}");
    }
    error.exit_code()
}

/// Names the words that are not UTF-8, if an option does not take such a word: clap names none.
pub(crate) fn print_not_utf_8(error: &clap::Error, words: &[OsString]) {
    if error.kind() == ErrorKind::InvalidUtf8 {
        let words = words.iter().filter(|word| word.to_str().is_none()).map(|word| word.to_string_lossy());
        let words: Vec<String> = words.map(|word| one_line(&url_credentials::hide_in_value(&word))).collect();
        eprintln!("dayone: not UTF-8: {}; an option here does not take such a value", words.join(", "));
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
