//! Servers, which run until SIGTERM or SIGINT. A second such signal ends them at once. On SIGHUP, a server reads some of its files
//! again. A service manager learns when the server is ready and when it stops.

use std::error::Error;
use std::process::ExitCode;

use tracing::{error, info, warn};

use super::failure::{Failure, block_on};
use super::service_manager::{State, tell};
use super::signals::{SignalRequest, Signals};
use super::terminal;
use crate::error_chain::chain;
use crate::open_files;

/// The exit code if the server fails.
pub(super) const FAILED: u8 = 1;
/// The exit code if the arguments or settings are wrong, as for errors of the command line's parser.
pub(super) const WRONG_USE: u8 = 2;

/// Starts a server, waits for signals, and stops the server. `reload` reads files again and logs the result. `code` returns the exit
/// code if the server does not start.
pub(super) fn run<S, E: Error>(
    start: impl Future<Output = Result<S, E>>,
    reload: impl Fn(&S),
    stop: impl AsyncFnOnce(S),
    code: impl Fn(&E) -> u8,
) -> ExitCode {
    open_files::raise_limit();
    let exit_code = block_on(async {
        let mut signals = Signals::new().map_err(|error| Failure::system("cannot wait for signals", &error))?;
        let server = tokio::select! {
            started = start => match started {
                Ok(server) => server,
                Err(error) => {
                    error!(error = chain(&error), "dayone does not start");
                    return Ok(ExitCode::from(code(&error)));
                }
            },
            code = signals.stop("dayone is starting and reads its files anyway") => return Ok(ExitCode::from(code)),
        };
        tell(State::Ready);
        while let SignalRequest::Reload = signals.next().await {
            reload(&server);
        }
        tell(State::Stopping);
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

/// Prints an error in the arguments or settings, and returns the exit code.
pub(super) fn wrong_use(error: &dyn Error) -> ExitCode {
    terminal::complain(&chain(error));
    ExitCode::from(WRONG_USE)
}
