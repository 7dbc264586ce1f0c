//! `dayone static-server`

use std::process::ExitCode;

use tracing::{error, info};

use super::controller::{images, non_empty_path, start_logging};
use super::service::{self, FAILED, WRONG_USE, wrong_use};
use crate::arguments::StaticServerArguments;
use crate::services::{StaticConfig, StaticServer};

/// Serves until a signal stops the server.
pub(super) fn run(arguments: StaticServerArguments) -> ExitCode {
    let StaticServerArguments { nmstate_dir, images: arguments, strict_environment } = arguments;
    let environment = match start_logging(&arguments, strict_environment) {
        Ok(environment) => environment,
        Err(code) => return code,
    };
    let Some(nmstate_dir) = non_empty_path(nmstate_dir) else {
        error!("the directory of NMState documents is missing: give --nmstate-dir DIR");
        return ExitCode::from(if strict_environment { FAILED } else { WRONG_USE });
    };
    let reload = |_: &_| {
        info!("ignoring SIGHUP: the server reads the documents only at start; restart it to serve changed documents");
    };
    match images(arguments) {
        Ok(images) => {
            let start = StaticServer::start(StaticConfig { environment, images, nmstate_dir });
            service::run(start, reload, StaticServer::stop, |_| FAILED)
        }
        Err(error) => wrong_use(&error),
    }
}
