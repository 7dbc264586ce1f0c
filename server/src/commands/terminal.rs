//! Output to terminals and pipes.

use std::io::{self, IsTerminal, Write as _};
use std::process::ExitCode;

use anstream::adapter::strip_str;
use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use serde::Serialize;

use super::failure::Failure;
pub(super) use vocabulary::text::one_line as plain;

/// The style of an error on a terminal.
pub(super) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// The style of a warning on a terminal.
pub(super) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// The style of a heading on a terminal.
pub(super) const HEADING: Style = Style::new().bold();

/// Whether a live view or a bar can be drawn there: on a terminal that can move its cursor. indicatif draws nothing on others.
pub(super) fn can_draw(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && !console::is_dumb()
}

/// Text for a live view there: with colours only if `NO_COLOR` is not set.
pub(super) fn coloured(text: String, stream: &impl RawStream) -> String {
    let has_colours = AutoStream::choice(stream) != ColorChoice::Never;
    if has_colours { text } else { strip_str(&text).to_string() }
}

/// Prints text to standard output, with colours only on a terminal and only if `NO_COLOR` is not set.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    print_to_reader(text)?;
    Ok(())
}

/// Prints text to standard output as [`print`] does. Returns false if the reader has closed the pipe.
pub(super) fn print_to_reader(text: &str) -> Result<bool, Failure> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        result => written(result).map(|()| true),
    }
}

/// Prints one JSON value to standard output, indented.
pub(super) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let json = serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from);
    written(json.and_then(|()| writeln!(out)).and_then(|()| out.flush()))
}

/// Ignores a broken pipe: the reader has read enough.
fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::system("cannot write to standard output", &error))
        }
        _ => Ok(()),
    }
}

/// Prints why a command failed, and returns the exit code.
pub(super) fn report(failure: &Failure) -> ExitCode {
    match failure {
        Failure::Findings | Failure::Unknown => {}
        Failure::Input(message) | Failure::Bmc(message) | Failure::System(message) => complain(message),
        Failure::Interrupted(consequence) => complain(&format!("interrupted; {consequence}")),
    }
    ExitCode::from(match failure {
        Failure::Findings | Failure::Input(_) | Failure::Bmc(_) => 1,
        Failure::System(_) => 2,
        Failure::Unknown => 3,
        // The exit code that shells give to a program that SIGINT has ended.
        Failure::Interrupted(_) => 130,
    })
}

/// Prints to standard error why dayone fails.
pub(super) fn complain(message: &str) {
    let message = plain(message);
    // If standard error fails, there is nowhere to report that.
    let _ = writeln!(anstream::stderr().lock(), "{ERROR}dayone:{ERROR:#} {message}");
}

/// Prints text to standard error that is not part of the result.
pub(super) fn remark(text: &str) {
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}
