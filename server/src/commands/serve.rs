//! `dayone serve`

use std::process::ExitCode;

use super::service::{self, FAILED, Service, WRONG_USE, wrong_use};
use crate::arguments::ServeArguments;
use crate::logging;
use crate::services::{Config, Server, StartError};

/// Serves until a signal comes.
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
    let code = |error: &StartError| if matches!(error, StartError::Config(_)) { WRONG_USE } else { FAILED };
    service::run(Server::start(config), code)
}

impl Service for Server {
    fn reload(&self) {
        Self::reload(self);
    }

    async fn stop(self) {
        Self::stop(self).await;
    }
}
