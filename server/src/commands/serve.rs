//! `dayone serve`

use std::error::Error;
use std::process::ExitCode;

use super::service::{self, FAILED, OnlyAfterRestart, WRONG_USE, wrong_settings, wrong_use};
use crate::arguments::{CommandLine, ServeArguments, Settings};
use crate::logging::{self, LogFilter};
use crate::services::{Config, ConfigError, Server, StartError};
use crate::settings::{self, Changes, LoadError, Loaded, Running};

/// The clients of the API, in the list of what a reload has changed.
const API_CLIENTS: &str = "the API's clients or their tokens";

/// Serves until a signal stops the server.
pub(super) fn run(arguments: ServeArguments) -> ExitCode {
    let line = arguments.line;
    let (loaded, mut settings) = match read(&line) {
        Ok(read) => read,
        Err(error) => return wrong_settings(&error),
    };
    let log = match logging::start(settings.log_format.unwrap_or_default(), level(&settings)) {
        Ok(log) => log,
        Err(error) => return wrong_use(&error),
    };
    if let Some(path) = &loaded.path {
        tracing::info!(file = %path.display(), "settings");
    }
    let started_with = match config(settings.clone()) {
        Ok(config) => config,
        Err(error) => return wrong_use(&error),
    };
    let mut running = Running::new(loaded.effective());
    let reload = |server: &Server| -> Result<_, Box<dyn Error>> {
        let (loaded, read) = read(&line)?;
        let filter: LogFilter = level(&read).parse()?;
        // Valid as a whole, and also beside what a running server does not change: without its token, an API must not stay on
        // the network only because its address needs a restart.
        config(read.clone())?;
        let taken_over = read.within(&settings);
        let new = config(taken_over.clone()).map_err(|source| {
            let Changes { restart, .. } = running.clone().take_over(loaded.effective());
            OnlyAfterRestart { settings: restart.join(", "), source }
        })?;
        log.set(filter)?;
        let has_other_clients = server.configure(new);
        settings = taken_over;
        let mut changes = running.take_over(loaded.effective());
        // The same settings may name files with other tokens.
        if has_other_clients {
            changes.live.push(API_CLIENTS.to_owned());
        }
        Ok(changes)
    };
    let code = |error: &StartError| if matches!(error, StartError::Config(_)) { WRONG_USE } else { FAILED };
    service::run(Server::start(started_with), reload, Server::stop, code)
}

fn read(line: &CommandLine) -> Result<(Loaded, Settings), LoadError> {
    let loaded = settings::load(line)?;
    let settings = loaded.serve()?.settings;
    Ok((loaded, settings))
}

fn level(settings: &Settings) -> &str {
    settings.log.as_deref().unwrap_or("info")
}

fn config(settings: Settings) -> Result<Config, ConfigError> {
    let token = std::env::var("DAYONE_API_TOKEN").ok().filter(|token| !token.is_empty());
    Config::new(settings, token.as_deref())
}
