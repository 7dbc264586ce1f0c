//! Servers, which run until SIGTERM or SIGINT. A second such signal ends them at once. On SIGHUP, a server reads its settings
//! again. A service manager learns when the server is ready, when it reloads, and when it stops.

use std::error::Error;
use std::process::ExitCode;

use tracing::{error, info, warn};

use super::failure::{Failure, block_on};
use super::service_manager::{Reload, State, notify};
use super::signals::{SignalRequest, Signals};
use super::terminal;
use crate::arguments::refusal;
use crate::error_chain::chain;
use crate::open_files;
use crate::services::ConfigError;
use crate::settings::{Changes, LoadError};

/// The exit code if the server fails.
pub(super) const FAILED: u8 = 1;
/// The exit code if the arguments or settings are wrong, as for errors of the command line's parser.
pub(super) const WRONG_USE: u8 = 2;

/// Why a server that runs does not take over settings with which it would start.
#[derive(Debug, thiserror::Error)]
#[error("{settings} change only with a restart, and the other settings are not valid without them")]
pub(super) struct OnlyAfterRestart {
    /// The settings that need a restart.
    pub(super) settings: String,
    /// What is wrong without them.
    pub(super) source: ConfigError,
}

/// Starts a server, waits for signals, and stops the server. `reload` reads the settings again and takes them over, or none of them.
/// `code` returns the exit code if the server does not start.
pub(super) fn run<S, E: Error>(
    start: impl Future<Output = Result<S, E>>,
    mut reload: impl FnMut(&S) -> Result<Changes, Box<dyn Error>>,
    stop: impl AsyncFnOnce(S),
    code: impl Fn(&E) -> u8,
) -> ExitCode {
    open_files::raise_limit();
    let exit_code = block_on(async {
        let mut signals = Signals::of_server().map_err(|error| Failure::system("cannot wait for signals", &error))?;
        let server = tokio::select! {
            started = start => match started {
                Ok(server) => server,
                Err(error) => {
                    not_started("dayone does not start", Some(&chain(&error)));
                    return Ok(ExitCode::from(code(&error)));
                }
            },
            code = signals.stop("dayone is starting and reads its files anyway") => return Ok(ExitCode::from(code)),
        };
        notify(State::Ready);
        while let SignalRequest::Reload = signals.next().await {
            notify(State::Reloading);
            // Reading files waits for a disk.
            let reloaded = tokio::task::block_in_place(|| reload(&server));
            notify(State::Reloaded(log_reload(reloaded)));
        }
        notify(State::Stopping);
        info!("stopping; waiting for running requests, a second signal ends them at once");
        tokio::select! {
            () = stop(server) => {
                info!("stopped");
                Ok(ExitCode::SUCCESS)
            }
            code = signals.stop("dayone is stopping") => {
                warn!("stopped at once");
                Ok(ExitCode::from(code))
            }
        }
    });
    exit_code.and_then(|outcome| outcome).unwrap_or_else(|failure: Failure| {
        terminal::report(&failure);
        ExitCode::from(FAILED)
    })
}

fn log_reload(reloaded: Result<Changes, Box<dyn Error>>) -> Reload {
    match reloaded {
        Ok(Changes { live, restart }) => {
            let changed = if live.is_empty() { "no setting".to_owned() } else { live.join(", ") };
            info!(changed, "the settings, tokens and certificates were read again");
            if !restart.is_empty() {
                warn!(settings = restart.join(", "), "these settings have changed and need a restart");
            }
            Reload::TakenOver
        }
        Err(error) if error.is::<OnlyAfterRestart>() => {
            let what =
                "the settings were read again and are valid only after a restart; all old ones stay in use until then";
            error!(error = chain(&*error), "{what}");
            Reload::NeedsRestart
        }
        Err(error) => {
            error!(error = chain(&*error), "the settings were read again and are wrong; all old ones stay in use");
            Reload::Wrong
        }
    }
}

/// Prints what is wrong with settings, one problem a line, and returns the exit code.
pub(super) fn wrong_settings(error: &LoadError) -> ExitCode {
    match error {
        LoadError::Problems(problems) => problems.iter().for_each(|problem| terminal::complain(&problem.to_string())),
        LoadError::Arguments(error) => {
            refusal::print(error);
        }
        LoadError::Read(..) => return wrong_use(error),
    }
    ExitCode::from(WRONG_USE)
}

/// The failure of a command that needs the settings of a server.
pub(super) fn load_failure(error: &LoadError) -> Failure {
    Failure::System(match error {
        LoadError::Problems(problems) => problems.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | "),
        error => chain(error),
    })
}

/// Says why a server does not start: in its log, or, if the filter of the log admits no errors, as other commands do.
pub(super) fn not_started(what: &str, cause: Option<&str>) {
    if tracing::enabled!(tracing::Level::ERROR) {
        error!(error = cause, "{what}");
    } else {
        terminal::complain(&cause.map_or_else(|| what.to_owned(), |cause| format!("{what}: {cause}")));
    }
}

/// Prints an error in the arguments or settings, and returns the exit code.
pub(super) fn wrong_use(error: &dyn Error) -> ExitCode {
    terminal::complain(&chain(error));
    ExitCode::from(WRONG_USE)
}
