//! `dayone static-server`

use std::error::Error;
use std::process::ExitCode;

use tracing::info;

use super::controller::{images, non_empty_path, start_logging};
use super::service::{self, FAILED, WRONG_USE, not_started, wrong_settings, wrong_use};
use crate::arguments::StaticServerArguments;
use crate::logging::LogFilter;
use crate::services::{StaticConfig, StaticServer};
use crate::settings::{self, Running};

/// Serves until a signal stops the server.
pub(super) fn run(arguments: StaticServerArguments) -> ExitCode {
    let StaticServerArguments { line, strict_environment, .. } = arguments;
    let loaded = settings::load(&line).and_then(|loaded| Ok((loaded.static_server()?, loaded)));
    let (StaticServerArguments { nmstate_dir, images: arguments, contents, .. }, loaded) = match loaded {
        Ok(loaded) => loaded,
        Err(error) => return wrong_settings(&error),
    };
    let (log, environment) = match start_logging(&arguments, &contents, strict_environment) {
        Ok(started) => started,
        Err(code) => return code,
    };
    let Some(nmstate_dir) = non_empty_path(nmstate_dir) else {
        not_started("the directory of NMState documents is missing: give --nmstate-dir DIR", None);
        return ExitCode::from(if strict_environment { FAILED } else { WRONG_USE });
    };
    let images_config = match images(arguments) {
        Ok(images) => images,
        Err(error) => return wrong_use(&error),
    };
    let mut running = Running::new(loaded.effective());
    let reload = |server: &StaticServer| -> Result<_, Box<dyn Error>> {
        let loaded = settings::load(&line)?;
        let read = loaded.static_server()?;
        let filter: LogFilter = read.images.log.parse()?;
        let images = images(read.images)?;
        log.set(filter)?;
        server.configure(&images);
        info!("SIGHUP: the server reads the documents only at start; restart it to serve changed documents");
        Ok(running.take_over(loaded.effective()))
    };
    let start = StaticServer::start(StaticConfig { environment, images: images_config, nmstate_dir });
    service::run(start, reload, StaticServer::stop, |_| FAILED)
}
