//! Programs that serve until a signal comes: SIGTERM or SIGINT. A second one ends them at once.

use std::error::Error;
use std::process::ExitCode;

use tracing::{error, info, warn};

use super::signals::Signals;
use super::terminal;
use crate::error_chain::chain;
use crate::open_files;

/// The service failed.
pub(super) const FAILED: u8 = 1;
/// The arguments or settings are wrong; the same code as that of the command line's parser.
pub(super) const WRONG_USE: u8 = 2;

/// Starts a service, waits for a signal, and stops it. `code` is what the process ends with where it does not start.
pub(super) fn run<S, E: Error>(
    start: impl Future<Output = Result<S, E>>,
    code: impl Fn(&E) -> u8,
    stop: impl AsyncFnOnce(S),
) -> ExitCode {
    open_files::raise_limit();
    match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => {
            let code = runtime.block_on(serve(start, code, stop));
            // A thread that reads a disk is not waited for.
            runtime.shutdown_background();
            code
        }
        Err(error) => {
            terminal::complain(&format!("cannot start threads: {error}"));
            ExitCode::from(FAILED)
        }
    }
}

/// Says why the arguments or settings make no service.
pub(super) fn wrong_use(error: &dyn Error) -> ExitCode {
    terminal::complain(&chain(error));
    ExitCode::from(WRONG_USE)
}

async fn serve<S, E: Error>(
    start: impl Future<Output = Result<S, E>>,
    code: impl Fn(&E) -> u8,
    stop: impl AsyncFnOnce(S),
) -> ExitCode {
    let mut signals = match Signals::new() {
        Ok(signals) => signals,
        Err(error) => {
            terminal::complain(&format!("cannot wait for signals: {error}"));
            return ExitCode::from(FAILED);
        }
    };
    let service = tokio::select! {
        started = start => match started {
            Ok(service) => service,
            Err(error) => {
                error!(error = chain(&error), "dayone does not start");
                return ExitCode::from(code(&error));
            }
        },
        code = signals.next() => return ExitCode::from(code),
    };
    signals.next().await;
    info!("stopping; running requests may end, a second signal cuts them off");
    tokio::select! {
        () = stop(service) => {
            info!("stopped");
            ExitCode::SUCCESS
        }
        code = signals.next() => {
            warn!("stopped at once");
            ExitCode::from(code)
        }
    }
}
