//! `dayone serve`

use std::process::ExitCode;

use tracing::{error, info, warn};

use super::failure::chain;
use super::signals::Signals;
use super::terminal;
use crate::arguments::ServeArguments;
use crate::logging;
use crate::server::{Config, Server, StartError};

/// The server failed.
const FAILED: u8 = 1;
/// The arguments or settings are wrong; the same code as that of the command line's parser.
const WRONG_USE: u8 = 2;

/// Serves until a signal comes: SIGTERM or SIGINT. A second one ends the process at once.
pub(super) fn run(arguments: ServeArguments) -> ExitCode {
    let settings = match arguments.settings() {
        Ok(settings) => settings,
        Err(error) => return wrong_use(&error),
    };
    if let Err(error) =
        logging::start(settings.log_format.unwrap_or_default(), settings.log.as_deref().unwrap_or("info"))
    {
        return wrong_use(&error);
    }
    let token = std::env::var("DAYONE_API_TOKEN").ok().filter(|token| !token.is_empty());
    let config = match Config::new(settings, token.as_deref()) {
        Ok(config) => config,
        Err(error) => return wrong_use(&error),
    };
    match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => {
            let code = runtime.block_on(serve(config));
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

fn wrong_use(error: &dyn std::error::Error) -> ExitCode {
    terminal::complain(&chain(error));
    ExitCode::from(WRONG_USE)
}

async fn serve(config: Config) -> ExitCode {
    let mut signals = match Signals::new() {
        Ok(signals) => signals,
        Err(error) => {
            terminal::complain(&format!("cannot wait for signals: {error}"));
            return ExitCode::from(FAILED);
        }
    };
    let server = tokio::select! {
        started = Server::start(config) => match started {
            Ok(server) => server,
            Err(error) => {
                error!(error = chain(&error), "dayone does not start");
                return ExitCode::from(if matches!(error, StartError::Config(_)) { WRONG_USE } else { FAILED });
            }
        },
        code = signals.next() => return ExitCode::from(code),
    };
    signals.next().await;
    info!("stopping; running requests may end, a second signal cuts them off");
    tokio::select! {
        () = server.stop() => {
            info!("stopped");
            ExitCode::SUCCESS
        }
        code = signals.next() => {
            warn!("stopped at once");
            ExitCode::from(code)
        }
    }
}
