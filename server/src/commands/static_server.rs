//! `dayone static-server`

use std::process::ExitCode;

use tracing::error;

use super::controller::{images, variable};
use super::service::{self, FAILED, wrong_use};
use crate::arguments::StaticServerArguments;
use crate::host_images::Environment;
use crate::logging;
use crate::server::{StaticConfig, StaticServer};

/// Serves until a signal comes.
pub(super) fn run(arguments: StaticServerArguments) -> ExitCode {
    let StaticServerArguments { nmstate_dir, images: arguments, strict_environment } = arguments;
    if let Err(error) = logging::start(arguments.log_format, &arguments.log) {
        return wrong_use(&error);
    }
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
    service::run(StaticServer::start(config), |_| FAILED, StaticServer::stop)
}
