//! Programs that serve until a signal comes: SIGTERM or SIGINT. A second one ends them at once. SIGHUP has them read
//! files again, where they have any to read.

use std::error::Error;
use std::process::ExitCode;

use tracing::{error, info, warn};

use super::signals::{Asked, Signals};
use super::terminal;
use crate::error_chain::chain;
use crate::open_files;

/// The service failed.
pub(super) const FAILED: u8 = 1;
/// The arguments or settings are wrong; the same code as that of the command line's parser.
pub(super) const WRONG_USE: u8 = 2;

/// A program that serves.
pub(super) trait Service {
    /// Reads again what it can while it runs, and logs what came of it.
    fn reload(&self);

    /// Stops.
    async fn stop(self);
}

/// Starts a service, waits for a signal, and stops it. `code` is what the process ends with where it does not start.
pub(super) fn run<S: Service, E: Error>(
    start: impl Future<Output = Result<S, E>>,
    code: impl Fn(&E) -> u8,
) -> ExitCode {
    open_files::raise_limit();
    match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => {
            let code = runtime.block_on(serve(start, code));
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

async fn serve<S: Service, E: Error>(start: impl Future<Output = Result<S, E>>, code: impl Fn(&E) -> u8) -> ExitCode {
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
        code = signals.end("dayone is starting, and reads its files anyway") => return ExitCode::from(code),
    };
    while let Asked::Reload = signals.next().await {
        service.reload();
    }
    info!("stopping; running requests may end, a second signal cuts them off");
    tokio::select! {
        () = service.stop() => {
            info!("stopped");
            ExitCode::SUCCESS
        }
        code = signals.end("dayone is stopping") => {
            warn!("stopped at once");
            ExitCode::from(code)
        }
    }
}
