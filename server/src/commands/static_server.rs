//! `dayone static-server`

use std::process::ExitCode;

use tracing::{error, info};

use super::controller::{given_path, images, variable};
use super::service::{self, FAILED, Service, WRONG_USE, wrong_use};
use crate::arguments::StaticServerArguments;
use crate::host_images::Environment;
use crate::logging;
use crate::services::{StaticConfig, StaticServer};

/// Serves until a signal comes.
pub(super) fn run(arguments: StaticServerArguments) -> ExitCode {
    let StaticServerArguments { nmstate_dir, images: arguments, strict_environment } = arguments;
    if let Err(error) = logging::start(arguments.log_format, &arguments.log) {
        return wrong_use(&error);
    }
    let Some(nmstate_dir) = given_path(nmstate_dir) else {
        error!("no directory of NMState documents: give --nmstate-dir DIR");
        return ExitCode::from(if strict_environment { FAILED } else { WRONG_USE });
    };
    let environment = match Environment::read(variable, strict_environment) {
        Ok(environment) => environment,
        Err(error) => {
            error!(%error, "environment not provided");
            return ExitCode::from(FAILED);
        }
    };
    let images = match images(arguments) {
        Ok(images) => images,
        Err(error) => return wrong_use(&error),
    };
    let config = StaticConfig { environment, images, nmstate_dir };
    service::run(StaticServer::start(config), |_| FAILED)
}

impl Service for StaticServer {
    fn reload(&self) {
        info!("SIGHUP is ignored: the documents are read at the start only; restart the server to serve changed ones");
    }

    async fn stop(self) {
        Self::stop(self).await;
    }
}
