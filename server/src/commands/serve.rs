//! `dayone serve`

use std::error::Error;
use std::process::ExitCode;

use super::service::{self, FAILED, WRONG_USE, wrong_use};
use crate::arguments::ServeArguments;
use crate::logging;
use crate::services::{Config, Server, StartError};

/// Serves until a signal stops the server.
pub(super) fn run(arguments: ServeArguments) -> ExitCode {
    let config = match config(arguments) {
        Ok(config) => config,
        Err(error) => return wrong_use(&*error),
    };
    let code = |error: &StartError| if matches!(error, StartError::Config(_)) { WRONG_USE } else { FAILED };
    service::run(Server::start(config), Server::reload, Server::stop, code)
}

fn config(arguments: ServeArguments) -> Result<Config, Box<dyn Error>> {
    let settings = arguments.settings()?;
    logging::start(settings.log_format.unwrap_or_default(), settings.log.as_deref().unwrap_or("info"))?;
    let token = std::env::var("DAYONE_API_TOKEN").ok().filter(|token| !token.is_empty());
    Ok(Config::new(settings, token.as_deref())?)
}
