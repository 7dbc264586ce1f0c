//! `dayone boots watch`: follows all boots of a server until no host is booting any more.

mod board;
mod display;
mod view;

use std::time::Duration;

use self::board::Changes;
use self::display::Display;
use super::api;
use crate::arguments::BootsWatchArguments;
use crate::commands::boot_api::Api;
use crate::commands::client::ApiError;
use crate::commands::failure::{Failure, block_on};
use crate::commands::signals::Signals;

/// How often to try to reach a server again, and how many times.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
const MAX_RETRIES: u32 = 120;

pub(super) fn run(arguments: &BootsWatchArguments) -> Result<(), Failure> {
    let api = api(&arguments.server)?;
    block_on(watch(arguments, &api))?
}

async fn watch(arguments: &BootsWatchArguments, api: &Api) -> Result<(), Failure> {
    let mut signals = Signals::new().map_err(|error| Failure::system("cannot wait for signals", &error))?;
    let mut display = Display::new(arguments.format);
    let followed = tokio::select! {
        followed = follow(api, arguments.host.as_deref(), &mut display) => followed,
        _ = signals.next() => Err(Failure::Interrupted("the server continues the boots".into())),
    };
    let board = display.end(followed.is_ok())?;
    followed?;
    let counts = board.counts();
    if counts.total == 0 {
        let of_host = arguments.host.as_ref().map(|host| format!(" of a host {host:?}")).unwrap_or_default();
        return Err(Failure::Input(format!("the server has no boot{of_host}")));
    }
    match (counts.failed, counts.unknown) {
        (0, 0) => Ok(()),
        (0, _) => Err(Failure::Unknown),
        _ => Err(Failure::Findings),
    }
}

/// Shows changes until no host is booting. If the connection ends, connects again.
async fn follow(api: &Api, host: Option<&str>, display: &mut Display) -> Result<(), Failure> {
    let (mut was_connected, mut retries) = (false, 0);
    loop {
        match api.follow_all(host).await {
            Ok(mut following) => {
                was_connected = true;
                while let Some(event) = following.next().await {
                    retries = 0;
                    let changes: Changes = serde_json::from_str(&event.data)
                        .map_err(|error| ApiError::Unreachable(format!("the server's answer is not valid: {error}")))?;
                    if !display.show(changes)? {
                        return Ok(());
                    }
                }
            }
            Err(ApiError::Unreachable(_)) if was_connected && retries < MAX_RETRIES => {}
            Err(ApiError::Missing) => {
                let detail = "this server cannot send the changes of all boots; it is an older dayone";
                return Err(Failure::System(detail.to_owned()));
            }
            Err(error) => return Err(error.into()),
        }
        display.disconnected();
        retries += 1;
        if retries > MAX_RETRIES {
            return Err(ApiError::Unreachable("the server closes every connection".to_owned()).into());
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}
